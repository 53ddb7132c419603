import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RowDataPacket } from 'mysql2';
import type { z } from 'zod';
import { amountsSettings } from '../../src/config/sections/amounts.js';
import { customersSettings } from '../../src/config/sections/customers.js';
import { erpSettings } from '../../src/config/sections/erp.js';
import { ordersSettings } from '../../src/config/sections/orders.js';
import type { Settings } from '../../src/config/settings.js';
import type { ErpDatabase } from '../../src/db/erp-database.js';
import type { ServerErp } from '../../src/db/server.js';
import type { ErpReader, ErpSource } from '../../src/erp/erp-reader.js';
import type { SampleErpTarget } from '../../src/lab/sample-erp/create-sample-erp.js';
import { Secret } from '../../src/model/secret.js';
import { erpReaderOf } from '../support/erp-reader.js';
import { freePort } from '../support/free-port.js';
import { type MariaDb, startMariaDb } from '../support/mariadb.js';
import type { TestUser } from '../support/mariadb-database.js';
import { type Postgres, startPostgres } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres-database.js';
import { openSqlite, type SqliteFile } from '../support/sqlite-file.js';
import { type PostgresHandle, useMariaDb, usePostgres } from '../support/use-database.js';

/** A real database for one test at a time, empty when the test begins. */
export interface ErpLab {
  readonly type: Settings['erp']['type'];
  /** Runs statements as somebody at the ERP's desk would: each one committed at once. */
  run(...statements: string[]): Promise<void>;
  settings(change?: { timeZone?: string; queryTimeoutSeconds?: number; user?: TestUser }): Settings['erp'];
  sampleTarget(): SampleErpTarget;
  /** Settings that lead to no database, with what is said. @param section of the settings, of whoever asks */
  wrongPlaces(section: string): Promise<[Settings['erp'], RegExp][]>;
  /** Lets the account make and write tables, where it does not own them. */
  readonly grantSchema: readonly string[];
  readonly grantTables: readonly string[];
  /** Transactions of the account that are open. */
  openSnapshots(): Promise<unknown[]>;
  /** Runs statements in a transaction that stays open until `act` commits it. */
  duringTransaction(
    statements: readonly string[],
    act: (commit: () => Promise<unknown>) => Promise<void>,
  ): Promise<void>;
}

/** A database on a server, with what the suite of all servers has to say to each in its own words. */
export interface ServerLab extends ErpLab {
  /** An expression that takes half a minute. */
  readonly sleeps30: string;
  /** Statements with it that are still under way. */
  sleeping(): Promise<unknown[]>;
  cutConnections(): Promise<void>;
  createUser(grants: readonly string[]): Promise<TestUser>;
  /** A server of its own that may go away. */
  startServer(): Promise<{
    settings: Settings['erp'];
    kill(): Promise<void>;
    restart(): Promise<void>;
    pause(): Promise<void>;
    resume(): void;
    stop(): Promise<void>;
  }>;
}

type Input<T extends z.ZodType> = NonNullable<z.input<T>>;
export interface Mapping {
  customers?: Input<typeof customersSettings>;
  orders?: Partial<Input<typeof ordersSettings>>;
  amounts?: Settings['amounts'];
  erp?: Settings['erp'];
}

const CUSTOMERS: Input<typeof customersSettings> = {
  query: 'SELECT * FROM customers',
  key: 'id',
  changedAt: 'updated_at',
  fields: { customer_code: 'code', name: 'name' },
};
const ORDERS: Input<typeof ordersSettings> = {
  query: 'SELECT * FROM orders',
  key: 'id',
  changedAt: 'updated_at',
  pending: "status = 'open'",
  startFrom: 'all',
  customerKey: 'customer_id',
  number: 'order_no',
  total: 'total',
  lines: {
    query: 'SELECT * FROM order_lines',
    orderKey: 'order_id',
    sortBy: 'pos',
    fields: { sku: 'sku', qty: 'qty', price: 'price' },
  },
};

/** The tables of the contract: types that SQLite and MariaDB understand. */
export const TABLES = [
  'CREATE TABLE customers (id BIGINT PRIMARY KEY, code VARCHAR(40), name VARCHAR(100), updated_at DATETIME(6))',
  `CREATE TABLE orders (id BIGINT PRIMARY KEY, order_no VARCHAR(40), customer_id BIGINT, status VARCHAR(20),
     total DECIMAL(14,2), note TEXT, created_at DATETIME(6), updated_at DATETIME(6))`,
  `CREATE TABLE order_lines (order_id BIGINT, pos INT, sku VARCHAR(40), qty DECIMAL(12,3), price DECIMAL(18,4),
     PRIMARY KEY (order_id, pos))`,
  "INSERT INTO customers VALUES (1, 'K1', 'Müller & Söhne', '2026-01-01 08:00:00.000000')",
];

/** Statements for an open order with one line of 1 × 10.00. */
export function orderRows(
  id: number | string,
  updatedAt: string,
  change: { customerId?: number; createdAt?: string } = {},
) {
  const { customerId = 1, createdAt = updatedAt } = change;
  return [
    `INSERT INTO orders VALUES (${id}, 'A-${id}', ${customerId}, 'open', 10.00, NULL, '${createdAt}', '${updatedAt}')`,
    `INSERT INTO order_lines VALUES (${id}, 1, 'SKU-1', 1, 10.00)`,
  ];
}

export function erpSource(lab: ErpLab, { customers = {}, orders = {}, amounts, erp }: Mapping = {}): ErpSource {
  const lines = { ...ORDERS.lines, ...orders.lines };
  return {
    erp: erp ?? lab.settings(),
    customers: customersSettings.parse(customers.send === 'none' ? customers : { ...CUSTOMERS, ...customers }),
    orders: ordersSettings.parse({ ...ORDERS, ...orders, lines }),
    amounts: amounts ?? amountsSettings.parse({ currency: 'EUR' }),
  };
}

/** A reader of the contract's tables, closed after the test. */
export function openReader(lab: ErpLab, mapping: Mapping = {}, wrap = (database: ErpDatabase) => database) {
  const source = erpSource(lab, mapping);
  const reader = erpReaderOf(source, wrap);
  opened.push(reader);
  return reader;
}

const opened: ErpReader[] = [];
async function closeReaders(): Promise<void> {
  for (const reader of opened.splice(0)) await reader.close();
}

/** Records every statement's purpose, and lets a test act when one has been answered. */
export function spyOn(database: ErpDatabase, after: (doing: string) => Promise<void> = async () => {}) {
  const asked: string[] = [];
  const spied: ErpDatabase = {
    snapshot: (read) =>
      database.snapshot((snapshot) =>
        read({
          dialect: snapshot.dialect,
          async query(statement, doing) {
            const result = await snapshot.query(statement, doing);
            asked.push(doing);
            await after(doing);
            return result;
          },
        }),
      ),
    identity: () => database.identity(),
    close: () => database.close(),
  };
  return { asked, database: spied };
}

/** Called inside a describe block: a SQLite file of its own for each test. */
export function useSqliteLab(): ErpLab {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'waybill-erp-'));
    // With a write-ahead log, somebody can write while a snapshot is open.
    withFile((database) => database.pragma('journal_mode = WAL'));
  });
  afterEach(async () => {
    await closeReaders();
    await rm(folder, { recursive: true, force: true });
  });
  const file = (): string => join(folder, 'erp.sqlite');
  const withFile = (use: (database: SqliteFile) => void): void => {
    const database = openSqlite(file());
    try {
      use(database);
    } finally {
      database.close();
    }
  };
  return {
    type: 'sqlite',
    run: async (...statements) =>
      withFile((database) => statements.forEach((statement) => void database.exec(statement))),
    settings: ({ timeZone = 'Europe/Berlin', queryTimeoutSeconds = 10 } = {}) =>
      erpSettings.parse({ type: 'sqlite', file: file(), timeZone, queryTimeoutSeconds }),
    sampleTarget: () => ({ type: 'sqlite', file: file() }),
    async wrongPlaces(section) {
      const otherFile = `${file()}.csv`;
      await writeFile(otherFile, 'order_no;total\n'.repeat(100));
      const place = (file: string) => erpSettings.parse({ type: 'sqlite', file, timeZone: 'UTC' });
      if (section === 'store')
        return [[place(otherFile), /erp\.sqlite\.csv can not be opened.*The file of the store is damaged/]];
      return [
        [place(otherFile), /erp\.sqlite\.csv: .*Check erp\.file: it names no SQLite database/],
        [place(`${file()}.away`), /erp\.sqlite\.away: .*Check erp\.file/],
      ];
    },
    grantSchema: [],
    grantTables: [],
    async openSnapshots() {
      let isHeld = false;
      withFile((database) => {
        const [{ busy }] = database.pragma('wal_checkpoint(TRUNCATE)') as [{ busy: number }];
        isHeld = busy === 1;
      });
      return isHeld ? ['a reader'] : [];
    },
    async duringTransaction(statements, act) {
      const other = openSqlite(file());
      try {
        other.exec('BEGIN IMMEDIATE');
        for (const statement of statements) other.exec(statement);
        await act(async () => other.exec('COMMIT'));
      } finally {
        other.close();
      }
    },
  };
}

/** Called inside a describe block: a database on the private MariaDB, emptied before each test. */
export function useMariaDbLab(): ServerLab & { mariaDb: ReturnType<typeof useMariaDb> } {
  const mariaDb = useMariaDb();
  let connection: Awaited<ReturnType<typeof mariaDb.server.connect>>;
  beforeEach(async () => {
    const { server, database } = mariaDb;
    await server.connect().then(async (root) => {
      await root.query(`DROP DATABASE \`${database.database}\``);
      await root.query(`CREATE DATABASE \`${database.database}\``);
      await root.end();
    });
    connection = await server.connect(database.database);
  });
  afterEach(async () => {
    await closeReaders();
    await connection.end();
  });
  return {
    type: 'mysql',
    mariaDb,
    async run(...statements) {
      for (const statement of statements) await connection.query(statement);
    },
    settings: (change = {}) => onServer('mysql', mariaDb.database, change),
    wrongPlaces: (section) => wrongServers(onServer('mysql', mariaDb.database), section),
    sampleTarget: () => ({ type: 'mysql', connection }),
    grantSchema: [],
    grantTables: [],
    sleeps30: 'SLEEP(30)',
    sleeping: () =>
      mariaDb.database.query<RowDataPacket[]>(
        "SELECT id FROM information_schema.processlist WHERE info LIKE '%SLEEP(30)%' AND id <> CONNECTION_ID()",
      ),
    openSnapshots: () =>
      mariaDb.database.query<
        RowDataPacket[]
      >(`SELECT trx_id FROM information_schema.innodb_trx t JOIN information_schema.processlist p
        ON p.id = t.trx_mysql_thread_id WHERE p.user = '${mariaDb.database.user}'`),
    async cutConnections() {
      await connection.query(`KILL USER '${mariaDb.database.user}'@'127.0.0.1'`);
    },
    createUser: (grants) => mariaDb.database.createUser(grants),
    async duringTransaction(statements, act) {
      const other = await mariaDb.server.connect(mariaDb.database.database);
      try {
        await other.query('START TRANSACTION');
        for (const statement of statements) await other.query(statement);
        await act(() => other.query('COMMIT'));
      } finally {
        await other.end();
      }
    },
    async startServer() {
      const server = await startMariaDb();
      return goesAway(server, onServer('mysql', await server.createDatabase()));
    },
  };
}

/** Called inside a describe block: a database on the private PostgreSQL, emptied before each test. */
export function usePostgresLab(): ServerLab & { postgres: PostgresHandle } {
  const postgres = usePostgres();
  let client: Awaited<ReturnType<typeof postgres.server.connect>>;
  beforeEach(async () => {
    const { server, database } = postgres;
    client = await server.connect(database.database);
    await client.query(`SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public;
      GRANT USAGE ON SCHEMA public TO PUBLIC; ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO ${database.user};
      CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`);
  });
  afterEach(async () => {
    await closeReaders();
    await client.end();
  });
  return {
    type: 'postgres',
    postgres,
    async run(...statements) {
      for (const statement of statements) await client.query(inPostgres(statement));
    },
    settings: (change = {}) => onServer('postgres', postgres.database, change),
    wrongPlaces: (section) => wrongServers(onServer('postgres', postgres.database), section),
    sampleTarget: () => ({ type: 'postgres', client }),
    get grantSchema() {
      return [`GRANT ALL ON SCHEMA public TO ${postgres.database.user}`];
    },
    get grantTables() {
      return [`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${postgres.database.user}`];
    },
    sleeps30: 'pg_sleep(30)',
    sleeping: () =>
      postgres.database.query(
        "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid() AND state = 'active'",
      ),
    openSnapshots: () =>
      postgres.database.query(
        `SELECT pid FROM pg_stat_activity WHERE usename = '${postgres.database.user}' AND state LIKE 'idle in%'`,
      ),
    async cutConnections() {
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${postgres.database.user}'`,
      );
    },
    createUser: (grants) => postgres.database.createUser(grants),
    async duringTransaction(statements, act) {
      const other = await postgres.server.connect(postgres.database.database);
      try {
        await other.query('BEGIN');
        for (const statement of statements) await other.query(statement);
        await act(() => other.query('COMMIT'));
      } finally {
        await other.end();
      }
    },
    async startServer() {
      const server = await startPostgres();
      return goesAway(server, onServer('postgres', await server.createDatabase()));
    },
  };
}

/** A wrong password, a port where nobody listens, a server without TLS, and a database that is not there. */
async function wrongServers(right: Settings['erp'], section: string): Promise<[Settings['erp'], RegExp][]> {
  const { port, database } = right as ServerErp;
  const closed = await freePort();
  const to = (change: Partial<ServerErp>) => ({ ...right, ...change }) as Settings['erp'];
  const at = (place: string, words: string) => new RegExp(`:${place}.*(${words})`, 's');
  const advice = section === 'writeBack' ? '' : `.*${section}\\.host and`;
  const nowhere = section === 'writeBack' ? 'may do nothing in writeBack\\.database|' : '';
  return [
    [
      to({ password: new Secret('wrong-p4ssword') }),
      at(`${port}/${database}`, `(denied|authentication failed).*${section}\\.user and its password`),
    ],
    [to({ port: closed }), at(`${closed}/${database}`, `ECONNREFUSED${advice}`)],
    [
      to({ tls: { mode: 'required', serverName: 'db.example.test' } }),
      at(`${port}/${database}`, `(SSL|secure connection).*${section}\\.tls\\.mode: off`),
    ],
    [to({ database: 'nowhere' }), at(`${port}/nowhere`, `${nowhere}Check \\w+\\.database`)],
  ];
}

function goesAway(server: MariaDb | Postgres, settings: Settings['erp']) {
  return {
    settings,
    kill: () => server.kill(),
    restart: () => server.restart(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    stop: () => server.stop(),
  };
}

/** The contract's types, as PostgreSQL calls them. */
function inPostgres(statement: string): string {
  return statement
    .replaceAll('DATETIME', 'TIMESTAMP')
    .replaceAll(' BLOB', ' BYTEA')
    .replaceAll(/X'([0-9A-F]+)'/g, String.raw`'\x$1'`);
}

function onServer(
  type: 'mysql' | 'postgres',
  database: Pick<TestDatabase, 'database' | keyof TestUser>,
  change: Parameters<ErpLab['settings']>[0] = {},
): Settings['erp'] {
  const { timeZone = 'Europe/Berlin', queryTimeoutSeconds = 10, user: account = database } = change;
  const { host, port, user } = account;
  const place = { type, host, port, user, database: database.database };
  const password = new Secret(account.password);
  return { ...erpSettings.parse({ ...place, timeZone, queryTimeoutSeconds }), password } as Settings['erp'];
}
