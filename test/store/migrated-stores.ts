import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { format } from 'mysql2';
import type { StoreSettings } from '../../src/config/sections/store.js';
import { openStore } from '../../src/store/open-store.js';
import type { TestDatabase as MariaDbDatabase } from '../support/mariadb-database.js';
import type { Postgres } from '../support/postgres.js';
import type { TestDatabase as PostgresDatabase } from '../support/postgres-database.js';
import { sharedMariaDb, sharedPostgres } from '../support/shared-servers.js';
import { serverSettings, storeSettings } from './store-settings.js';

/*
 * Copies of a store that this process has migrated once: to migrate takes a server a second of CPU, and a file a tenth, before
 * each suite. What the suites of migrations and upgrades ask, they ask of stores that they migrate themselves.
 */

let file: Promise<Buffer> | undefined;
let statements: Promise<string> | undefined;
let template: Promise<PostgresDatabase> | undefined;

/** Makes this file a store that nobody has used. */
export async function putStoreFile(path: string): Promise<void> {
  file ??= inFolder(async (folder) => {
    const made = join(folder, 'store.sqlite');
    await migrate(storeSettings({ type: 'sqlite', file: made }));
    return readFileSync(made);
  });
  writeFileSync(path, await file, { mode: 0o600 });
}

/** Makes this empty database a store that nobody has used. */
export async function fillMariaDb(database: MariaDbDatabase): Promise<void> {
  statements ??= sharedMariaDb().then(async (server) => {
    const made = await server.createDatabase();
    await migrate(serverSettings('mysql', made));
    const found = await statementsOf(made);
    await made.drop();
    return found;
  });
  await database.query(await statements);
}

/** Makes this empty database of the server that all tests share a store that nobody has used. */
export async function fillPostgres(server: Postgres, { database, user }: PostgresDatabase): Promise<void> {
  template ??= sharedPostgres().then(async (shared) => {
    const made = await shared.createDatabase();
    await migrate(serverSettings('postgres', made));
    // An account that gets what this one has in the copy would get the template as well.
    await made.query(`ALTER DATABASE ${made.database} OWNER TO CURRENT_USER`);
    return made;
  });
  const from = await template;
  const root = await server.connect();
  await root.query(`DROP DATABASE ${database}`);
  await root.query(`CREATE DATABASE ${database} TEMPLATE ${from.database} OWNER ${user}`);
  await root.end();
  const inside = await server.connect(database);
  await inside.query(`REASSIGN OWNED BY ${from.user} TO ${user}`);
  await inside.end();
}

async function migrate(settings: StoreSettings): Promise<void> {
  const { store } = await openStore(settings);
  // Each store has one of its own.
  await store.transaction('lose its name', (tx) => tx.run("DELETE FROM store_info WHERE name='incarnation'"));
  await store.close();
}

async function statementsOf(database: MariaDbDatabase): Promise<string> {
  const made = ['SET FOREIGN_KEY_CHECKS=0'];
  for (const row of await database.query("SHOW FULL TABLES WHERE Table_type='BASE TABLE'")) {
    const table = String(Object.values(row)[0]);
    const [shown] = await database.query(`SHOW CREATE TABLE \`${table}\``);
    made.push(String(shown?.['Create Table']).replace(/ AUTO_INCREMENT=\d+/, ''));
    const rows = await database.query(`SELECT * FROM \`${table}\``);
    if (rows[0])
      made.push(
        format('INSERT INTO ?? (??) VALUES ?', [table, Object.keys(rows[0]), rows.map((one) => Object.values(one))]),
      );
  }
  return made.join(';\n');
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-migrated-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
