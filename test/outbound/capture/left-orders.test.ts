import { expect } from 'chai';
import { outside } from '../../../src/model/outside.js';
import { tellStory } from '../../../src/operator/tell-story.js';
import { leftAlert } from '../../../src/outbound/capture/left-orders.js';
import { describeStory } from '../../../src/telling/describe-story.js';
import { tellWhole } from '../../../src/words/words.js';
import { alertsInWords } from '../../support/alerts.js';
import { editSampleLine } from '../../support/change-sample-erp.js';
import { onSqliteLabAnd } from '../../support/jobs/job-lab.js';

onSqliteLabAnd('postgres', 'an order of the service that is not pending any more', (kit) => {
  const completed = { column: 'status', values: ['shipped', 'invoiced'] };
  const start = async (orders: object = { completed }) => {
    const cancelled = { column: 'status', values: ['cancelled'] };
    const lab = await kit.start({ settings: { orders: { cancelled, onCancelled: 'delete', ...orders } } });
    await lab.capture({ sweep: true });
    await lab.deliver();
    const keys = (await kit.rows("SELECT source_key FROM binding WHERE entity='order' ORDER BY source_key")).map(
      (row) => String(row.source_key),
    );
    const set = (key: string | undefined, status: string) =>
      lab.changeErp('UPDATE sales_orders SET status=? WHERE id=?', [status, key ?? '']);
    const left = () => kit.rows('SELECT source_key, reason_code, reason_data FROM left_order ORDER BY source_key');
    const alerts = async () => (await alertsInWords(kit)).map(({ cause, message }) => `${cause}: ${message}`);
    return { lab, keys, set, left, alerts };
  };

  it('is told apart: cancelled is removed, completed is well, and anything else is for a person', async () => {
    const { lab, keys, set, left, alerts } = await start();
    const [cancelled, shipped, strange] = keys;
    await set(cancelled, 'cancelled');
    await set(shipped, 'shipped');
    await set(strange, 'on hold');
    const pass = await lab.capture({ sweep: true });
    expect(pass.removed).to.deep.equal({ customers: 0, orders: 1 });
    expect(await left()).to.deep.equal([{ source_key: strange, reason: 'status is "on hold"' }]);
    expect(await alerts()).to.deep.equal([
      `left.order: 1 order that the service has is not pending any more, and nothing says that it was cancelled or completed: ${strange} (status is "on hold"). ` +
        'Nothing was sent. Correct orders.pending, or name the value in orders.completed or orders.cancelled.',
    ]);
    await lab.deliver();
    expect(lab.sandbox.ledger().orders).to.have.length(keys.length - 1);

    const story = await kit.store.read('look', (tx) => tellStory(tx, 'order', String(strange)));
    const words = describeStory(story, {
      nowMs: 0,
      keyLifetimeMs: 1,
      maxProcessingMs: 1,
      canLookUpOrders: false,
      pauses: [],
      notLive: null,
      time: String,
    });
    expect(words.why.join()).to.include('It is not pending in the ERP any more').and.include('status is "on hold"');
    const audited = () => kit.rows("SELECT source_key, outcome FROM audit_log WHERE event='left_pending' ORDER BY id");
    expect(await audited()).to.deep.equal([{ source_key: strange, outcome: 'unexplained' }]);
    await lab.capture({ sweep: true });
    expect(await audited(), 'said once').to.have.length(1);
  });

  it('is settled by each of the advices: it is pending again, or its value is named', async () => {
    const { lab, keys, set, left, alerts } = await start();
    const [back, named] = keys;
    await set(back, 'on hold');
    await set(named, 'archived');
    await lab.capture({ sweep: true });
    expect(await left()).to.have.length(2);
    await set(back, 'confirmed');
    await lab.capture({ sweep: true });
    expect(await left()).to.deep.equal([{ source_key: named, reason: 'status is "archived"' }]);
    const another = lab.another({ settings: { orders: { completed: { ...completed, values: ['archived'] } } } });
    await another.capture({ sweep: true });
    expect(await left()).to.deep.equal([]);
    expect(await alerts()).to.deep.equal([]);
    const outcomes = await kit.rows("SELECT outcome FROM audit_log WHERE event='left_pending' ORDER BY id");
    expect(outcomes.map(({ outcome }) => outcome)).to.deep.equal(['unexplained', 'unexplained', 'settled', 'settled']);
  });

  it('counts a filter that takes very many as one trouble', async () => {
    const { lab, keys, left, alerts } = await start();
    const wrong = lab.another({ settings: { orders: { pending: "status = 'confirmed' AND currency = 'USD'" } } });
    await wrong.capture({ sweep: true });
    expect(await left()).to.have.length(keys.length);
    expect((await alerts()).join('\n')).to.include(
      `left.order: ${keys.length} orders that the service has are not pending`,
    );
    expect((await alerts()).join('\n')).to.include(`and ${keys.length - 5} more`);
    await lab.capture({ sweep: true });
    expect(await left()).to.deep.equal([]);
    expect((await alerts()).filter((text) => text.startsWith('left.order'))).to.deep.equal([]);
  });

  it('says nothing where the settings do not tell, of an order that was never sent, or in a dry run', async () => {
    const { lab, keys, set, left } = await start({});
    const [one] = keys;
    await set(one, 'on hold');
    await lab.capture({ sweep: true });
    expect(await left()).to.deep.equal([]);
    const tells = lab.another({ settings: { orders: { completed } } });
    await tells.capture({ dryRun: true });
    expect(await left()).to.deep.equal([]);
    await tells.capture({ sweep: true });
    expect(await left()).to.have.length(1);
    await lab.capture({ sweep: true });
    expect(await left(), 'it is switched off').to.deep.equal([]);
  });

  it('is found where its status is NULL, and beside a change of it that is read no more', async () => {
    const { lab, keys, left } = await start({
      query:
        "SELECT id, order_no, customer_id, CASE WHEN status='lost' THEN NULL ELSE status END AS status, order_date, currency, total, created_at, updated_at FROM sales_orders",
      completed,
    });
    const [one] = keys;
    await editSampleLine(lab.erp, Number(one), 1, 9);
    await lab.changeErp("UPDATE sales_orders SET status='lost' WHERE id=?", [one ?? '']);
    await lab.capture({ sweep: true });
    expect(await left()).to.deep.equal([{ source_key: one, reason: 'status is empty' }]);
  });
});

describe('orders that left', () => {
  it('are named up to five, and counted beyond', () => {
    const of = (count: number) =>
      new Map(
        Array.from(
          { length: count },
          (_, i) => [`${i}`, { code: 'left_with_status', column: 'status', value: outside('x') }] as const,
        ),
      );
    expect(leftAlert(of(0), '')).to.equal(null);
    const alert = leftAlert(of(7), '');
    expect(alert && tellWhole(alert))
      .to.include('7 orders that the service has are')
      .and.include('4 (status is "x"), and 2 more.');
  });
});
