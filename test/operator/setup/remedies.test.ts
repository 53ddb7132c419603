import { expect } from 'chai';
import { mysqlDialect } from '../../../src/db/mysql/mysql-erp.js';
import { postgresDialect } from '../../../src/db/postgres/postgres-erp.js';
import { type Mapping, remediesFor } from '../../../src/operator/setup/preview/remedies.js';

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
  const first = (problem: string, pending?: string, type: 'mysql' | 'postgres' = 'mysql') =>
    remediesFor(problem, 'order', settings(type, pending))[0];

  it('is a condition that stays one on a single line, whatever comments and texts are in it', () => {
    const rest = 'AND EXISTS (SELECT 1 FROM (SELECT * FROM l) l WHERE l.order_id = q.`Order No`)';
    const pending = "note <> 'a  -- b' # for sales\n AND/* by\nus */x = 5--3 -- and\n;";
    expect(first('it has no lines; add them', pending)).to.equal(
      `orders.pending: (note <> 'a  -- b' AND x = 5--3) ${rest}`,
    );
    const json = "data #>> '{a}' = 'x' --why\n";
    expect(first('it has no lines', json, 'postgres'))
      .to.contain(`(data #>> '{a}' = 'x') AND EXISTS`)
      .and.contain('q."Order No"');
    expect(first('it names no customer (customer_id is empty)')).to.equal('orders.pending: customer_id IS NOT NULL');
  });

  it('names the setting of the field that a column makes', () => {
    expect(first('line 3: sku is empty; correct it in the ERP')).to.contain('orders.lines.text: skip');
    expect(first('line 3: price is empty; correct it in the ERP')).to.contain(
      'orders.lines.fields.price: [price, OTHER_COLUMN]',
    );
    expect(first('ship_at "soon" is not a date; correct it')).to.contain(
      "orders.query: make it one, such as NULLIF(ship_at, '')",
    );
    expect(first('due_at is 0000-00-00, which is no date, and ship_at is empty')).to.contain('orders.fields.due');
  });

  it('offers no setting that is set already, and no comparison that the database refuses', () => {
    const mapping = settings('postgres');
    const skips = { ...mapping, orders: { ...mapping.orders, lines: { ...mapping.orders.lines, text: 'skip' } } };
    expect(remediesFor('line 2: sku is empty; correct it', 'order', skips as Mapping)).to.deep.equal([
      'orders.lines.text: {sku: TEXT}, a SKU for lines without one',
    ]);
    const ofNumber = (value: string) =>
      first(`line 2: Qty "${value}" is not a number; correct it in the ERP`, undefined, 'postgres');
    expect(ofNumber('NaN')).to.contain(`NULLIF("Qty", 'NaN') or a CASE`);
    expect(ofNumber('-Infinity')).to.contain(`NULLIF("Qty", '-Infinity') or a CASE`);
    expect(ofNumber(' ')).to.contain(`NULLIF("Qty", '') or a CASE`);
    const empty = remediesFor('due_at is empty; correct it', 'order', mapping)[1];
    expect(empty).to.equal("or orders.pending: CAST(due_at AS TEXT) <> ''");
  });

  it('leaves out a line of nothing instead of its order, and an order with a negative line as a whole', () => {
    expect(first('line 2: qty 0.00 is not a positive quantity; leave it out')).to.equal(
      'orders.lines.query: leave out lines of nothing: SELECT l.* FROM (SELECT * FROM l) l WHERE l.qty <> 0',
    );
    for (const words of ['qty -2', '-2'])
      expect(first(`line 2: ${words} is not a positive quantity; keep it out`)).to.match(
        /^orders\.pending: NOT EXISTS .* AND l\.qty < 0\)$/,
      );
  });

  it('never rounds the price of a line by itself, which changes what the line comes to', () => {
    const of = (problem: string, lines: object = {}) => {
      const { orders, ...others } = settings('mysql');
      const changed = { ...others, orders: { ...orders, lines: { ...orders.lines, ...lines } } };
      return remediesFor(problem, 'order', changed as Mapping);
    };
    const price = 'line 1: price 0.0049 has more than 2 decimals; correct it';
    expect(of(price)).to.have.length(3);
    expect(of(price)[0]).to.match(/^orders\.lines\.amount: .* with orders\.lines\.rounding: {sku: ROUNDING}/);
    expect(of(price)[1]).to.match(
      /^or orders\.lines\.unit: {factor: 1}, with orders\.lines\.rounding: {sku: ROUNDING}/,
    );
    expect(of(price)[2]).to.match(/^then amounts\.rounding: .* by itself it changes the amount of the line/);
    // As it is written in the settings: the database may spell it in another way, and it may have a blank in it.
    const blank = { fields: { sku: 'sku', qty: 'qty', price: { column: ['own price', 'Price'], type: 'integer' } } };
    expect(of('line 1: PRICE 0.0049 has more than 2 decimals; correct it', blank)).to.deep.equal(of(price));
    expect(of('line 1: Own Price 0.49 has more than 2 decimals; correct it', blank)).to.deep.equal(of(price));
    // Cents with a fraction: as decimals they would be a hundred times as much.
    expect(of('line 1: price 0.49 is not a whole number; correct it', blank)).to.deep.equal(of(price));

    const amount = 'freight 4.9049 has more than 2 decimals; correct it';
    expect(of(amount)).to.have.length(1);
    expect(of(amount)[0]).to.match(/^amounts\.rounding: .* together with orders\.lines\.unit: {factor: 1}/);
    // Where prices are worked out from amounts, rounding is for amounts alone.
    const worked = { unit: { factor: 1n } };
    for (const problem of [amount, 'line 1: 3 × price "0.0049" has more than 2 decimals; correct it'])
      expect(of(problem, worked)).to.deep.equal(['amounts.rounding: half-up (or half-even)']);
  });

  it('is nothing where the problem says it itself', () => {
    expect(
      remediesFor('pay_code "X" has no word in orders.fields.pay.when; add it there', 'order', settings('mysql')),
    ).to.deep.equal([]);
  });
});
