import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/project-root.js';
import type { DispatcherKind, StoreKind } from './plan.js';

/** A mistake that somebody could make, as a patch, and how it has to come to light. */
export interface PlantedBug {
  name: string;
  file: string;
  what: string;
  /** The invariants of which one has to notice it. */
  caughtBy: string[];
  store: StoreKind;
  dispatcher: DispatcherKind;
  /** Seeds in which it can show itself. */
  seeds: number[];
}

export const plantedDir = join(projectRoot, 'test/planted');

export function plantedBugs(): PlantedBug[] {
  return readdirSync(plantedDir)
    .filter((name) => name.endsWith('.patch'))
    .sort()
    .map((name) => {
      const file = join(plantedDir, name);
      const [head = ''] = readFileSync(file, 'utf8').split('\ndiff --git');
      const field = (label: string) => new RegExp(`^${label}: (.+)$`, 'm').exec(head)?.[1] ?? '';
      return {
        name: name.replace(/\.patch$/, ''),
        file,
        what: head.split('\n')[0] ?? '',
        caughtBy: field('Caught by').split(' '),
        store: field('Store') as StoreKind,
        dispatcher: (field('Dispatcher') || 'local') as DispatcherKind,
        seeds: field('Seeds').split(' ').map(Number),
      };
    });
}
