import { expect } from 'chai';
import type { ChangePosition, ErpPage, ReadOrder } from '../../src/erp/erp-reader.js';
import { openReader, orderRows, useMariaDbLab } from '../erp/erp-lab.js';
import { databaseContract, failureOf } from './database-contract.js';

describe('an ERP on MariaDB', () => {
  const lab = useMariaDbLab();
  databaseContract(lab);

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
    const { message } = await failureOf(reader.check());
    expect(message).to.include('column "f" can not be used here: a FLOAT is not exact');
    expect(message).to.include('column "b" can not be used here: it holds bytes');
    expect(message).to.include('column "e" can not be used here: an ENUM');
  });
});
