import { join } from 'node:path';
import type { StoreSettings } from '../../src/config/sections/store.js';
import { forgetLastLines } from '../../src/store/last-lines.js';
import { openStore } from '../../src/store/open-store.js';
import type { SqlValue, Store } from '../../src/store/store.js';
import { writeStoreInfo } from '../../src/store/store-info.js';
import { type TempDir, useTempDir } from '../support/temp-dir.js';
import { toldRows } from '../support/told.js';
import { type MariaDbHandle, type PostgresHandle, useMariaDb, usePostgres } from '../support/use-database.js';
import { fillMariaDb, fillPostgres, putStoreFile } from './migrated-stores.js';
import { serverSettings, storeSettings } from './store-settings.js';

type Dialect = StoreSettings['type'];

/** A store of its own for the tests of a describe block, empty before each of them. */
export interface StoreKit {
  readonly dialect: Dialect;
  readonly settings: StoreSettings;
  readonly store: Store;
  /** A folder for whatever else a test keeps. */
  readonly folder: string;
  /** The server of a MariaDB store. */
  readonly mariaDb: MariaDbHandle;
  /** The server of a PostgreSQL store. */
  readonly postgres: PostgresHandle;
  /** Another connection to the same database, as another process would have it; closed after the test. */
  connect(): Promise<Store>;
  /** Forgets everything, as before each test. */
  empty(): Promise<void>;
  /** Settings of a database in which nothing is yet. */
  emptyDatabase(): Promise<StoreSettings>;
  // biome-ignore lint/suspicious/noExplicitAny: the test names what it selects
  rows(sql: string, parameters?: readonly SqlValue[]): Promise<any[]>;
}

const names = { sqlite: 'SQLite', mysql: 'MariaDB', postgres: 'PostgreSQL' };

const everyStore: readonly Dialect[] = ['sqlite', 'mysql', 'postgres'];
const servers = ['mysql', 'postgres'] as const;
export type Server = (typeof servers)[number];

/** Databases that a suite runs on. */
interface Stores {
  /** In `npm test`. */
  usual: readonly Dialect[];
  /** In `npm run test:all`. */
  possible: readonly Dialect[];
}

/** `all` runs each suite wherever it can run; otherwise names of stores: `TEST_STORES=postgres npm run test:one FILE`. */
const asked = process.env.TEST_STORES;

/** `npm run test:all`: every store, every seed, every random case. */
export const isFullMatrix = asked === 'all';

/** The stores on which a suite runs this time. */
export function storesFor({ usual, possible }: Stores): readonly Dialect[] {
  if (asked === undefined) return usual;
  return asked === 'all' ? possible : possible.filter((store) => asked.split(',').includes(store));
}

/** Behaviour is the same on any store, so SQLite is enough, and a server where the SQL beneath deserves another look. */
export function behaviour(alsoOn?: Server): Stores {
  return { usual: alsoOn ? ['sqlite', alsoOn] : ['sqlite'], possible: everyStore };
}

export function eachStore(stores: Stores, define: (store: Dialect, name: string) => void): void {
  for (const store of storesFor(stores)) define(store, names[store]);
}

/** Contract of the store: SQL, locks and failures that differ by database, on all three, always. */
export function onEveryStore(title: string, define: (kit: StoreKit) => void): void {
  onStores({ usual: everyStore, possible: everyStore }, title, define);
}

/** Contract of the servers alone. */
export function onServers(title: string, define: (kit: StoreKit) => void): void {
  onStores({ usual: servers, possible: servers }, title, define);
}

/** Behaviour above the store: on SQLite, and on all three in `npm run test:all`. */
export function onAnyStore(title: string, define: (kit: StoreKit) => void): void {
  onStores(behaviour(), title, define);
}

/** As `onAnyStore`, and always on this server as well: for behaviour that much SQL carries. */
export function onSqliteAnd(server: Server, title: string, define: (kit: StoreKit) => void): void {
  onStores(behaviour(server), title, define);
}

function onStores(stores: Stores, title: string, define: (kit: StoreKit) => void): void {
  eachStore(stores, (store, name) => describe(`${title} (${name})`, () => define(useStore(store))));
}

const tables = [
  'outbox_message',
  'message_body',
  'binding',
  'closed_binding',
  'removed_id',
  'adoption',
  'attempt',
  'audit_log',
  'audit_chain',
  'capture_cursor',
  'unsettled',
  'left_order',
  'replaced_record',
  'lease',
  'lane_pause',
  'wake_up',
  'service_question',
  'invoice',
  'invoice_staging',
  'invoice_pull',
  'invoice_group',
  'invoice_malformed',
  'invoice_state',
  'webhook_event',
  'webhook_tally',
  'alert',
  'job_run',
  'figure',
  'reconciliation',
  'reconcile_finding',
  'reconcile_day_sum',
  'write_back_due',
  'write_back_row',
  'write_back_target',
];

/** SQL that finds statements of this store that are under way; of a database on a server. @param like what they look like */
export function underWay({ dialect }: StoreKit, like: string): string {
  return dialect === 'postgres'
    ? `SELECT pid FROM pg_stat_activity WHERE datname=current_database() AND state='active' AND query LIKE '${like}'`
    : `SELECT id FROM information_schema.processlist WHERE db=DATABASE() AND info LIKE '${like}'`;
}

/** Called inside a describe block. */
export function useStore(dialect: Dialect): StoreKit {
  const folder = useTempDir();
  const mariaDb = dialect === 'mysql' ? useMariaDb() : null;
  const postgres = dialect === 'postgres' ? usePostgres() : null;
  const server = mariaDb ?? postgres;
  const connections: Store[] = [];
  const drops: (() => Promise<void>)[] = [];
  let opened: Store | undefined;
  let databases = 0;

  before(async () => {
    if (mariaDb) await fillMariaDb(mariaDb.database);
    else if (postgres) await fillPostgres(postgres.server, postgres.database);
    else await putStoreFile(folder.file('store.sqlite'));
    opened = (await openStore(kit.settings)).store;
  });
  beforeEach(() => kit.empty());
  afterEach(async () => {
    for (const connection of connections.splice(0)) await connection.close();
    for (const drop of drops.splice(0)) await drop();
  });
  after(async () => {
    await opened?.close();
  });

  const kit: StoreKit = {
    dialect,
    get settings() {
      return server
        ? serverSettings(dialect, server.database)
        : storeSettings({ type: 'sqlite', file: folder.file('store.sqlite') });
    },
    get store() {
      if (!opened) throw new Error('The store is open only while tests and their hooks run.');
      return opened;
    },
    get folder() {
      return folder.path;
    },
    get mariaDb() {
      if (!mariaDb) throw new Error('This store is not in MariaDB.');
      return mariaDb;
    },
    get postgres() {
      if (!postgres) throw new Error('This store is not in PostgreSQL.');
      return postgres;
    },
    async connect() {
      const { store } = await openStore(kit.settings);
      connections.push(store);
      return store;
    },
    empty: () =>
      kit.store.transaction('empty the store', async (tx) => {
        forgetLastLines(kit.store);
        // Most are empty, and a server is asked once for all.
        const [isFilled] = await tx.select(`SELECT ${tables.map((one) => `EXISTS (SELECT 1 FROM ${one}) AS ${one}`)}`);
        for (const table of tables) if (isFilled?.[table]) await tx.run(`DELETE FROM ${table}`);
        await tx.run("DELETE FROM store_info WHERE name<>'incarnation'");
        await writeStoreInfo(tx, 'beside_first_key', '0');
      }),
    async emptyDatabase() {
      if (!server) return storeSettings({ type: 'sqlite', file: emptyFile(folder, ++databases) });
      const database = await server.server.createDatabase();
      drops.push(() => database.drop());
      return serverSettings(dialect, database);
    },
    rows: async (sql, parameters) => toldRows(await kit.store.read('look', (tx) => tx.select(sql, parameters)), sql),
  };
  return kit;
}

function emptyFile(folder: TempDir, number: number): string {
  return join(folder.path, `empty-${number}`, 'store.sqlite');
}
