import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startWatchdog, type Watchdog } from './watchdog.js';

let folder: string | undefined;
let watchdog: Watchdog | undefined;

/**
 * Makes one folder the temporary folder of this whole run, child processes included: what tests forget there is
 * seen at the end, and goes with the folder even when the run is killed.
 */
export function openRunFolder(): void {
  folder = mkdtempSync(join(tmpdir(), 'waybill-run-'));
  watchdog = startWatchdog(folder);
  process.env.TMPDIR = folder;
}

/** What tests made and did not remove. Other programs' caches in there are none of our business. */
export function forgottenFolders(): string[] {
  return folder === undefined ? [] : readdirSync(folder).filter((name) => name.startsWith('waybill-'));
}

export async function closeRunFolder(): Promise<void> {
  await watchdog?.release();
  watchdog = undefined;
  folder = undefined;
}
