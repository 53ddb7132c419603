import { randomUUID } from 'node:crypto';
import { copyFile, type FileHandle, link, lstat, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A file can not be written, or not be believed. The message names the file and says what to do. */
export class FileError extends Error {
  override readonly name = 'FileError';
  /** A file of another name, or another copy of it, would do. */
  readonly isWrongUsage: boolean;

  constructor(message: string, { cause, isWrongUsage = false }: { cause?: unknown; isWrongUsage?: boolean } = {}) {
    super(message, { cause });
    this.isWrongUsage = isWrongUsage;
  }
}

/**
 * Writes a file whole or not at all, mode 0600, durable when it returns. It is filled as a draft beside its place and takes
 * the place when all of it is on the disk.
 * @param fill writes the draft, by `handle.writeFile` (which writes all that it is given, as `handle.write` need not) or by name
 * @throws FileError when there is such a file already, unless `replaces`; or when it can not be written
 */
export async function writeWholeFile<T>(
  file: string,
  fill: (handle: FileHandle, draft: string) => Promise<T>,
  { replaces = false } = {},
): Promise<T> {
  // Several may write at the same time, and in containers each of them is process 1.
  const draft = `${file}.${randomUUID()}`;
  try {
    // Before the work, which may take long; `placeNew` asks once more.
    if (!replaces && (await exists(file))) throw alreadyThere(file);
    await removeStaleDrafts(file);
    const handle = await open(draft, 'wx', 0o600);
    let result: T;
    try {
      result = await fill(handle, draft);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await (replaces ? rename(draft, file) : placeNew(draft, file));
    await syncFolder(dirname(file));
    return result;
  } catch (error) {
    // In a folder that this account may not look into, there is no draft either, and the first error says more.
    await rm(draft, { force: true }).catch(() => undefined);
    throw asFileError(file, error);
  }
}

/** Copies a file whole, into one that is not there yet. */
export async function copyWholeFile(from: string, to: string): Promise<void> {
  await writeWholeFile(to, (_, draft) => copyFile(from, draft));
}

/** Puts the draft in its place, where no file may be. */
async function placeNew(draft: string, file: string): Promise<void> {
  try {
    // Unlike `rename`, it never replaces a file that came meanwhile.
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || (await exists(file))) throw alreadyThere(file);
    // A file system without hard links, as on a USB stick.
    return rename(draft, file);
  }
  await rm(draft);
}

async function exists(file: string): Promise<boolean> {
  return lstat(file).then(
    () => true,
    () => false,
  );
}

/** The new name of a file survives a power cut only when its folder is on the disk too. */
async function syncFolder(folder: string): Promise<void> {
  const entry = await open(folder, 'r');
  try {
    await entry.sync();
  } finally {
    await entry.close();
  }
}

function alreadyThere(file: string): FileError {
  return new FileError(`${file} exists already. Name a new file.`, { isWrongUsage: true });
}

const reasons: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'it is larger than this process may write',
  EROFS: 'the file system is read-only',
  EACCES: 'this account may not write there',
  EPERM: 'this account may not write there',
  ENOENT: 'there is no such folder',
  ENOTDIR: 'there is no such folder',
  EISDIR: 'a folder has that name',
  EPIPE: 'the program that reads it has ended',
};

/** An error of stdout. */
export function notWritten(cause: unknown): FileError {
  return new FileError(`What this prints can not be written: ${reasonOf(cause)}.`, { cause });
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return reasons[code ?? ''] ?? message;
}

function asFileError(file: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  return new FileError(`${file} can not be written: ${reasonOf(error)}. No part of it was left there.`, {
    cause: error,
  });
}

/** A draft grows while it is written: one that did not for so long was left by a process that was killed. */
const staleDraftMs = 60 * 60_000;
const draftSuffix = /^\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function removeStaleDrafts(file: string): Promise<void> {
  const name = basename(file);
  for (const entry of await readdir(dirname(file))) {
    if (!entry.startsWith(name) || !draftSuffix.test(entry.slice(name.length))) continue;
    const draft = join(dirname(file), entry);
    // Another process may remove it first.
    const found = await stat(draft).catch(() => null);
    if (found && Date.now() - found.mtimeMs > staleDraftMs) await rm(draft, { force: true });
  }
}
