import { expect } from 'chai';
import type { RowFact } from '../../../src/model/facts/rows.js';
import { outside } from '../../../src/model/outside.js';
import { type Preview, previewRecords } from '../../../src/operator/setup/preview/preview-records.js';
import { remedyFor } from '../../../src/words/words.js';
import { onAnyStore } from '../../store/stores.js';
import { type Lab, useLab } from '../../support/jobs/job-lab.js';
import type { Tree } from '../../support/merge-settings.js';

/** Problems of a row that end by themselves, or are several of the others. */
type WithoutOwnRemedy = 'lines_may_follow' | 'several_problems';

/** SQL on the one order of the ERP, whose lines are `sales_order_lines`, or settings. */
type Change = string | { settings: Tree };

/** The cause of a problem, and its remedy. */
interface Case {
  /** Settings beyond those of the lab. */
  settings?: Tree;
  breaks: Change;
  mends: Change;
}

const remark = (value: string) => `UPDATE sales_orders SET remark='${value}'`;
const qty = (value: string) => `UPDATE sales_order_lines SET qty='${value}'`;
const price = (value: string) => `UPDATE sales_order_lines SET unit_price='${value}'`;
const field = (column: object) => ({ orders: { fields: { ref: { column: 'remark', ...column } } } });
/** Lines with a column more: the remark of their order, or another value. */
const linesWith = (name: string, lines: Tree, value = 'o.remark') => ({
  orders: {
    lines: {
      query: `SELECT l.order_id, l.line_no, p.sku, l.qty, l.unit_price, ${value} AS ${name} FROM sales_order_lines l
        JOIN products p ON p.id=l.product_id JOIN sales_orders o ON o.id=l.order_id`,
      ...lines,
    },
  },
});
const currencies = (...listed: string[]) => ({
  invoices: { enabled: false },
  amounts: { currencies: listed },
  orders: { currency: { column: 'remark', field: 'currency' } },
});
const keyedBy = (column: string) => ({
  orders: {
    query: `SELECT *, ${column} AS own_key FROM sales_orders`,
    key: 'own_key',
    lines: {
      query: `SELECT o.${column} AS order_key, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l
        JOIN products p ON p.id=l.product_id JOIN sales_orders o ON o.id=l.order_id`,
      orderKey: 'order_key',
    },
  },
});
const numbers = (value: string) => `UPDATE sales_orders SET order_no='${value}'`;
const long = 'x'.repeat(300);

/** `key_ambiguous` needs keys that were captured, and a database that calls several equal: see odd-keys.test.ts. */
const cases: Record<Exclude<RowFact['code'], WithoutOwnRemedy | 'key_ambiguous'>, Case> = {
  value_missing: { settings: field({}), breaks: remark(''), mends: remark('R-1') },
  not_text: { settings: field({}), breaks: "UPDATE sales_orders SET remark='a'||char(0)||'b'", mends: remark('ab') },
  not_a_number: { breaks: price('abc'), mends: price('1.00') },
  not_whole: { breaks: qty('1.5'), mends: qty('2') },
  too_many_decimals: { breaks: price('1.005'), mends: price('1.00') },
  number_too_large: { breaks: price('999999999999999999'), mends: price('1.00') },
  not_a_date: { settings: field({ type: 'date' }), breaks: remark('soon'), mends: remark('2026-05-01') },
  neither_yes_nor_no: { settings: field({ type: 'boolean' }), breaks: remark('maybe'), mends: remark('yes') },
  code_without_word: {
    settings: field({ when: { A: 'first' } }),
    breaks: remark('B'),
    mends: { settings: field({ when: { A: 'first', B: 'second' } }) },
  },
  text_too_long: { settings: field({ maxLength: 3 }), breaks: remark('abcd'), mends: remark('abc') },
  name_too_long: { breaks: numbers(long), mends: numbers('A-9') },
  unit_without_factor: {
    settings: linesWith('uom', { unit: { column: 'uom', factors: { PCE: 1 } } }),
    breaks: remark('KG'),
    mends: { settings: linesWith('uom', { unit: { column: 'uom', factors: { PCE: 1, KG: 1 } } }) },
  },
  quantity_not_whole: { settings: { orders: { lines: { unit: { factor: 1 } } } }, breaks: qty('1.5'), mends: qty('2') },
  quantity_not_positive: {
    breaks: qty('-1'),
    mends: {
      settings: {
        orders: { pending: "status='confirmed' AND id NOT IN (SELECT order_id FROM sales_order_lines WHERE qty < 0)" },
      },
    },
  },
  discount_out_of_range: {
    settings: linesWith('off', { discount: { column: 'off', type: 'percent' } }),
    breaks: remark('150'),
    mends: remark('0'),
  },
  product_too_many_decimals: {
    settings: linesWith('off', { discount: { column: 'off', type: 'percent' } }),
    breaks: "UPDATE sales_orders SET remark='33'",
    mends: { settings: { amounts: { rounding: 'half-up' } } },
  },
  product_too_large: {
    settings: { orders: { lines: { unit: { factor: 1 } } } },
    breaks: "UPDATE sales_order_lines SET qty=9999999, unit_price='99999999999'",
    mends: "UPDATE sales_order_lines SET qty=1, unit_price='1.00'",
  },
  price_differs: {
    settings: linesWith('net', { amount: 'net' }),
    breaks: "UPDATE sales_orders SET remark='7.00'",
    mends: remark('1.01'),
  },
  no_price_for_amount: {
    settings: linesWith('net', { amount: 'net' }, "'1.00'"),
    breaks: "UPDATE sales_order_lines SET qty=3, unit_price='0.3333'",
    mends: { settings: { orders: { lines: { rounding: { sku: 'ROUNDING' } } } } },
  },
  currency_missing: { settings: currencies('JPY'), breaks: remark(''), mends: remark('EUR') },
  currency_not_listed: {
    settings: currencies('JPY'),
    breaks: remark('USD'),
    mends: { settings: currencies('JPY', 'USD') },
  },
  customer_not_named: {
    breaks: 'UPDATE sales_orders SET customer_id=NULL',
    mends: 'UPDATE sales_orders SET customer_id=(SELECT MIN(id) FROM customers)',
  },
  customer_not_found: {
    breaks: 'UPDATE sales_orders SET customer_id=9999',
    mends: 'UPDATE sales_orders SET customer_id=(SELECT MIN(id) FROM customers)',
  },
  customer_not_sendable: {
    breaks: "UPDATE customers SET customer_no='' WHERE id=(SELECT customer_id FROM sales_orders)",
    mends: "UPDATE customers SET customer_no='K-9' WHERE customer_no=''",
  },
  no_lines: {
    breaks: 'DELETE FROM sales_order_lines',
    mends: 'INSERT INTO sales_order_lines SELECT 1, o.id, 1, (SELECT MIN(id) FROM products), 1, 1 FROM sales_orders o',
  },
  lines_too_large: {
    breaks: "UPDATE sales_order_lines SET qty=1, unit_price='90071992547409.91'",
    mends: price('1.00'),
  },
  lines_total_differs: {
    settings: { orders: { total: 'total' } },
    breaks: 'UPDATE sales_orders SET total=77',
    mends: 'UPDATE sales_orders SET total=(SELECT SUM(qty * unit_price) FROM sales_order_lines)',
  },
  key_repeated: {
    breaks: { settings: { orders: { query: 'SELECT o.* FROM sales_orders o JOIN (SELECT 1 UNION SELECT 2) x' } } },
    mends: { settings: { orders: { query: 'SELECT o.* FROM sales_orders o' } } },
  },
  key_empty: { settings: keyedBy('remark'), breaks: remark(''), mends: remark('K-1') },
  field_required: {
    settings: { ...field({ optional: true }), service: { fields: { order: { ref: { required: true } } } } },
    breaks: remark(''),
    mends: remark('R-1'),
  },
  field_too_long: {
    settings: { ...field({}), service: { fields: { order: { ref: { maxLength: 2 } } } } },
    breaks: remark('abc'),
    mends: remark('ab'),
  },
  body_too_large: {
    settings: { ...field({}), service: { maxRequestBytes: 1_024 } },
    breaks: remark('x'.repeat(2_000)),
    mends: remark('R-1'),
  },
};

// The ERP is a SQLite file whatever the store: its columns take every value, and MariaDB's would refuse most of these.
onAnyStore('the remedy of a problem that a row has', (store) => {
  const kit = useLab(store, 'sqlite');
  for (const [code, { settings = {}, breaks, mends }] of Object.entries(cases))
    it(`mends ${code}`, async () => {
      const [order, ...others] = await start();
      expect(others).to.deep.equal([]);
      const broken = await change(lab.another({ settings }), breaks);
      const { causes } = await preview(broken);
      expect(
        causes.map(({ cause }) => cause.code),
        order,
      ).to.include(code);
      for (const { cause } of causes) expect(remedyFor(cause), cause.code).to.match(/^\S.*\.$/);
      const mended = await preview(await change(broken, mends));
      expect(mended.causes).to.deep.equal([]);
      expect(mended.orders.parked + mended.customers.parked).to.equal(0);
    });

  let lab: Lab;
  /** One order with two lines of 1 × 1.01, as its total says. */
  async function start(): Promise<string[]> {
    lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: { orders: { total: undefined, pending: "status='confirmed'" } },
    });
    const kept =
      "SELECT MIN(id) FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01'";
    await lab.changeErp(`DELETE FROM sales_order_lines WHERE order_id<>(${kept}) OR line_no>2`);
    await lab.changeErp(`DELETE FROM sales_orders WHERE id<>(${kept})`);
    await lab.changeErp('DELETE FROM sales_order_lines');
    for (const line of [1, 2])
      await lab.changeErp(
        `INSERT INTO sales_order_lines SELECT ${line}, id, ${line}, (SELECT MIN(id) FROM products), 1, '1.01' FROM sales_orders`,
      );
    await lab.changeErp("UPDATE sales_orders SET total='2.02', remark='0'");
    return (await lab.readErp('SELECT order_no FROM sales_orders')).map(({ order_no: number = '' }) => number);
  }
  async function change(under: Lab, made: Change): Promise<Lab> {
    if (typeof made === 'object') return under.another({ settings: made.settings });
    await lab.changeErp(made);
    return under;
  }
  const preview = (under: Lab): Promise<Preview> => previewRecords(under.context, under.reader, {});
});

describe('a problem that a row has without a remedy of its own', () => {
  it('ends by itself, or is several others', () => {
    const waits: RowFact = { code: 'lines_may_follow', settleSeconds: 5 };
    const problem: RowFact = { code: 'not_a_number', column: 'a', value: outside('x') };
    expect(remedyFor(waits)).to.equal(null);
    expect(remedyFor({ code: 'several_problems', problems: [problem, problem], count: 2 })).to.equal(
      remedyFor(problem),
    );
  });
});
