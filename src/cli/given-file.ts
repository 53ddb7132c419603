import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Settings } from '../config/settings.js';
import { databaseFile } from '../model/database-place.js';
import { FileError, notWritten, writeWholeFile } from '../store/whole-file.js';
import { UsageError } from './command.js';

/*
 * Files that a person names. The account of the service has no right in the folders of others, where `-` helps: the person's
 * own shell opens the file.
 */

/**
 * Has a file written; for `-` it goes to stdout once it is whole.
 * @throws UsageError when stdout is a terminal, or the account may not write the file
 */
export async function writeGivenFile<T>(
  given: string,
  settings: Settings,
  write: (file: string) => Promise<T>,
): Promise<T> {
  if (given !== '-')
    return write(resolve(given)).catch((error: Error) => {
      throw isForbidden(error)
        ? new UsageError(`${error.message} Or let your shell write it: \`- > ${given}\`.`)
        : error;
    });
  if (process.stdout.isTTY) throw new UsageError('This is no text for a terminal. Write it into a file: `- > FILE`.');
  return inScratchFile(settings, async (file) => {
    const result = await write(file);
    await pipeline(createReadStream(file), process.stdout, { end: false }).catch((cause: Error) => {
      throw cause instanceof FileError ? cause : notWritten(cause);
    });
    return result;
  });
}

/** Reads a file; for `-` it is what stdin holds. @param read may read the file several times */
export async function readGivenFile<T>(
  given: string,
  settings: Settings,
  read: (file: string) => Promise<T>,
): Promise<T> {
  if (given !== '-') return read(resolve(given));
  return inScratchFile(settings, async (file) => {
    await writeWholeFile(file, async (handle) => {
      for await (const bytes of process.stdin) await handle.writeFile(bytes as Buffer);
    });
    return read(file);
  });
}

/** The folder of scratch files: beside the store, where there is room and the account may write. */
function scratchPlace({ store }: Settings): string {
  return dirname(resolve(databaseFile(store) ?? store.witnessFile ?? '.'));
}

/** Removes what commands left that were killed: copies of the store, which hold personal data. */
export async function removeLeftScratch(settings: Settings): Promise<void> {
  const place = scratchPlace(settings);
  for (const name of await readdir(place).catch(() => [])) {
    const pid = /^scratch-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(place, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Lends the name of a new file in a folder of its own. */
export async function inScratchFile<T>(settings: Settings, use: (file: string) => Promise<T>): Promise<T> {
  await removeLeftScratch(settings);
  const folder = await mkdtemp(join(scratchPlace(settings), `scratch-${process.pid}-`));
  try {
    return await use(join(folder, 'file'));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function isForbidden(error: Error): boolean {
  const code = error instanceof FileError && (error.cause as NodeJS.ErrnoException | undefined)?.code;
  return code === 'EACCES' || code === 'EPERM';
}
