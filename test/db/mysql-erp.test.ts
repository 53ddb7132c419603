import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { type ChangePosition, ErpError, type ErpPage, type ReadOrder } from '../../src/erp/erp-reader.js';
import { Secret } from '../../src/model/secret.js';
import { openReader, orderRows, spyOn, TABLES, useMariaDbLab } from '../erp/erp-lab.js';
import { erpReaderContract } from '../erp/erp-reader-contract.js';
import { freePort } from '../support/free-port.js';
import { type MariaDb, startMariaDb } from '../support/mariadb.js';

async function failure(action: Promise<unknown>): Promise<ErpError> {
  const error = await action.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof ErpError) return error;
  throw error;
}

describe('an ERP on MariaDB', () => {
  const lab = useMariaDbLab();
  erpReaderContract(lab);

  it('finds an order whose transaction was open when later ones were read', async () => {
    const { server, database } = lab.mariaDb;
    const slow = await server.connect(database.database);
    try {
      await slow.query('START TRANSACTION');
      for (const statement of orderRows(1, '2026-01-01 10:00:00.000000')) await slow.query(statement);
      await lab.run(...orderRows(2, '2026-01-01 10:00:01.000000'));
      const reader = openReader(lab);
      const page = await reader.readChanged('order', { since: null }, 10);
      expect(page.rows.map(({ sourceKey }) => sourceKey)).to.deep.equal(['2']);
      await slow.query('COMMIT');
      expect((await reader.readChanged('order', { after: page.last as ChangePosition }, 10)).rows).to.deep.equal([]);
      expect((await reader.readChanged('order', { since: '2026-01-01 09:50:01' }, 10)).rows).to.have.length(2);
      expect((await reader.sweep('order', null, 10)).rows).to.have.length(2);
    } finally {
      await slow.end();
    }
  });

  it('reads TIMESTAMP as an instant: the hour that happens twice stays two hours', async () => {
    await lab.run(
      'ALTER TABLE orders MODIFY created_at TIMESTAMP(6) NULL, MODIFY updated_at TIMESTAMP(6) NULL',
      "SET time_zone = '+00:00'",
      ...orderRows(1, '2026-10-25 00:30:00.000000'),
      ...orderRows(2, '2026-10-25 01:30:00.000000'),
      ...orderRows(3, '2026-10-24 21:59:59.999999'),
    );
    const fields = { placed: { column: 'created_at', type: 'datetime' as const } };
    const reader = openReader(lab, { orders: { fields, startFrom: { column: 'created_at', from: '2026-10-25' } } });
    const page = await reader.readChanged('order', { since: null }, 10);
    expect(page.rows.map(({ content }) => (content.mapped ? content.record.placed : ''))).to.deep.equal([
      '2026-10-25T02:30:00+02:00',
      '2026-10-25T02:30:00+01:00',
    ]);
    expect(page.last?.changedAt).to.equal('2026-10-25 01:30:00.000000');
    const now = Date.parse(`${(await reader.nowAsChangedAt('order'))?.replace(' ', 'T')}Z`);
    expect(Math.abs(now - Date.now())).to.be.below(60_000);
  });

  it('reads zero dates, and pages past them', async () => {
    await lab.run("SET sql_mode = ''", 'ALTER TABLE orders MODIFY updated_at DATETIME(6) NOT NULL');
    for (const id of [1, 2, 3]) await lab.run(...orderRows(id, '0000-00-00 00:00:00.000000'));
    await lab.run(...orderRows(4, '2026-01-01 10:00:00.000000'));
    const fields = { placed: { column: 'created_at', type: 'date' as const, optional: true } };
    const reader = openReader(lab, { orders: { fields } });
    const first = await reader.readChanged('order', { since: null }, 2);
    expect(first.rows.map(({ sourceKey, changedAt }) => [sourceKey, changedAt])).to.deep.equal([
      ['1', '0000-00-00 00:00:00.000000'],
      ['2', '0000-00-00 00:00:00.000000'],
    ]);
    expect(first.rows[0]?.content).to.have.property('record').that.does.not.have.property('placed');
    const second = await reader.readChanged('order', { after: first.last as ChangePosition }, 2);
    expect(second.rows.map(({ sourceKey }) => sourceKey)).to.deep.equal(['3', '4']);
  });

  it('reads latin1, BIT and DOUBLE columns without loss', async () => {
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'));
    await lab.run(
      'CREATE TABLE extra (id INT, town VARCHAR(20) CHARACTER SET latin1, paid BIT(1), weight DOUBLE)',
      "INSERT INTO extra VALUES (1, 'Köln', 1, 0.07)",
    );
    const query = 'SELECT o.*, e.town, e.paid, e.weight FROM orders o JOIN extra e ON e.id = o.id';
    const fields = {
      town: 'town',
      paid: { column: 'paid', type: 'boolean' as const },
      weight: { column: 'weight', type: 'amount' as const },
    };
    const [order] = (await openReader(lab, { orders: { query, fields } }).sweep('order', null, 10)).rows;
    expect(order?.content).to.have.property('record').that.includes({ town: 'Köln', paid: true, weight: 7 });
  });

  it('keeps keys with quotes and backslashes as data, whatever the mode of the server', async () => {
    const { server } = lab.mariaDb;
    const root = await server.connect();
    try {
      await root.query("SET GLOBAL sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,NO_ZERO_DATE,STRICT_TRANS_TABLES'");
      await lab.run('CREATE TABLE odd (id VARCHAR(40) PRIMARY KEY, at DATETIME)');
      const keys = ["O'Brien", "x\\' OR 1=1 -- ", 'back\\slash', 'quo"te'];
      for (const key of keys) {
        await lab.run(`INSERT INTO odd VALUES (${root.escape(key)}, '2026-01-01')`);
      }
      const query = 'SELECT id, at FROM odd';
      const orders = { query, key: 'id', changedAt: 'at', pending: undefined, number: undefined, total: undefined };
      const fields = { customer_code: { constant: 'K' } };
      const reader = openReader(lab, { customers: { send: 'none' }, orders: { ...orders, fields } });
      const found: string[] = [];
      for (let after: string[] | null = null; ; ) {
        const page: ErpPage<ReadOrder> = await reader.sweep('order', after, 1);
        found.push(...page.rows.map(({ sourceKey }) => sourceKey));
        after = page.last?.key ?? null;
        if (!page.more) break;
      }
      expect(found).to.have.members(keys).and.have.length(keys.length);
    } finally {
      await root.query('SET GLOBAL sql_mode = DEFAULT');
      await root.end();
    }
  });

  it('refuses columns that can not be paged by, and says what to write', async () => {
    await lab.run("CREATE TABLE keys_ (f FLOAT, b VARBINARY(16), e ENUM('z', 'a'))");
    const reader = openReader(lab, {
      orders: { query: 'SELECT o.*, k.* FROM orders o JOIN keys_ k', key: ['f', 'b', 'e'] },
    });
    const { message } = await failure(reader.check());
    expect(message).to.include('column "f" can not be used here: a FLOAT is not exact');
    expect(message).to.include('column "b" can not be used here: it holds bytes');
    expect(message).to.include('column "e" can not be used here: an ENUM');
  });

  it('needs an account that may only SELECT, and writes nothing even with one that may', async () => {
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'));
    const { database } = lab.mariaDb;
    const tables = ['customers', 'orders', 'order_lines'];
    const user = await database.createUser(tables.map((table) => `SELECT ON ${table}`));
    const reader = openReader(lab, { erp: lab.settings({ user }) });
    await reader.check();
    expect((await reader.readChanged('order', { since: null }, 10)).rows).to.have.length(1);
    await user.drop();

    const writes: unknown[] = [];
    const mighty = openReader(lab, {}, (inner) => ({
      ...spyOn(inner).database,
      snapshot: (read) =>
        inner.snapshot(async (snapshot) => {
          writes.push(await snapshot.query({ pieces: ['DELETE FROM orders'], values: [] }, 'write').catch((e) => e));
          return read(snapshot);
        }),
    }));
    await mighty.count('order');
    expect(writes[0]).to.be.instanceOf(ErpError);
    expect(await lab.mariaDb.database.query('SELECT id FROM orders')).to.have.length(1);
  });

  it('names the table that the account may not read', async () => {
    const user = await lab.mariaDb.database.createUser(['SELECT ON orders', 'SELECT ON customers']);
    const error = await failure(openReader(lab, { erp: lab.settings({ user }) }).check());
    expect(error.message).to.match(/orders\.lines\.query: SELECT command denied .*order_lines/);
    await user.drop();
  });

  it('has a statement that runs too long killed on the server', async () => {
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'));
    const reader = openReader(lab, {
      erp: lab.settings({ queryTimeoutSeconds: 0.5 }),
      orders: { pending: 'SLEEP(30) = 0' },
    });
    const started = performance.now();
    const error = await failure(reader.sweep('order', null, 10));
    expect(performance.now() - started).to.be.below(20_000);
    expect(error.kind).to.equal('query');
    expect(error.message).to.include('raise erp.queryTimeoutSeconds');
    const running = await lab.mariaDb.database.query(
      "SELECT 1 FROM information_schema.processlist WHERE info LIKE '%SLEEP(30)%' AND id <> CONNECTION_ID()",
    );
    expect(running).to.deep.equal([]);
  });

  it('ends its snapshot after a failure', async () => {
    await lab.run(...orderRows(1, '2026-01-01 10:00:00'));
    const reader = openReader(lab);
    await reader.count('order');
    await failure(reader.sweep('order', null, 10, { from: 'spring' }));
    await lab.run(...orderRows(2, '2026-01-01 10:00:00'));
    expect(await reader.count('order')).to.equal(2);
    const open = await lab.mariaDb.database.query('SELECT trx_id FROM information_schema.innodb_trx');
    expect(open).to.deep.equal([]);
  });

  it('tells where it could not connect, and what to check, but never the password', async () => {
    const settings = lab.settings();
    if (settings.type !== 'mysql') throw new Error('this lab is MariaDB');
    const password = new Secret('wrong-p4ssword');
    const denied = await failure(openReader(lab, { erp: { ...settings, password } }).check());
    expect(denied.kind).to.equal('unreachable');
    expect(denied.message).to.include(`mysql://127.0.0.1:${settings.port}/${settings.database}`);
    expect(denied.message).to.include('Check erp.user and its password');
    expect(JSON.stringify(denied) + denied.stack + String((denied.cause as Error).stack)).not.to.include(
      'wrong-p4ssword',
    );
    const closed = await failure(openReader(lab, { erp: { ...settings, port: await freePort() } }).check());
    expect(closed.kind).to.equal('unreachable');
    expect(closed.message).to.include('ECONNREFUSED').and.include('erp.host and erp.port');
    const elsewhere = await failure(openReader(lab, { erp: { ...settings, database: 'nowhere' } }).check());
    expect(elsewhere.kind).to.equal('unreachable');
  });

  it('reads on after its connection was closed by the server', async () => {
    const reader = openReader(lab);
    await reader.count('order');
    const { database } = lab.mariaDb;
    const rows = await database.query(`SELECT id FROM information_schema.processlist WHERE user = '${database.user}'`);
    for (const { id } of rows) await lab.run(`KILL ${id}`);
    await sleep(50);
    expect(await reader.count('order')).to.equal(0);
  });
});

describe('an ERP server that goes away', () => {
  let server: MariaDb;
  before(async () => {
    server = await startMariaDb();
  });
  after(() => server.stop());

  it('is unreachable while it is down or frozen, and read again when it is back', async () => {
    const database = await server.createDatabase();
    for (const statement of [...TABLES, ...orderRows(1, '2026-01-01 10:00:00')]) await database.query(statement);
    const { host, port, user } = database;
    const erp = {
      type: 'mysql' as const,
      host,
      port,
      user,
      database: database.database,
      password: new Secret(database.password),
      timeZone: 'Europe/Berlin',
      queryTimeoutSeconds: 0.5,
      tls: { mode: 'off' as const },
    };
    const reader = openReader({ type: 'mysql' } as never, { erp });
    expect(await reader.count('order')).to.equal(1);
    await server.kill();
    expect((await failure(reader.count('order'))).kind).to.equal('unreachable');
    await server.restart();
    expect(await reader.count('order')).to.equal(1);
    await server.pause();
    const started = performance.now();
    try {
      expect((await failure(reader.count('order'))).kind).to.equal('unreachable');
    } finally {
      server.resume();
    }
    expect(performance.now() - started).to.be.below(20_000);
    expect(await reader.count('order')).to.equal(1);
    await reader.close();
  });
});
