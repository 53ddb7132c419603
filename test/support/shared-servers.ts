import { dirname } from 'node:path';
import { type MariaDb, startMariaDb } from './mariadb.js';
import { type Postgres, startPostgres } from './postgres.js';

let mariaDb: Promise<MariaDb> | undefined;
let postgres: Promise<Postgres> | undefined;
const folders = new Set<string>();

/**
 * One server of a kind for all test files of this process, started on first use; each test has databases of its own in it.
 * Tests that kill or pause a server, or change what is global in it, start their own.
 */
export function sharedMariaDb(): Promise<MariaDb> {
  mariaDb ??= startMariaDb().then(noted);
  return mariaDb;
}

export function sharedPostgres(): Promise<Postgres> {
  postgres ??= startPostgres().then(noted);
  return postgres;
}

function noted<Server extends { dataDir: string }>(server: Server): Server {
  folders.add(dirname(server.dataDir));
  return server;
}

/** True if this is a process of a shared server, or watches over one: its command line names the folder. */
export function isOfSharedServer(commandLine: string): boolean {
  return [...folders].some((folder) => commandLine.includes(folder));
}

/** Stops those that tests have used. */
export async function stopSharedServers(): Promise<void> {
  const started = [mariaDb, postgres];
  mariaDb = undefined;
  postgres = undefined;
  for (const server of started) await (await server)?.stop();
}
