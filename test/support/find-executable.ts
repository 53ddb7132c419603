import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian keeps servers in sbin folders, which are not on an ordinary user's PATH. */
const SERVER_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin'];

/** The full path of a program on PATH or in one of the usual server folders, or undefined when there is none. */
export function findExecutable(
  name: string,
  path = process.env.PATH ?? '',
  otherFolders: readonly string[] = SERVER_FOLDERS,
): string | undefined {
  const folders = [...path.split(delimiter), ...otherFolders].filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
