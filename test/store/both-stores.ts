import { join } from 'node:path';
import { settingsFrom } from '../../src/config/load-settings.js';
import type { StoreSettings } from '../../src/config/sections/store.js';
import { openStore } from '../../src/store/open-store.js';
import type { Dialect, SqlValue, Store } from '../../src/store/store.js';
import { type TempDir, useTempDir } from '../support/temp-dir.js';
import { type MariaDbHandle, useMariaDb } from '../support/use-mariadb.js';

/** A store of its own for the tests of a describe block, empty before each of them. */
export interface StoreKit {
  readonly dialect: Dialect;
  readonly settings: StoreSettings;
  readonly store: Store;
  /** A folder for whatever else a test keeps. */
  readonly folder: string;
  /** The server of a MariaDB store. */
  readonly mariaDb: MariaDbHandle;
  /** Another connection to the same database, as another process would have it; closed after the test. */
  connect(): Promise<Store>;
  /** Forgets everything, as before each test. */
  empty(): Promise<void>;
  /** Settings of a database in which nothing is yet. */
  emptyDatabase(): Promise<StoreSettings>;
  // biome-ignore lint/suspicious/noExplicitAny: the test names what it selects
  rows(sql: string, parameters?: readonly SqlValue[]): Promise<any[]>;
}

/** One contract, two databases: defines the block once on SQLite and once on MariaDB. */
export function onBothStores(title: string, define: (kit: StoreKit) => void): void {
  describe(`${title} (SQLite)`, () => define(useStore('sqlite')));
  describe(`${title} (MariaDB)`, () => define(useStore('mysql')));
}

const tables = [
  'outbox_message',
  'message_body',
  'binding',
  'closed_binding',
  'adoption',
  'attempt',
  'attempt_excerpt',
  'audit_log',
  'capture_cursor',
  'unsettled',
  'lease',
  'lane_pause',
  'wake_up',
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
  'write_back_due',
  'write_back_row',
  'write_back_target',
];

/** Called inside a describe block. */
export function useStore(dialect: Dialect): StoreKit {
  const folder = useTempDir();
  const mariaDb = dialect === 'mysql' ? useMariaDb() : null;
  const connections: Store[] = [];
  const drops: (() => Promise<void>)[] = [];
  let opened: Store | undefined;
  let databases = 0;

  before(async () => {
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
      return mariaDb
        ? mysqlSettings(mariaDb.database)
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
      if (!mariaDb) throw new Error('This store is a SQLite file.');
      return mariaDb;
    },
    async connect() {
      const { store } = await openStore(kit.settings);
      connections.push(store);
      return store;
    },
    empty: () =>
      kit.store.transaction('empty the store', async (tx) => {
        for (const table of tables) await tx.run(`DELETE FROM ${table}`);
        await tx.run("DELETE FROM store_info WHERE name<>'incarnation'");
      }),
    async emptyDatabase() {
      if (!mariaDb) return storeSettings({ type: 'sqlite', file: emptyFile(folder, ++databases) });
      const database = await mariaDb.server.createDatabase();
      drops.push(() => database.drop());
      return mysqlSettings(database);
    },
    rows: (sql, parameters) => kit.store.read('look', (tx) => tx.select(sql, parameters)),
  };
  return kit;
}

function emptyFile(folder: TempDir, number: number): string {
  return join(folder.path, `empty-${number}`, 'store.sqlite');
}

interface Account {
  host: string;
  port: number;
  database: string;
  user: string;
  password: string;
}

function mysqlSettings({ host, port, database, user, password }: Account): StoreSettings {
  return storeSettings({ type: 'mysql', host, port, database, user, password });
}

/** Checked as a configuration is. */
function storeSettings(store: object): StoreSettings {
  const { service } = settingsAround({});
  return settingsFrom({ ...settingsAround({ store }), service: { ...service, token: 'test-token' } }).store;
}

/** A whole configuration in which everything but this is beside the point; the token is not in it. */
export function settingsAround(sections: object) {
  return {
    installation: 'test-office',
    erp: { type: 'sqlite', file: 'erp.sqlite', timeZone: 'UTC' },
    customers: { send: 'none' },
    orders: {
      query: 'SELECT * FROM orders',
      key: 'id',
      startFrom: 'all',
      fields: { customer_code: 'customer' },
      lines: {
        query: 'SELECT * FROM lines',
        orderKey: 'order_id',
        sortBy: 'id',
        fields: { sku: 'sku', qty: 'qty', price: 'price' },
      },
    },
    amounts: { currency: 'EUR' },
    service: { environment: 'sandbox', baseUrl: 'http://127.0.0.1:1' },
    ...sections,
  };
}
