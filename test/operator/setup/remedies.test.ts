import { expect } from 'chai';
import { mysqlDialect } from '../../../src/erp/dialects/mysql-erp.js';
import { postgresDialect } from '../../../src/erp/dialects/postgres-erp.js';
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

  it('is nothing where the problem says it itself', () => {
    expect(
      remediesFor('pay_code "X" has no word in orders.fields.pay.when; add it there', 'order', settings('mysql')),
    ).to.deep.equal([]);
  });
});
