import { type MariaDb, startMariaDb } from './mariadb.js';

let starting: Promise<MariaDb> | undefined;

/** The one server of this test run, started on first use. Tests that kill or pause a server start their own. */
export function sharedMariaDb(): Promise<MariaDb> {
  starting ??= startMariaDb();
  return starting;
}

/** Stops the shared server if any test used it. */
export async function stopSharedMariaDb(): Promise<void> {
  const started = starting;
  starting = undefined;
  await (await started)?.stop();
}
