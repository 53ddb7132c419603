import { expect } from 'chai';
import fc from 'fast-check';
import type { OrderItem } from '../../../src/model/record.js';
import { confirmHeld, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import { lostLines as lostFact } from '../../../src/outbound/capture/lost-lines.js';
import { tellWhole } from '../../../src/words/words.js';
import { onAnyLab } from '../../support/jobs/job-lab.js';

const item = (sku: string, qty = 1, price = 100): OrderItem => ({ sku, qty, price });
const own = new Set(['TEXT', 'ROUND']);
const agrees = (items: readonly OrderItem[]) => {
  const total = `${items.reduce((sum, { qty, price }) => sum + qty * price, 0)}`;
  return { lines: total, header: total };
};

const lostLines = (...given: Parameters<typeof lostFact>) => {
  const lost = lostFact(...given);
  return lost && tellWhole(lost);
};

describe('an order that loses a line', () => {
  const before = [item('A', 2), item('B'), item('C', 1, 0)];
  const judge = (now: OrderItem[], totals = null as ReturnType<typeof agrees> | null) =>
    lostLines(before, now, totals, own);

  it('is held where nothing proves that it was deleted', () => {
    expect(judge([item('A', 2), item('C', 1, 0)])).to.equal(
      'the service has 3 lines, and orders.lines.query yields 2: 1 × B would be gone. ' +
        'Look whether a condition or a join took them; if they were deleted in the ERP, confirm it.',
    );
    expect(judge([item('B')])).to.include('yields 1: 2 × A, 1 × C would be gone');
    expect(judge([item('A', 5), item('C', 1, 0)]), 'beside another change').to.include('1 × B would be gone');
  });

  it('goes on where the total of the order says so, which a line without an amount does not change', () => {
    const left = [item('A', 2), item('C', 1, 0)];
    expect(judge(left, agrees(left))).to.equal(null);
    expect(judge(left, { lines: '200', header: '300' })).to.include('1 × B would be gone');
    const without = [item('A', 2), item('B')];
    expect(judge(without, agrees(without))).to.include('1 × C would be gone');
  });

  it('is no other change: a quantity, a product, more lines, two that became one, lines of our own', () => {
    expect(judge([item('A', 1), item('B'), item('C', 1, 0)])).to.equal(null);
    expect(judge([item('A', 2), item('X'), item('C', 1, 0)])).to.equal(null);
    expect(judge([...before, item('D')])).to.equal(null);
    expect(lostLines([item('A', 1), item('A', 2)], [item('A', 3)], null, own)).to.equal(null);
    expect(lostLines([item('A'), item('ROUND'), item('TEXT')], [item('A')], null, own)).to.equal(null);
  });

  it('is told of whichever lines a filter takes', () => {
    const lines = fc.array(fc.record({ sku: fc.constantFrom('A', 'B', 'C'), qty: fc.integer({ min: 1, max: 9 }) }), {
      minLength: 2,
      maxLength: 6,
    });
    fc.assert(
      fc.property(lines, fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }), (given, keeps) => {
        const all = given.map(({ sku, qty }) => item(sku, qty));
        const left = all.filter((_, i) => keeps[i]);
        expect(lostLines(all, left, null, own) === null).to.equal(left.length === all.length);
      }),
    );
  });
});

onAnyLab('a delivered order whose lines query loses a line', (kit) => {
  /** Two orders with two lines each at the service; the product of each second line is one that only they have. */
  const start = async (orders: object = {}) => {
    const query =
      'SELECT l.order_id, l.line_no, p.sku, l.qty, l.unit_price FROM sales_order_lines l JOIN products p ON p.id=l.product_id';
    const lab = await kit.start({ settings: { orders: { lines: { query }, ...orders } } });
    const [{ id } = { id: '' }] = await lab.readErp(
      "SELECT id FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at>='2026-01-01' ORDER BY id LIMIT 1",
    );
    const key = String(id);
    await lab.changeErp("INSERT INTO products (id, sku, name, unit_price) VALUES (9001, 'LONE', 'Lone', 5)");
    await lab.changeErp(
      'INSERT INTO sales_order_lines (id, order_id, line_no, product_id, qty, unit_price) VALUES (9001, ?, 99, 9001, 1, 5)',
      [key],
    );
    await lab.changeErp('UPDATE sales_orders SET total=total+5 WHERE id=?', [key]);
    await lab.capture({ sweep: true });
    await lab.deliver();
    const skus = async () => {
      const [bound] = await kit.rows("SELECT service_id FROM binding WHERE entity='order' AND source_key=?", [key]);
      const order = lab.sandbox.ledger().orders.find(({ order_id }) => order_id === bound?.service_id);
      return order?.record.items.map(({ sku }) => sku) ?? [];
    };
    const held = () =>
      kit.rows(
        "SELECT source_key, reason_code, reason_data FROM outbox_message WHERE state='parked' AND park_class='held'",
      );
    return { lab, key, skus, held };
  };

  it('is held and said, and leaves the order as it is, when the product of a line is gone', async () => {
    const { lab, key, skus, held } = await start({ total: undefined });
    await lab.changeErp('UPDATE sales_order_lines SET product_id=NULL WHERE id=9001');
    const dry = await lab.capture({ dryRun: true });
    expect(dry.touched.map(({ parked }) => parked && tellWhole(parked)).join()).to.include('1 × LONE would be gone');
    expect(await lab.capture({ sweep: true })).to.include({ held: 1, parked: 1 });
    await lab.deliver();
    expect(await skus()).to.include('LONE');
    const [one] = await held();
    expect(one?.source_key).to.equal(key);
    expect(one?.reason).to.match(
      /^the service has \d+ lines, and orders\.lines\.query yields \d+: 1 × LONE would be gone/,
    );
    await lab.capture({ sweep: true });
    expect(await held(), 'said once').to.have.length(1);
  });

  it('is held where the total agrees, but the line had no amount in it', async () => {
    const { lab, key, skus, held } = await start();
    await lab.changeErp('UPDATE sales_order_lines SET unit_price=0 WHERE id=9001');
    await lab.changeErp('UPDATE sales_orders SET total=total-5 WHERE id=?', [key]);
    await lab.capture({ sweep: true });
    await lab.deliver();
    await lab.changeErp('UPDATE sales_order_lines SET product_id=NULL WHERE id=9001');
    await lab.capture({ sweep: true });
    expect(await held()).to.have.length(1);
    expect(await skus()).to.include('LONE');
  });

  it('is sent when a person says so, and taken back when the line is there again', async () => {
    const { lab, key, skus, held } = await start({ total: undefined });
    await lab.changeErp('UPDATE sales_order_lines SET product_id=NULL WHERE id=9001');
    await lab.capture({ sweep: true });
    await lab.changeErp('UPDATE sales_order_lines SET product_id=9001 WHERE id=9001');
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(await held()).to.deep.equal([]);
    expect(await skus()).to.include('LONE');
    await lab.changeErp('UPDATE sales_order_lines SET product_id=NULL WHERE id=9001');
    await lab.capture({ sweep: true });
    const { shown } = await summariseHeld(lab.context, {});
    await confirmHeld(lab.context, { records: [{ entity: 'order', sourceKey: key }] }, 'send', shown, 'it was deleted');
    await lab.deliver();
    expect(await skus()).not.to.include('LONE');
    await lab.capture({ sweep: true });
    expect(await held()).to.deep.equal([]);
  });

  for (const [how, orders] of [
    ['the total of the order proves it', {}],
    ['the settings say so', { total: undefined, onLinesLost: 'send' }],
  ] as const)
    it(`is an update where ${how}`, async () => {
      const { lab, key, skus, held } = await start(orders);
      await lab.changeErp('DELETE FROM sales_order_lines WHERE id=9001');
      await lab.changeErp('UPDATE sales_orders SET total=total-5 WHERE id=?', [key]);
      await lab.capture({ sweep: true });
      await lab.deliver();
      expect(await held()).to.deep.equal([]);
      expect(await skus()).not.to.include('LONE');
    });
});
