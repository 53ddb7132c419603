import { expect } from 'chai';
import type { CaptureResult } from '../../../src/outbound/capture/capture-result.js';
import { cancelSampleOrder, editSampleLine, insertSampleOrder } from '../../support/change-sample-erp.js';
import { type Lab, type LabKit, onAnyLab } from '../../support/jobs/job-lab.js';

const follows = {
  orders: { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete', onDeleted: 'delete' },
};

onAnyLab('a dry run', (kit) => {
  const delivered = async (capture: object = {}) => {
    const lab = await kit.start({
      customers: 3,
      orders: 12,
      settings: { ...follows, capture: { deletedAfterMinutes: 0, ...capture } },
    });
    await lab.capture({ sweep: true });
    await lab.deliver();
    return lab;
  };
  /** Which orders are where, and their ids. */
  const idsOf = async (lab: Lab) =>
    (await lab.readErp("SELECT id FROM sales_orders WHERE status='confirmed' ORDER BY id")).map(({ id }) => Number(id));

  it('shows what the next passes write: creates, updates, removals and what is withdrawn, each once', async () => {
    const lab = await delivered();
    const [edited, cancelled, deleted] = (await idsOf(lab)) as [number, number, number];
    const unsent = await insertSampleOrder(lab.erp);
    await lab.capture();
    await editSampleLine(lab.erp, edited, 1, 7);
    await cancelSampleOrder(lab.erp, cancelled);
    await cancelSampleOrder(lab.erp, unsent.id);
    await eraseOrder(lab, deleted);
    const fresh = await insertSampleOrder(lab.erp);

    const before = await everything(kit);
    const dry = await lab.capture({ dryRun: true });
    expect(await everything(kit)).to.deep.equal(before);
    expect(shown(dry)).to.deep.equal(
      [
        `order ${edited} update`,
        `order ${fresh.id} create`,
        `order ${cancelled} delete, cancelled`,
        `order ${deleted} delete, deleted`,
        `order ${unsent.id} withdraw, cancelled`,
      ].sort(),
    );
    expect(dry).to.deep.include({
      captured: { customers: 0, orders: 2 },
      removed: { customers: 0, orders: 3 },
      parked: 0,
      holds: [],
    });

    const passes = [await lab.capture({ sweep: true }), await lab.capture({ sweep: true })];
    expect(passes.flatMap(shown).sort()).to.deep.equal(shown(dry));
    expect(shown(await lab.capture({ dryRun: true }))).to.deep.equal([]);
  });

  it('judges orders that wait for their lines as if the wait were over, and says how many wait', async () => {
    const lab = await kit.start({ settings: { orders: { settleSeconds: 3600 } } });
    await lab.capture();
    const half = await insertSampleOrder(lab.erp, { customerId: 2 });
    await lab.changeErp('UPDATE sales_orders SET total=? WHERE id=?', ['25.00', half.id]);
    const dry = await lab.capture({ dryRun: true });
    expect(dry).to.deep.include({ captured: { customers: 0, orders: 1 }, waiting: 1, parked: 1 });
    expect(dry.touched[0]?.parked).to.deep.include({ code: 'lines_total_differs', expected: '2500', currency: 'EUR' });

    const byTheClock = lab.another({ settings: { orders: { total: undefined } } });
    const settled = await byTheClock.capture({ dryRun: true, limit: 1 });
    expect(settled).to.deep.include({ captured: { customers: 0, orders: 1 }, waiting: 1, parked: 0 });
    expect(await kit.rows('SELECT * FROM unsettled')).to.deep.equal([]);
  });

  it('counts the lines that are left out as texts, and the audit of each order does', async () => {
    const lab = await kit.start({ settings: { orders: { total: undefined, lines: { text: 'skip' } } } });
    const [first, second] = (await idsOf(lab)) as [number, number];
    const note = 'INSERT INTO sales_order_lines (id, order_id, line_no, product_id, qty, unit_price) VALUES';
    await lab.changeErp(`${note} (90001, ?, 91, NULL, 0, 0), (90002, ?, 92, NULL, 0, 0), (90003, ?, 91, NULL, 0, 0)`, [
      first,
      first,
      second,
    ]);
    const dry = await lab.capture({ dryRun: true });
    expect(dry).to.deep.include({ skippedLines: 3, parked: 0 });
    expect(await lab.capture()).to.deep.include({ skippedLines: 3, parked: 0 });
    const audit = await kit.rows("SELECT source_key, detail FROM audit_log WHERE event='captured' AND entity='order'");
    const counted = audit.flatMap(({ source_key: key, detail }) => {
      const { skippedLines } = JSON.parse(String(detail));
      return skippedLines === undefined ? [] : [`${key}: ${skippedLines}`];
    });
    expect(counted.sort()).to.deep.equal([`${first}: 2`, `${second}: 1`].sort());
    expect(await lab.capture({ sweep: true })).to.deep.include({
      captured: { customers: 0, orders: 0 },
      skippedLines: 0,
    });
  });

  it('says what would be put on hold', async () => {
    const lab = await delivered({ maxRemovals: 1, maxUpdates: 1 });
    const [first, second, third, fourth] = (await idsOf(lab)) as [number, number, number, number];
    await cancelSampleOrder(lab.erp, first);
    await editSampleLine(lab.erp, third, 1, 7);
    expect(await lab.capture({ dryRun: true })).to.deep.include({ held: 0, holds: [] });
    await cancelSampleOrder(lab.erp, second);
    await editSampleLine(lab.erp, fourth, 1, 7);
    const before = await everything(kit);
    const dry = await lab.capture({ dryRun: true });
    const reason = { code: 'too_many_removals', count: 2, limit: 1 };
    const holds = [{ code: 'changes_held', entity: 'order', source: null, held: 4, reason }];
    expect(dry).to.deep.include({ held: 4, parked: 4, holds });
    expect(await everything(kit)).to.deep.equal(before);
    expect(await lab.capture({ sweep: true })).to.deep.include({ held: 4, parked: 4, holds });
  });

  it('shows no removals from an ERP that is empty, and which hold comes', async () => {
    const lab = await delivered();
    await lab.changeErp('DELETE FROM sales_order_lines');
    await lab.changeErp('DELETE FROM sales_orders');
    expect(await lab.capture({ dryRun: true })).to.deep.include({ removed: { customers: 0, orders: 0 }, touched: [] });
    await lab.changeErp("UPDATE customers SET name='Another' WHERE id=1");
    const dry = await lab.capture({ dryRun: true });
    const reason = { code: 'source_empty' };
    expect(dry.holds).to.deep.equal([{ code: 'changes_held', entity: 'customer', source: null, held: 1, reason }]);
  });
});

async function eraseOrder(lab: Lab, id: number): Promise<void> {
  await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [id]);
  await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [id]);
}

function shown({ touched }: CaptureResult): string[] {
  const words = touched.map(
    ({ entity, sourceKey, operation, because }) =>
      `${entity} ${sourceKey} ${operation}${because ? `, ${because}` : ''}`,
  );
  return words.sort();
}

/** All rows that a pass writes. */
async function everything(kit: LabKit): Promise<unknown> {
  const tables = [
    ...['outbox_message', 'message_body', 'binding', 'audit_log', 'unsettled', 'capture_cursor', 'alert', 'lease'],
    ...['store_info', 'job_run', 'wake_up', 'lane_pause', 'attempt'],
  ];
  return Promise.all(tables.map((table) => kit.rows(`SELECT * FROM ${table} ORDER BY 1,2`)));
}
