import fc from 'fast-check';
import { guardNestedCalls } from '../../src/store/store.js';
import { childProcesses } from './child-processes.js';
import { ensureAll, ensureServers } from './needed-programs.js';
import { closeRunFolder, describeForgotten, forgottenFolders, openRunFolder } from './run-folder.js';
import { isOfSharedServer, stopSharedServers } from './shared-servers.js';

/** Mocha waits for open sockets and timers without end and without a word; a CI run would hang until it is killed. */
const EXIT_TIMEOUT_MS = 10_000;

/** The same cases in each run, so that none fails by chance. Others: `TEST_CASES=17 npm test`. */
fc.configureGlobal({ seed: Number(process.env.TEST_CASES ?? 1) });

/** Set where several processes run the test files, each its own. There these hooks run around each file. */
const isWorker = process.env.MOCHA_WORKER_ID !== undefined;
/** Watchdogs clean up behind workers that have ended. */
const cleaningMs = 15_000;

/** In a run on several workers there are none when a worker starts. */
let childrenAtStart: string[] = [];

guardNestedCalls();

export function mochaGlobalSetup(): void {
  if (process.argv.some((argument) => argument.endsWith('.test.js'))) ensureServers();
  else ensureAll();
  openRunFolder();
  childrenAtStart = childProcesses();
}

export const mochaHooks = {
  async afterAll(): Promise<void> {
    // To start them for each file would take a sixth of the whole run. They end with the worker.
    if (!isWorker) await stopSharedServers();

    // A hook that throws fails the run, so a leak is found on the day it is made.
    const children = childProcesses().filter((child) => !childrenAtStart.includes(child) && !isOfSharedServer(child));
    for (const child of children) process.kill(Number.parseInt(child, 10), 'SIGKILL');
    if (children.length > 0) throw new Error(`The tests left child processes behind: ${children.join(', ')}`);
  },
};

export async function mochaGlobalTeardown(): Promise<void> {
  let folders = forgottenFolders();
  for (const endsAt = Date.now() + cleaningMs; folders.length > 0 && Date.now() < endsAt; folders = forgottenFolders())
    await new Promise((resolve) => setTimeout(resolve, 100));
  const forgotten = folders.map(describeForgotten);
  await closeRunFolder();
  if (forgotten.length > 0) throw new Error(`The tests left temporary folders behind: ${forgotten.join(', ')}`);
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join(', ');
    console.error(`The tests are over, but something keeps the process alive: ${open}`);
    process.exit(1);
  }, EXIT_TIMEOUT_MS).unref();
}
