import { expect } from 'chai';
import type { Rounding } from '../../../src/erp/mapping/money.js';
import { erpSource, openReader, orderRows, TABLES, useMariaDbLab, usePostgresLab, useSqliteLab } from '../erp-lab.js';

async function faultOf(checked: Promise<void>): Promise<string> {
  return checked.then(
    () => 'none',
    (error: Error) => error.message,
  );
}

for (const [name, use] of Object.entries({
  SQLite: useSqliteLab,
  MariaDB: useMariaDbLab,
  PostgreSQL: usePostgresLab,
})) {
  describe(`a query that would leave records out (${name})`, () => {
    const lab = use();

    it('refuses a LIMIT, and takes one in brackets, quotes or a comment', async () => {
      await lab.run(...TABLES, ...orderRows(1, '2026-01-01 10:00:00'));
      const check = (query: string) => faultOf(openReader(lab, { orders: { query } }).check());
      for (const query of [
        'SELECT * FROM orders LIMIT 100',
        'SELECT * FROM orders\nlimit 5 offset 2 -- the newest',
        'SELECT * FROM (SELECT * FROM orders LIMIT 100) o',
        ...(lab.type === 'postgres' ? ['SELECT * FROM orders FETCH FIRST 5 ROWS ONLY'] : []),
      ])
        expect(await check(query), query).to.include('orders.query: has a LIMIT');
      for (const query of [
        "SELECT o.*, 'LIMIT 5' AS remark FROM orders o -- LIMIT 5",
        'SELECT o.*, (SELECT MAX(l.pos) FROM order_lines l WHERE l.order_id = o.id LIMIT 1) AS last FROM orders o',
      ])
        expect(await check(query), query).to.equal('none');
    });
  });
}

describe('what MariaDB converts without an error', () => {
  const lab = useMariaDbLab();
  const check = (orders: object, change: object = {}) => faultOf(openReader(lab, { orders, ...change }).check());

  beforeEach(async () => {
    await lab.run(...TABLES, ...orderRows(1, '2026-01-01 10:00:00'));
    await lab.run(
      'ALTER TABLE orders ADD fk_statut INT NOT NULL DEFAULT 0, ADD tms TIMESTAMP NULL, ADD weight DOUBLE, ADD small FLOAT',
      "SET time_zone = '+00:00'",
      "UPDATE orders SET tms = '2026-11-02 23:30:00', weight = 33.5, small = 131072.01",
    );
  });

  it('refuses a condition that compares a number with a text, in pending and in the query', async () => {
    expect(await check({ pending: "fk_statut = 'validated'" })).to.match(/orders\.pending: .*'validated'/);
    expect(await check({ pending: 'status = 0' })).to.match(/orders\.pending: .*'open'/);
    expect(await check({ query: "SELECT * FROM orders WHERE fk_statut = 'validated'" })).to.match(
      /orders\.query: .*'validated'/,
    );
    expect(await check({ pending: "fk_statut = '0' AND status = 'open'" })).to.equal('none');
  });

  it('looks again when an empty table has got its first row', async () => {
    await lab.run('DELETE FROM orders');
    const reader = openReader(lab, { orders: { pending: "fk_statut = 'validated'" } });
    await reader.check();
    await lab.run("INSERT INTO orders (id, order_no, customer_id, status) VALUES (2, 'A-2', 1, 'open')");
    const read = reader.sweep('order', null, 10).then(() => undefined);
    expect(await faultOf(read)).to.include("'validated'");
  });

  it('refuses floating point for keys, for amounts that it rounds, and FLOAT for every amount', async () => {
    const query = 'SELECT o.*, weight * 0.93 AS price FROM orders o';
    const total = (column: string, rounding: Rounding) => {
      const amounts = { ...erpSource(lab).amounts, rounding };
      return check({ query, total: column }, { amounts });
    };
    expect(await total('price', 'half-up'))
      .to.include('orders.total: column "price" is a DOUBLE')
      .and.include('CAST(');
    expect(await total('price', 'refuse')).to.equal('none');
    expect(await total('small', 'refuse'))
      .to.include('orders.total: column "small" is a FLOAT')
      .and.include('CAST(');
    expect(await check({ key: 'weight' })).to.include('a DOUBLE is not exact');
    const cast = 'SELECT o.*, CAST(weight AS DECIMAL(20, 6)) * 0.93 AS price FROM orders o';
    const amounts = { ...erpSource(lab).amounts, rounding: 'half-up' as const };
    expect(await check({ query: cast, total: 'price' }, { amounts })).to.equal('none');
    const fields = { sku: 'sku', qty: 'qty', price: 'price' };
    const lines = { query: 'SELECT order_id, pos, sku, qty, price * 1e0 AS price FROM order_lines', fields };
    expect(await check({ lines: { orderKey: 'order_id', ...lines } }, { amounts })).to.include(
      'orders.lines.fields.price: column "price" is a DOUBLE',
    );
  });

  for (const [timeZone, hours, day, text] of [
    ['Asia/Tokyo', 9, '2026-11-03', '2026-11-03 08:30:00'],
    ['America/Bogota', -5, '2026-11-02', '2026-11-02 18:30:00'],
  ] as const)
    it(`refuses an expression over a TIMESTAMP, and takes what the refusal says to write (${timeZone})`, async () => {
      const erp = lab.settings({ timeZone });
      const withPlaced = (expression: string) => ({
        query: `SELECT o.*, ${expression} AS placed FROM orders o`,
        fields: { placed_on: { column: 'placed', type: 'date' as const }, as_text: 'placed' },
      });
      for (const expression of [
        'GREATEST(o.tms, o.created_at)',
        'DATE(o.tms)',
        "DATE_FORMAT(o.tms, '%Y-%m-%d %H:%i')",
        'o.tms + INTERVAL 0 DAY',
      ]) {
        const fault = await check(withPlaced(expression), { erp });
        expect(fault, expression).to.include('column "placed" changes with the time zone');
        expect(fault).to.include(`CONVERT_TZ(…, @@session.time_zone, '${timeZone}')`);
      }
      expect(await check({ pending: "DATE(tms) = '2026-11-02'" }, { erp })).to.include('orders.pending: changes with');
      const record = async (expression: string) => {
        const [order] = (await openReader(lab, { orders: withPlaced(expression), erp }).sweep('order', null, 10)).rows;
        return order?.content.mapped ? order.content.record : order?.content;
      };
      expect(await record('o.tms')).to.include({ placed_on: day, as_text: text });

      const advised = `DATE(CONVERT_TZ(o.tms, @@session.time_zone, '${timeZone}'))`;
      expect(await check(withPlaced(advised), { erp })).to.include('mysql_tzinfo_to_sql');
      const root = await lab.mariaDb.server.connect('mysql');
      try {
        await root.query("INSERT INTO time_zone (Use_leap_seconds) VALUES ('N')");
        const [[zone]] = (await root.query('SELECT MAX(Time_zone_id) AS id FROM time_zone')) as unknown as [
          [{ id: number }],
        ];
        await root.query('INSERT INTO time_zone_name VALUES (?, ?)', [timeZone, zone.id]);
        await root.query("INSERT INTO time_zone_transition_type VALUES (?, 0, ?, 0, 'STD')", [zone.id, hours * 3600]);
      } finally {
        await root.end();
      }
      expect(await record(advised)).to.include({ placed_on: day, as_text: day });
    });
});
