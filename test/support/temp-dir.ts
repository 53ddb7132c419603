import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

/** Filled before the first test of the describe block runs. */
export interface TempDir {
  readonly path: string;
  /** The path of a file in it. */
  file(name: string): string;
}

/** Called inside a describe block: gives its tests an empty folder, removed with its contents after the last and all their hooks. */
export function useTempDir(): TempDir {
  let path: string | undefined;
  const existing = (): string => {
    if (path === undefined) throw new Error('useTempDir() has a folder only while tests and their hooks run.');
    return path;
  };

  before(async function () {
    // A folder that is left behind has to tell its owner.
    const test = basename(this.test?.file ?? '', '.test.js').slice(0, 30);
    path = await mkdtemp(join(tmpdir(), `waybill-dir-${test}-`));
    // Hooks run in the order in which they are told: told now it is the last, when what wrote into the folder has ended.
    this.test?.parent?.afterAll(async () => {
      if (path !== undefined) await rm(path, { recursive: true, force: true });
      path = undefined;
    });
  });

  return {
    get path() {
      return existing();
    },
    file: (name) => join(existing(), name),
  };
}
