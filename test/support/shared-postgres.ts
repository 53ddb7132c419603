import { type Postgres, startPostgres } from './postgres.js';

let starting: Promise<Postgres> | undefined;

/** The one server of this test run, started on first use. Tests that kill or pause a server start their own. */
export function sharedPostgres(): Promise<Postgres> {
  starting ??= startPostgres();
  return starting;
}

/** Stops the shared server if any test used it. */
export async function stopSharedPostgres(): Promise<void> {
  const started = starting;
  starting = undefined;
  await (await started)?.stop();
}
