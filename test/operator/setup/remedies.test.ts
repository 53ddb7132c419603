import { expect } from 'chai';
import { mysqlDialect } from '../../../src/db/mysql/mysql-erp.js';
import { postgresDialect } from '../../../src/db/postgres/postgres-erp.js';
import type { Fact } from '../../../src/model/facts/fact.js';
import { outside } from '../../../src/model/outside.js';
import { type Mapping, remediesFor } from '../../../src/operator/setup/preview/remedies.js';

const found = (column: string, value: string) => ({ column, value: outside(value) });
const empty = (column: string, line?: number): Fact => ({
  code: 'value_missing',
  field: column,
  columns: [{ column, value: 'nothing' }],
  mayBeOptional: false,
  ...(line !== undefined && { line }),
});

describe('what mends a record', () => {
  const settings = (type: 'mysql' | 'postgres', pending?: string) =>
    ({
      dialect: type === 'mysql' ? mysqlDialect : postgresDialect,
      erp: { type },
      customers: { query: 'SELECT * FROM c', key: ['id'], fields: { customer_code: 'code' } },
      orders: {
        query: 'SELECT * FROM o',
        key: ['Order No'],
        customerKey: ['customer_id'],
        pending,
        fields: { due: { column: ['due_at', 'ship_at'], type: 'date' } },
        lines: {
          query: 'SELECT * FROM l;',
          orderKey: ['order_id'],
          fields: { sku: 'sku', qty: 'qty', price: 'price' },
        },
      },
    }) as unknown as Mapping;
  const first = (problem: Fact, pending?: string, type: 'mysql' | 'postgres' = 'mysql') =>
    remediesFor(problem, 'order', settings(type, pending))[0];

  it('is a condition that stays one on a single line, whatever comments and texts are in it', () => {
    const rest = 'AND EXISTS (SELECT 1 FROM (SELECT * FROM l) l WHERE l.order_id = q.`Order No`)';
    const pending = "note <> 'a  -- b' # for sales\n AND/* by\nus */x = 5--3 -- and\n;";
    expect(first({ code: 'no_lines', texts: 0 }, pending)).to.equal(
      `orders.pending: (note <> 'a  -- b' AND x = 5--3) ${rest}`,
    );
    const json = "data #>> '{a}' = 'x' --why\n";
    expect(first({ code: 'no_lines', texts: 0 }, json, 'postgres'))
      .to.contain(`(data #>> '{a}' = 'x') AND EXISTS`)
      .and.contain('q."Order No"');
    const guests = remediesFor({ code: 'customer_not_named', columns: ['customer_id'] }, 'order', settings('mysql'));
    expect(guests[0]).to.contain('UNION ALL');
    expect(guests[1]).to.equal('or orders.pending: customer_id IS NOT NULL; such orders are then never sent');
  });

  it('names the setting of the field that a column makes', () => {
    expect(first(empty('sku', 3))).to.contain('orders.lines.text: {sku: TEXT}');
    expect(first(empty('price', 3))).to.contain('orders.lines.fields.price: [price, OTHER_COLUMN]');
    expect(first({ code: 'not_a_date', ...found('ship_at', 'soon') })).to.contain(
      "orders.query: make it one, such as NULLIF(ship_at, '')",
    );
    expect(first(empty('due_at'))).to.contain('orders.fields.due');
  });

  it('offers no setting that is set already, and no comparison that the database refuses', () => {
    const mapping = settings('postgres');
    const skips = { ...mapping, orders: { ...mapping.orders, lines: { ...mapping.orders.lines, text: 'skip' } } };
    expect(remediesFor(empty('sku', 2), 'order', skips as Mapping)).to.deep.equal([
      'orders.lines.text: {sku: TEXT}, a SKU that the service knows for every line without one',
    ]);
    const ofNumber = (value: string, special: object = { special: value }) =>
      first({ code: 'not_a_number', ...found('Qty', value), ...special, line: 2 }, undefined, 'postgres');
    expect(ofNumber('NaN')).to.contain(`NULLIF("Qty", 'NaN') or a CASE`);
    expect(ofNumber('-Infinity')).to.contain(`NULLIF("Qty", '-Infinity') or a CASE`);
    expect(ofNumber(' ', {})).to.contain(`NULLIF("Qty", '') or a CASE`);
    const ofEmpty = remediesFor(empty('due_at'), 'order', mapping)[1];
    expect(ofEmpty).to.equal("or orders.pending: CAST(due_at AS TEXT) <> ''");
  });

  it('leaves out a line of nothing instead of its order, and an order with a negative line as a whole', () => {
    expect(first({ code: 'quantity_not_positive', ...found('qty', '0.00'), isZero: true, line: 2 })).to.equal(
      'orders.lines.query: leave out lines of nothing: SELECT l.* FROM (SELECT * FROM l) l WHERE l.qty <> 0',
    );
    for (const column of ['qty', null])
      expect(first({ code: 'quantity_not_positive', column, value: outside('-2'), isZero: false, line: 2 })).to.match(
        /^orders\.pending: NOT EXISTS .* AND l\.qty < 0\)$/,
      );
  });

  it('never rounds the price of a line by itself, which changes what the line comes to', () => {
    const of = (problem: Fact, lines: object = {}) => {
      const { orders, ...others } = settings('mysql');
      const changed = { ...others, orders: { ...orders, lines: { ...orders.lines, ...lines } } };
      return remediesFor(problem, 'order', changed as Mapping);
    };
    const decimals = { code: 'too_many_decimals', scale: 2, of: 'price' } as const;
    const priced = (column: string, value: string): Fact => ({ ...decimals, ...found(column, value), line: 1 });
    const price = priced('price', '0.0049');
    expect(of(price)).to.have.length(3);
    expect(of(price)[0]).to.match(/^orders\.lines\.amount: .* with orders\.lines\.rounding: {sku: ROUNDING}/);
    expect(of(price)[1]).to.match(
      /^or orders\.lines\.unit: {factor: 1}, with orders\.lines\.rounding: {sku: ROUNDING}/,
    );
    expect(of(price)[2]).to.match(/^then amounts\.rounding: .* by itself it changes the amount of the line/);
    // As it is written in the settings: the database may spell it in another way, and it may have a blank in it.
    const blank = { fields: { sku: 'sku', qty: 'qty', price: { column: ['own price', 'Price'], type: 'integer' } } };
    expect(of(priced('PRICE', '0.0049'), blank)).to.deep.equal(of(price));
    expect(of(priced('Own Price', '0.49'), blank)).to.deep.equal(of(price));
    // Cents with a fraction: as decimals they would be a hundred times as much.
    expect(of({ code: 'not_whole', ...found('price', '0.49'), line: 1 }, blank)).to.deep.equal(of(price));

    const amount: Fact = { ...decimals, ...found('freight', '4.9049'), of: 'amount' };
    expect(of(amount)).to.have.length(1);
    expect(of(amount)[0]).to.match(/^amounts\.rounding: .* together with orders\.lines\.unit: {factor: 1}/);
    // If prices are worked out from amounts, rounding is for amounts alone.
    const worked = { unit: { factor: 1n } };
    const ofProduct = { qty: outside('3'), column: 'price', price: outside('0.0049') };
    const product: Fact = { code: 'product_too_many_decimals', ...ofProduct, scale: 2, line: 1 };
    for (const problem of [amount, product])
      expect(of(problem, worked)).to.deep.equal(['amounts.rounding: half-up (or half-even)']);
  });

  it('is nothing where the problem says it itself', () => {
    expect(
      remediesFor(
        { code: 'code_without_word', ...found('pay_code', 'X'), setting: 'orders.fields.pay.when' },
        'order',
        settings('mysql'),
      ),
    ).to.deep.equal([]);
  });
});
