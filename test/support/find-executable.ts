import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Debian keeps servers in sbin folders, which are not on an ordinary user's PATH. */
const SERVER_FOLDERS = ['/usr/sbin', '/usr/local/sbin', '/usr/bin', '/usr/local/bin'];

/** Debian keeps each version of PostgreSQL in a folder of its own. */
const POSTGRES_VERSIONS = '/usr/lib/postgresql';

/** The full path of a program on PATH or in one of the usual server folders, or undefined when there is none. */
export function findExecutable(
  name: string,
  path = process.env.PATH ?? '',
  otherFolders: readonly string[] = [...SERVER_FOLDERS, ...postgresFolders()],
): string | undefined {
  const folders = [...path.split(delimiter), ...otherFolders].filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** The newest first. */
function postgresFolders(): string[] {
  const versions = existsSync(POSTGRES_VERSIONS) ? readdirSync(POSTGRES_VERSIONS) : [];
  return versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(POSTGRES_VERSIONS, version, 'bin'));
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
