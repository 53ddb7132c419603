import { expect } from 'chai';
import type { Connection } from 'mysql2/promise';
import { writeBackSettings } from '../../src/config/sections/write-back.js';
import type { Settings } from '../../src/config/settings.js';
import { erpDatabase, erpDialect } from '../../src/db/databases.js';
import { rawSql } from '../../src/db/sql.js';
import { readCatalogue } from '../../src/erp/catalogue.js';
import { ErpError, type ErpPage, type ReadOrder } from '../../src/erp/erp-reader.js';
import { openErpWriter } from '../../src/erp/open-erp.js';
import { wallText } from '../../src/erp/time/wall-time.js';
import { sideTables } from '../../src/erp/write-back/side-tables.js';
import { Secret } from '../../src/model/secret.js';
import { openStore } from '../../src/store/open-store.js';
import { StoreError } from '../../src/store/store-error.js';
import { type Mapping, openReader } from '../erp/erp-lab.js';
import { problemsInWords } from '../erp/problems-in-words.js';
import { storeSettings } from '../store/store-settings.js';
import { type MariaDb, startMariaDb } from '../support/mariadb.js';
import type { TestDatabase } from '../support/mariadb-database.js';
import { usePostgres } from '../support/use-database.js';

/** Texts that another mode or character set would change, cut, or run as SQL. */
const texts = [
  "O'Brien",
  `x',NULL),(900+SLEEP(3),0x41,NULL) -- `,
  String.raw`x\',NULL),(900+SLEEP(3),0x41,NULL) -- `,
  String.raw`back\slash \0 \n "quoted"`,
  'Müller 😀 GmbH €',
  '',
  'ends with blanks  ',
];

interface Account {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}

const erpOf = (type: 'mysql' | 'postgres', account: Account): Settings['erp'] => {
  const { host, port, user, password, database } = account;
  const place = { host, port, user, database, password: new Secret(password), tls: { mode: 'off' as const } };
  return { type, ...place, timeZone: 'Europe/Berlin', queryTimeoutSeconds: 10 } as Settings['erp'];
};

/** Orders with a composite key whose first part is empty, codes in CHAR columns, and three lines. */
const erpTables = [
  `CREATE TABLE customers (code CHAR(10) PRIMARY KEY, name VARCHAR(100))`,
  `CREATE TABLE orders (kind CHAR(4), n INT, order_no VARCHAR(40), customer CHAR(10), status VARCHAR(20), PRIMARY KEY (kind, n))`,
  `CREATE TABLE order_lines (kind CHAR(4), n INT, pos INT, sku CHAR(10), qty INT, price DECIMAL(10,2))`,
  `INSERT INTO customers VALUES ('C-1', 'Müller 😀 GmbH €')`,
  `INSERT INTO orders VALUES ${[...Array(12).keys()].map((n) => `('', ${n}, 'Ä-${n}', 'C-1', 'open')`)}`,
  `INSERT INTO orders VALUES ('b', 1, 'Ä-b', 'C-1', 'open')`,
  `INSERT INTO order_lines SELECT kind, n, pos, 'SKU', 1, 12345.67 FROM orders, (SELECT 1 pos UNION SELECT 2 UNION SELECT 3) p`,
];
const mapping: Mapping = {
  customers: {
    query: 'SELECT * FROM customers',
    key: 'code',
    fields: { customer_code: 'code', name: 'name' },
    changedAt: undefined,
  },
  orders: {
    key: ['kind', 'n'],
    changedAt: undefined,
    customerKey: 'customer',
    number: 'order_no',
    total: undefined,
    lines: {
      query: 'SELECT * FROM order_lines',
      orderKey: ['kind', 'n'],
      sortBy: 'pos',
      fields: { sku: 'sku', qty: 'qty', price: 'price' },
    },
  },
};

/** Reads all in small pages, and expects it as it stands in the ERP. */
async function readsAll(erp: Settings['erp']): Promise<void> {
  const reader = openReader({} as never, { ...mapping, erp });
  await reader.check();
  const read: ReadOrder[] = [];
  for (let after: string[] | null = null; ; ) {
    const page: ErpPage<ReadOrder> = await reader.sweep('order', after, 5);
    read.push(...page.rows);
    expect(page.customers[0]?.content).to.have.property('record').that.deep.includes({
      customer_code: 'C-1',
      name: 'Müller 😀 GmbH €',
    });
    after = page.last?.key ?? null;
    if (!page.more) break;
  }
  await reader.close();
  expect(read.map(({ sourceKey }) => sourceKey)).to.have.length(13);
  for (const { content, number } of read) {
    if (!content.mapped) throw new Error(problemsInWords(content));
    expect(content.record).to.include({ customer_code: 'C-1', note: number });
    expect(number).to.match(/^Ä-/);
    expect(content.record.items).to.deep.equal(Array(3).fill({ sku: 'SKU', qty: 1, price: 1_234_567 }));
  }
}

const placeOf = ({ host, port, user, password, database }: Account) => ({ host, port, user, password, database });

async function keepsAll(type: 'mysql' | 'postgres', account: Account): Promise<void> {
  const { host, port, user, password, database } = account;
  const { store } = await openStore(storeSettings({ type, host, port, user, password, database }));
  try {
    await store.transaction('write texts', async (tx) => {
      await tx.run('DELETE FROM message_body');
      for (const [at, text] of texts.entries())
        await tx.run('INSERT INTO message_body (message_id, record, body) VALUES (?,?,?)', [at + 1, text, text]);
    });
    const rows = await store.read('read them', (tx) =>
      tx.select('SELECT record, body FROM message_body ORDER BY message_id'),
    );
    expect(rows).to.deep.equal(texts.map((text) => ({ record: text, body: text })));
  } finally {
    await store.close();
  }
}

/** @param admin makes the side table */
async function writesAll(
  erp: Settings['erp'],
  account: Account,
  admin: (sql: string) => Promise<unknown>,
): Promise<void> {
  const { user, password } = account;
  const given = writeBackSettings.parse({
    enabled: true,
    user,
    invoices: { enabled: false },
    customers: { enabled: false },
  });
  const writeBack = { ...given, password: new Secret(password) };
  for (const table of sideTables({ erp, writeBack }, await erpDialect(erp.type), user, '127.0.0.1').tables)
    await admin(table);
  const writer = await openErpWriter({ erp, writeBack });
  if (writer === null) throw new Error('The write-back is on.');
  try {
    const row = { order_number: null, service_order_id: null, service_status: null, service_total: '12345.67' };
    const other = { delivered_at: '2026-07-01 10:00:00', parked_class: null };
    const changes = texts.map((text, at) => ({
      key: `${text} ${at}`,
      keyParts: [],
      row: { ...row, ...other, parked_reason: text },
    }));
    await writer.write('orders', changes, async () => {});
    const found = await writer.rowsAfter('orders', '', 100);
    expect(found.map(({ key }) => key)).to.have.members(changes.map(({ key }) => key));
    const tooLong = { key: 'long', keyParts: [], row: { ...row, ...other, parked_reason: 'x'.repeat(1_001) } };
    const error = await writer
      .write('orders', [tooLong], async () => {})
      .then(
        () => null,
        (refused: unknown) => refused,
      );
    expect(error).to.have.property('kind', 'row');
  } finally {
    await writer.close();
  }
}

describe('sessions on a MariaDB that is set up against us', () => {
  let server: MariaDb;
  let erp: TestDatabase;
  let root: Connection;

  before(async function () {
    this.timeout(120_000);
    server = await startMariaDb({
      arguments: [
        '--skip-character-set-client-handshake',
        '--character-set-server=latin1',
        '--collation-server=latin1_swedish_ci',
        '--init-connect=SET sql_select_limit=2, autocommit=0, sql_auto_is_null=1, completion_type=1, time_zone="-08:00", tx_isolation="SERIALIZABLE", max_error_count=0, wait_timeout=2, group_concat_max_len=4; SET NAMES latin1; USE test',
      ],
    });
    root = await server.connect();
    await root.query(
      "SET sql_mode='', character_set_client=utf8mb4, character_set_results=utf8mb4, character_set_connection=utf8mb4",
    );
    await root.query('CREATE DATABASE test');
    await root.query("GRANT USAGE ON test.* TO ''@'%'").catch(() => undefined);
  });
  after(async () => {
    await root?.end();
    await server?.stop();
  });
  beforeEach(async () => {
    erp = await server.createDatabase();
    await root.query(`ALTER DATABASE ${erp.database} CHARACTER SET utf8mb4`);
    await root.query(`USE ${erp.database}`);
    for (const statement of erpTables) await root.query(statement);
    // Otherwise init_connect would end the session of an account that may not use that database.
    await root.query(`GRANT SELECT ON test.* TO '${erp.user}'@'127.0.0.1'`);
  });
  afterEach(async () => {
    await root.query('SET GLOBAL sql_mode = DEFAULT');
    await erp.drop();
  });

  for (const mode of [
    '',
    'NO_BACKSLASH_ESCAPES',
    'EMPTY_STRING_IS_NULL',
    'PAD_CHAR_TO_FULL_LENGTH',
    'ANSI_QUOTES',
    'ORACLE',
  ]) {
    const name = mode || 'no mode at all';
    it(`read the ERP as it is, under ${name}`, async () => {
      await root.query('SET GLOBAL sql_mode = ?', [mode]);
      await readsAll(erpOf('mysql', erp));
    });

    it(`keep every text in the store, under ${name}`, async () => {
      await root.query('SET GLOBAL sql_mode = ?', [mode]);
      const started = performance.now();
      await keepsAll('mysql', erp);
      expect(performance.now() - started, 'no text ran as SQL').to.be.below(60_000);
      const [rows] = await root.query('SELECT message_id FROM message_body WHERE message_id >= 900');
      expect(rows).to.deep.equal([]);
    });

    it(`write every text back, under ${name}`, async () => {
      await root.query('SET GLOBAL sql_mode = ?', [mode]);
      await writesAll(erpOf('mysql', erp), erp, (sql) => root.query(sql));
      const [rows] = await root.query('SELECT parked_reason AS reason, delivered_at AS at FROM waybill_orders');
      expect((rows as { reason: string }[]).map(({ reason }) => reason)).to.have.members(texts);
      expect(new Set((rows as { at: string }[]).map(({ at }) => at))).to.deep.equal(new Set(['2026-07-01 10:00:00']));
    });
  }

  it('keep a store that is in use when somebody changes the mode of the server', async () => {
    const { host, port, user, password, database } = erp;
    const { store } = await openStore(storeSettings({ type: 'mysql', host, port, user, password, database }));
    try {
      await root.query("SET GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES'");
      const [others] = await root.query('SELECT id FROM information_schema.processlist WHERE user = ?', [user]);
      for (const { id } of others as { id: number }[]) await root.query(`KILL ${id}`);
      const write = () =>
        store.transaction('write', (tx) =>
          tx.run("INSERT INTO store_info (name, value) VALUES ('x', ?)", [texts[1] ?? '']),
        );
      for (let tries = 0; ; tries++)
        if (
          await write().then(
            () => true,
            (error) => tries > 10 || !(error instanceof StoreError),
          )
        )
          break;
      const value = await store.read('read', (tx) => tx.value("SELECT value FROM store_info WHERE name='x'"));
      expect(value).to.equal(texts[1]);
    } finally {
      await store.close();
    }
  });

  it('commit a statement of the store that stands by itself', async () => {
    const { host, port, user, password, database } = erp;
    const { store } = await openStore(storeSettings({ type: 'mysql', host, port, user, password, database }));
    try {
      await store.statement('write', (tx) => tx.run("INSERT INTO store_info (name, value) VALUES ('x', 'kept')"));
      const [rows] = await root.query("SELECT value FROM store_info WHERE name = 'x'");
      expect(rows).to.deep.equal([{ value: 'kept' }]);
    } finally {
      await store.close();
    }
  });

  it('read and write instants in zones of their own', async () => {
    await root.query("SET time_zone = '+00:00'");
    await root.query("ALTER TABLE orders ADD at TIMESTAMP(6) NULL DEFAULT '2026-07-01 08:00:00'");
    const fields = { at: { column: 'at', type: 'datetime' as const } };
    const reader = openReader({} as never, {
      ...mapping,
      orders: { ...mapping.orders, fields },
      erp: erpOf('mysql', erp),
    });
    for (const session of ['the first', 'the next']) {
      const [order] = (await reader.sweep('order', null, 1)).rows;
      const record = { at: '2026-07-01T10:00:00+02:00' };
      expect(order?.content, session).to.have.property('record').that.includes(record);
      const [open] = await root.query('SELECT id FROM information_schema.processlist WHERE user = ?', [erp.user]);
      for (const { id } of open as { id: number }[]) await root.query(`KILL ${id}`);
    }

    const upsert = 'INSERT INTO told (order_key, at, shown) VALUES (:order_key, NOW(), NOW())';
    await root.query('CREATE TABLE told (order_key VARCHAR(40), at TIMESTAMP NULL, shown DATETIME)');
    const given = writeBackSettings.parse({ enabled: true, user: erp.user, orders: { upsert } });
    const writer = await openErpWriter({
      erp: erpOf('mysql', erp),
      writeBack: { ...given, password: new Secret(erp.password) },
    });
    await writer?.write('orders', [{ key: '1', keyParts: ['1'], row: {} }], async () => {});
    await writer?.close();
    const [rows] = await root.query('SELECT at, shown FROM told');
    const [told] = rows as { at: string; shown: string }[];
    const instant = Date.parse(`${told?.at.replace(' ', 'T')}Z`);
    expect(Math.abs(instant - Date.now()), 'the instant').to.be.below(60_000);
    expect(told?.shown, 'the wall time of the ERP').to.equal(wallText(instant, 'Europe/Berlin'));
  });

  it('sort, divide, look, check and show rights as no variable of the server says', async () => {
    await root.query("SET sql_mode = ''");
    const keys = [3, 1, 2].map((n) => `${'k'.repeat(80)}${n}`);
    await root.query('CREATE TABLE long_keys (k VARCHAR(200)) WITH SYSTEM VERSIONING');
    await root.query(`INSERT INTO long_keys VALUES ${keys.map((key) => `('${key}')`)}`);
    const against = {
      max_sort_length: 64,
      div_precision_increment: 0,
      sql_quote_show_create: 0,
      check_constraint_checks: 0,
      system_versioning_asof: "'2020-01-01 00:00:00'",
    };
    for (const [name, value] of Object.entries(against)) await root.query(`SET GLOBAL ${name} = ${value}`);
    const database = await erpDatabase(erpOf('mysql', erp));
    const { store } = await openStore(storeSettings({ type: 'mysql', ...placeOf(erp) }));
    try {
      const [sorted, quotient, rights] = await database.snapshot(async ({ query, dialect }) => [
        (await query(rawSql('SELECT k FROM long_keys ORDER BY k'), 'sort')).rows.map(({ k }) => k),
        (await query(rawSql('SELECT 1/4 AS q'), 'divide')).rows,
        dialect.inspection.writeRights((await dialect.inspection.rights?.(query)) ?? []),
      ]);
      expect(sorted).to.deep.equal([...keys].sort());
      expect(quotient).to.deep.equal([{ q: '0.2500' }]);
      expect(rights).not.to.be.empty;
      const wrong = store.transaction('write', (tx) =>
        tx.run("INSERT INTO capture_cursor (name, swept_at) VALUES ('x', -1)"),
      );
      expect(await wrong.catch((error: unknown) => error)).to.be.instanceOf(StoreError);
    } finally {
      for (const name of Object.keys(against)) await root.query(`SET GLOBAL ${name} = DEFAULT`);
      await database.close();
      await store.close();
    }
  });

  it('refuse a query that means something else at this server', async () => {
    await root.query("SET GLOBAL sql_mode = 'ANSI_QUOTES'");
    const orders = { ...mapping.orders, query: 'SELECT kind, n, "order_no" AS order_no, customer, status FROM orders' };
    const reader = openReader({} as never, { ...mapping, orders, erp: erpOf('mysql', erp) });
    const error = await reader.check().then(
      () => null,
      (refused: unknown) => refused,
    );
    expect(error)
      .to.be.instanceOf(ErpError)
      .and.to.have.property('message')
      .that.matches(/orders\.query: has "…".*ANSI_QUOTES/);
  });
});

describe('sessions on a PostgreSQL whose role and database are set up against us', () => {
  const postgres = usePostgres();
  const against = {
    standard_conforming_strings: 'off',
    client_encoding: 'LATIN1',
    bytea_output: 'escape',
    '"DateStyle"': 'SQL, DMY',
    '"IntervalStyle"': 'sql_standard',
    '"TimeZone"': 'America/New_York',
    extra_float_digits: '-15',
    transform_null_equals: 'on',
    default_transaction_isolation: 'serializable',
    default_transaction_deferrable: 'on',
    row_security: 'off',
    statement_timeout: '3s',
    lock_timeout: '1s',
    idle_in_transaction_session_timeout: '3s',
    idle_session_timeout: '3s',
    gin_fuzzy_search_limit: '1',
  };

  before(async () => {
    const { user, query } = postgres.database;
    for (const statement of ['CREATE SCHEMA other', ...erpTables]) await query(statement);
    await query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${user}; GRANT ALL ON SCHEMA public, other TO ${user}`);
  });

  for (const where of ['ROLE', 'DATABASE'] as const) {
    describe(`by ALTER ${where}`, () => {
      before(async () => {
        const { database: name, user, query } = postgres.database;
        await query('DROP TABLE IF EXISTS waybill_orders');
        for (const [setting, value] of Object.entries(against))
          await query(`ALTER ${where} ${where === 'ROLE' ? user : name} SET ${setting} = '${value}'`);
      });
      after(async () => {
        const { database: name, user, query } = postgres.database;
        await query(`ALTER ${where} ${where === 'ROLE' ? user : name} RESET ALL`);
      });

      it('read the ERP as it is', () => readsAll(erpOf('postgres', postgres.database)));
      it('keep every text in the store', () => keepsAll('postgres', postgres.database));
      it('write every text back', async () => {
        const { query, user } = postgres.database;
        await writesAll(erpOf('postgres', postgres.database), postgres.database, async (sql) => {
          await query(sql);
          await query(`GRANT ALL ON waybill_orders TO ${user}`);
        });
        const rows = await query('SELECT parked_reason AS reason FROM waybill_orders');
        expect(rows.map(({ reason }) => reason)).to.have.members(texts);
      });
    });
  }

  it('find a condition on NULL unfulfilled, as it is written', async () => {
    const { query, user } = postgres.database;
    await query(`ALTER ROLE ${user} SET transform_null_equals = on`);
    try {
      const orders = { ...mapping.orders, pending: 'NULL = NULL' };
      const reader = openReader({} as never, { ...mapping, orders, erp: erpOf('postgres', postgres.database) });
      expect((await reader.sweep('order', null, 10)).rows).to.deep.equal([]);
    } finally {
      await query(`ALTER ROLE ${user} RESET ALL`);
    }
  });

  it('name types as the catalogue knows them', async () => {
    const { query, user } = postgres.database;
    await query(`CREATE TABLE typed (d DATE, t TIMESTAMPTZ, j JSONB); GRANT SELECT ON typed TO ${user}`);
    await query(`ALTER ROLE ${user} SET quote_all_identifiers = on`);
    const database = await erpDatabase(erpOf('postgres', postgres.database));
    try {
      const { tables } = await database.snapshot(readCatalogue);
      const kinds = tables.find(({ name }) => name === 'typed')?.columns.map(({ kind }) => kind);
      expect(kinds).to.deep.equal(['date', 'time', 'other']);
    } finally {
      await database.close();
      await query(`ALTER ROLE ${user} RESET ALL`);
    }
  });

  it('are refused where the search_path leads an open store elsewhere', async () => {
    const { host, port, user, password, database, query } = postgres.database;
    const { store } = await openStore(storeSettings({ type: 'postgres', host, port, user, password, database }));
    const look = () => store.read('look', (tx) => tx.select('SELECT name FROM store_info'));
    try {
      await query(`ALTER ROLE ${user} SET search_path = other`);
      await query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${user}'`);
      let refused: unknown;
      // The pool may hold several connections that are gone; each is met once at most.
      for (let tries = 0; tries < 10 && !`${refused}`.includes('schema'); tries++)
        refused = await look().catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(StoreError).and.to.have.property('message').that.includes('has schema "other"');
      await query(`ALTER ROLE ${user} RESET ALL`);
      expect(await look()).not.to.be.empty;
    } finally {
      await query(`ALTER ROLE ${user} RESET ALL`);
      await store.close();
    }
  });
});
