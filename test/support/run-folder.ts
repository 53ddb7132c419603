import { accessSync, chmodSync, constants, mkdtempSync, readdirSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startWatchdog, type Watchdog } from './watchdog.js';

let folder: string | undefined;
let watchdog: Watchdog | undefined;

const inMemory = '/dev/shm';
const enoughBytes = 4 * 1024 ** 3;

/**
 * The folder in which tests keep their databases: in memory, where there is room. Each commit waits for its disk, and
 * several servers at once wait for one another: the same test took 18 seconds alone and 270 beside two others. Whoever
 * sets TMPDIR has the last word.
 */
function placeForRun(): string {
  if (process.env.TMPDIR) return tmpdir();
  try {
    accessSync(inMemory, constants.W_OK);
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize >= enoughBytes ? inMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/**
 * Makes one folder the temporary folder of this whole run, child processes included: what tests forget there is
 * seen at the end, and goes with the folder even when the run is killed.
 */
export function openRunFolder(): void {
  folder = mkdtempSync(join(placeForRun(), 'waybill-run-'));
  // The account of the PostgreSQL servers passes through it to their own folders.
  chmodSync(folder, 0o711);
  watchdog = startWatchdog(folder);
  process.env.TMPDIR = folder;
}

/** Files that tests made and did not remove. Other programs' caches in there are none of our business. */
export function forgottenFolders(): string[] {
  return folder === undefined ? [] : readdirSync(folder).filter((name) => name.startsWith('waybill-'));
}

/** A forgotten folder with what is in it, which tells who wrote there last. */
export function describeForgotten(name: string): string {
  const held = readdirSync(join(folder as string, name), { recursive: true, encoding: 'utf8' });
  return `${name} (${held.slice(0, 8).join(', ') || 'empty'})`;
}

export async function closeRunFolder(): Promise<void> {
  await watchdog?.release();
  watchdog = undefined;
  folder = undefined;
}
