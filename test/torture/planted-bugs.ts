import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/project-root.js';
import type { DispatcherKind, StoreKind } from './plan.js';

/** A mistake that somebody could make, as a patch. */
interface Patch {
  name: string;
  file: string;
  what: string;
}

/** A mistake that a single test has to notice. */
export interface TestedBug extends Patch {
  /** File of the test. */
  test: string;
  /** A part of the test's title. */
  title: string;
}

/** A mistake that the torture has to notice. */
export interface PlantedBug extends Patch {
  /** The invariants of which one has to notice it. */
  caughtBy: string[];
  store: StoreKind;
  dispatcher: DispatcherKind;
  /** Seeds in which it can show itself. */
  seeds: number[];
}

export const plantedDir = join(projectRoot, 'test/planted');

/** Seeds of one kind of run. */
interface Seeds {
  store: StoreKind;
  dispatcher: DispatcherKind;
  seeds: number[];
}

/** Seeds in which the planted bugs show themselves: the surest two of each, which its patch names first. */
export function seedsThatCatch(bugs = plantedBugs()): Seeds[] {
  const lots = new Map<string, Seeds>();
  for (const { store, dispatcher, seeds } of bugs) {
    const lot = lots.get(store + dispatcher) ?? { store, dispatcher, seeds: [] };
    lots.set(store + dispatcher, { ...lot, seeds: [...new Set([...lot.seeds, ...seeds.slice(0, 2)])] });
  }
  return [...lots.values()];
}

/** The mistakes that the torture has to notice. */
export function plantedBugs(): PlantedBug[] {
  return patches().flatMap(({ field, ...patch }) =>
    field('Test') !== ''
      ? []
      : {
          ...patch,
          caughtBy: field('Caught by').split(' '),
          store: field('Store') as StoreKind,
          dispatcher: (field('Dispatcher') || 'local') as DispatcherKind,
          seeds: field('Seeds').split(' ').map(Number),
        },
  );
}

/** The mistakes that a test of `npm test` has to notice. */
export function testedBugs(): TestedBug[] {
  return patches().flatMap(({ field, ...patch }) =>
    field('Test') === '' ? [] : { ...patch, test: field('Test'), title: field('Title') },
  );
}

function patches(): (Patch & { field: (label: string) => string })[] {
  return readdirSync(plantedDir)
    .filter((name) => name.endsWith('.patch'))
    .sort()
    .map((name) => {
      const file = join(plantedDir, name);
      const [head = ''] = readFileSync(file, 'utf8').split('\ndiff --git');
      const field = (label: string) => new RegExp(`^${label}: (.+)$`, 'm').exec(head)?.[1] ?? '';
      return { name: name.replace(/\.patch$/, ''), file, what: head.split('\n')[0] ?? '', field };
    });
}
