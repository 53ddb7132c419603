import { Secret } from '../../src/model/secret.js';
import { openStore } from '../../src/store/open-store.js';
import type { TestDatabase } from '../support/mariadb-database.js';
import type { TestDatabase as PostgresDatabase } from '../support/postgres-database.js';
import { openSqlite } from '../support/sqlite-file.js';
import { toldRows } from '../support/told.js';
import { witnessSql } from './store-witness.js';

/** The store as it lies there, read by SQL of our own. */
export interface StoreDesk {
  // biome-ignore lint/suspicious/noExplicitAny: the caller names the row type, as the SQL beside it does
  rows<Row = any>(sql: string): Promise<Row[]>;
  change(sql: string): Promise<void>;
  /** Every value of every table, as text. */
  everything(): Promise<string>;
  close(): void;
}

const tables = [
  'outbox_message',
  'message_body',
  'binding',
  'attempt',
  'audit_log',
  'lane_pause',
  'lease',
  'invoice',
  'invoice_pull',
  'store_info',
  'adoption',
  'closed_binding',
  'unsettled',
  'alert',
  'webhook_event',
  'write_back_row',
];

export function sqliteStoreDesk(file: string): StoreDesk {
  const database = openSqlite(file, { timeout: 10_000 });
  const rows = async (sql: string) => database.prepare(sql).all() as never[];
  const change = async (sql: string) => void database.prepare(sql).run();
  return { rows: inWords(rows), change, everything: () => dump(rows), close: () => void database.close() };
}

/** Makes the schema with a witness in it, before any daemon has seen the store. */
export async function makeSqliteStore(file: string, more: readonly string[] = []): Promise<void> {
  const { store } = await openStore({ type: 'sqlite', file });
  await store.close();
  const database = openSqlite(file);
  for (const statement of [...witnessSql('sqlite'), ...more]) database.exec(statement);
  database.close();
}

export function serverStoreDesk(database: { query(sql: string): Promise<unknown> }): StoreDesk {
  const rows = async (sql: string): Promise<never[]> => {
    for (let tries = 1; ; tries++) {
      try {
        return (await database.query(sql)) as never[];
      } catch (error) {
        // The server may be away: that is what it is here for.
        if (tries === 100) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  const change = async (sql: string) => void (await database.query(sql));
  return { rows: inWords(rows), change, everything: () => dump(rows), close: () => undefined };
}

export async function makeMariaDbStore(database: TestDatabase, more: readonly string[] = []): Promise<void> {
  await makeSchema('mysql', database);
  for (const statement of [...witnessSql('mysql'), ...more]) await database.query(statement);
}

export async function makePostgresStore(database: PostgresDatabase, more: readonly string[] = []): Promise<void> {
  await makeSchema('postgres', database);
  for (const statement of [...witnessSql('postgres'), ...more]) await asOwner(database, statement);
}

/** The daemons could neither write nor copy files of root. */
export async function asOwner(database: PostgresDatabase, statement: string): Promise<void> {
  await database.query(`SET ROLE ${database.user}; ${statement}`);
}

async function makeSchema(type: 'mysql' | 'postgres', database: TestDatabase | PostgresDatabase): Promise<void> {
  const { store } = await openStore({
    type,
    host: database.host,
    port: database.port,
    database: database.database,
    user: database.user,
    password: new Secret(database.password),
  } as Parameters<typeof openStore>[0]);
  await store.close();
}

function inWords(rows: (sql: string) => Promise<never[]>): (sql: string) => Promise<never[]> {
  return async (sql) => toldRows(await rows(sql)) as never[];
}

async function dump(rows: (sql: string) => Promise<unknown[]>): Promise<string> {
  const texts: string[] = [];
  for (const table of tables) texts.push(JSON.stringify(await rows(`SELECT * FROM ${table}`)));
  return texts.join('\n');
}
