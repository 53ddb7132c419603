import { expect } from 'chai';
import { rekeyRecord } from '../../../src/operator/actions/rekey-record.js';
import { useStore } from '../../store/stores.js';
import { editSampleLine } from '../../support/change-sample-erp.js';
import { type Lab, type LabKit, useLab } from '../../support/jobs/job-lab.js';
import { say } from '../../support/jobs/say.js';
import type { Tree } from '../../support/merge-settings.js';

interface Retyping {
  name: string;
  /** The form in which the key is read. */
  orders?: Tree;
  /** Makes the key what it is before. */
  before?: string[];
  after: string[];
  /** The ERP calls the new keys equal to the old ones, so that each order goes on by itself. */
  isKnownAgain?: boolean;
}

const byDate = {
  key: ['order_date', 'order_no'],
  lines: {
    query: `SELECT o.order_date, o.order_no, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l
              JOIN sales_orders o ON o.id=l.order_id JOIN products p ON p.id=l.product_id`,
    orderKey: ['order_date', 'order_no'],
  },
};

const inBoth = (change: (table: string, column: string) => string[]) => [
  ...change('sales_orders', 'id'),
  ...change('sales_order_lines', 'order_id'),
];

const onMariaDb: Retyping[] = [
  {
    name: 'a number with decimals',
    isKnownAgain: true,
    after: inBoth((table, column) => [`ALTER TABLE ${table} MODIFY ${column} DECIMAL(12,2) NOT NULL`]),
  },
  {
    name: 'a number that is filled up with zeros',
    after: inBoth((table, column) => [`ALTER TABLE ${table} MODIFY ${column} INT(10) UNSIGNED ZEROFILL NOT NULL`]),
  },
  {
    name: 'a number, which was a text',
    before: inBoth((table, column) => [
      `ALTER TABLE ${table} MODIFY ${column} VARCHAR(40) NOT NULL`,
      `UPDATE ${table} SET ${column}=CONCAT('SO-', ${column})`,
    ]),
    after: inBoth((table, column) => [
      `UPDATE ${table} SET ${column}=SUBSTR(${column}, 4)`,
      `ALTER TABLE ${table} MODIFY ${column} INT NOT NULL`,
    ]),
  },
  {
    name: 'a time of day beside a date',
    orders: byDate,
    after: ['ALTER TABLE sales_orders MODIFY order_date DATETIME NOT NULL'],
  },
  {
    name: 'a short text, which was too long to be asked for',
    before: inBoth((table, column) => [
      `ALTER TABLE ${table} MODIFY ${column} VARCHAR(400) NOT NULL`,
      `UPDATE ${table} SET ${column}=CONCAT('${'K'.repeat(300)}', ${column})`,
    ]),
    after: inBoth((table, column) => [`UPDATE ${table} SET ${column}=SUBSTR(${column}, 300)`]),
  },
];

const onPostgres: Retyping[] = [
  {
    name: 'a number with decimals',
    isKnownAgain: true,
    after: inBoth((table, column) => [`ALTER TABLE ${table} ALTER ${column} TYPE NUMERIC(12,2)`]),
  },
  {
    name: 'a UUID',
    after: inBoth((table, column) => [
      `ALTER TABLE ${table} ALTER ${column} TYPE UUID USING md5(${column}::text)::uuid`,
    ]),
  },
  {
    name: 'a time of day beside a date',
    orders: byDate,
    after: ['ALTER TABLE sales_orders ALTER order_date TYPE TIMESTAMP(0)'],
  },
];

function retypedKeysTests(kit: LabKit, retypings: readonly Retyping[]): void {
  const works = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const run = async (lab: Lab, statements: readonly string[]) => {
    for (const sql of statements) await lab.changeErp(sql);
  };
  const open = () =>
    kit.rows(
      "SELECT source_key, state, reason_code, reason_data FROM outbox_message WHERE state NOT IN ('delivered','superseded')",
    );

  for (const { name, orders = {}, before = [], after, isKnownAgain = false } of retypings)
    it(`${isKnownAgain ? 'goes on' : 'waits for a person'} with each order: ${name}`, async () => {
      const first = await kit.start({ customers: 2, orders: 6, settings: { orders: { total: undefined, ...orders } } });
      await run(first, before);
      await works(first);
      const ids = first.sandbox.ledger().orders.map(({ order_id: id }) => id);
      await run(first, after);
      // A daemon is started anew after such a change.
      const lab = first.another({});
      for (let sweep = 0; sweep < 2; sweep++) await works(lab);
      const waiting = await open();
      expect(lab.sandbox.ledger().orders.map(({ order_id: id }) => id)).to.deep.equal(ids);
      expect(waiting).to.have.length(isKnownAgain ? 0 : ids.length);
      for (const { source_key: to, state, reason } of waiting) {
        expect(state).to.equal('parked');
        const from = /^renamed\? (.*) had this number/.exec(reason)?.[1] as string;
        await rekeyRecord(lab.context, lab.reader, { entity: 'order', from, to, reason: 'a test', dryRun: false });
      }
      await lab.changeErp('UPDATE sales_order_lines SET qty=9');
      await works(lab);
      expect(await open()).to.deep.equal([]);
      const known = lab.sandbox.ledger().orders;
      expect(known.map(({ order_id: id }) => id)).to.deep.equal(ids);
      expect(new Set(known.flatMap(({ record }) => record.items.map(({ qty }) => qty)))).to.deep.equal(new Set([9]));
    });

  it('goes on with its orders where the query writes the key as it was', async () => {
    const first = await kit.start({ customers: 2, orders: 6 });
    await works(first);
    const before = first.sandbox.ledger().requests.length;
    await run(first, retypings[0]?.after ?? []);
    await works(first.another({}));
    await say(kit, 'discard', { entity: 'order' });
    const query = `SELECT CAST(id AS ${kit.erpType === 'mysql' ? 'SIGNED' : 'integer'}) AS id, order_no, customer_id, status,
                          order_date, currency, total, remark, created_at, updated_at FROM sales_orders`;
    const lab = first.another({ settings: { orders: { query } } });
    await works(lab);
    const [{ source_key: edited }] = await kit.rows("SELECT source_key FROM binding WHERE entity='order'");
    await editSampleLine(lab.erp, Number(edited), 1, 9);
    await works(lab);
    const requests = lab.sandbox.ledger().requests.slice(before);
    expect(requests.map(({ method }) => method)).to.deep.equal(['PATCH']);
  });
}

describe('an ERP whose key of orders becomes another type (MariaDB)', () =>
  retypedKeysTests(useLab(useStore('mysql')), onMariaDb));
describe('an ERP whose key of orders becomes another type (SQLite, the ERP on PostgreSQL)', () =>
  retypedKeysTests(useLab(useStore('sqlite'), 'postgres'), onPostgres));
