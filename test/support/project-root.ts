import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of package.json. Compiled tests lie at another depth than their sources, so it is searched upwards. */
export const projectRoot = nearestPackage(import.meta.dirname);

function nearestPackage(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  if (dirname(folder) === folder) throw new Error('No package.json above the tests.');
  return nearestPackage(dirname(folder));
}
