import { expect } from 'chai';
import { alertChanges, writeAlertChanges } from '../../../src/daemon/watch-alerts.js';
import { type Confirmation, confirmHeld, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import { planResync } from '../../../src/operator/reconcile/plan-resync.js';
import { unfinishedAlerts } from '../../../src/store/alerts.js';
import { editSampleLine } from '../../support/change-sample-erp.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { expectAllAtService, statesOf } from '../../support/jobs/service-of.js';

/** The long form: WAYBILL_HOLD_ORDERS=5000 npx mocha dist/test/outbound/capture/apply-safety-limits.test.js */
const manyOrders = Number(process.env.WAYBILL_HOLD_ORDERS ?? 500);

onAnyLab('a hold', (kit) => {
  const changesAt = (lab: Lab) =>
    lab.sandbox.ledger().requests.filter(({ method }) => ['PATCH', 'PUT', 'DELETE'].includes(method));
  const alertsOf = () => kit.rows("SELECT detail FROM audit_log WHERE event='alert'");
  const openAlerts = () => kit.rows('SELECT cause FROM alert WHERE open_cause IS NOT NULL');
  const settled = async (options: Parameters<typeof kit.start>[0]) => {
    const lab = await kit.start(options);
    await lab.capture({ sweep: true });
    await lab.deliver();
    return lab;
  };
  const confirmed = async (lab: Lab, confirmation: Confirmation, keys?: string[]) => {
    const filter = keys ? { records: keys.map((sourceKey) => ({ entity: 'order' as const, sourceKey })) } : {};
    const { shown } = await summariseHeld(lab.context, filter);
    return (await confirmHeld(lab.context, filter, confirmation, shown, 'looked at it')).done;
  };
  const tenfold = (order: unknown) => {
    const { items, ...rest } = order as { items: { price: number }[] };
    return { ...rest, items: items.map((item) => ({ ...item, price: item.price * 10 })) };
  };
  /** Every price has another number of decimals: each order looks different, though nobody touched the ERP. */
  const otherMapping = { settings: { amounts: { currency: 'EUR', scale: 3 } } };

  it(`holds a mapping edit that touches ${manyOrders} orders, counts it by field, and sends it when a person says so`, async function () {
    this.timeout(240_000);
    const lab = await settled({ customers: 50, orders: manyOrders, settings: { capture: { pageSize: 100 } } });
    const expected = (await lab.expectedOrders()).size;
    const edited = lab.another(otherMapping);
    const plan = await planResync(edited.context, edited.reader, { entity: 'order' });
    expect(plan).to.deep.include({ updates: expected, creates: 0, fields: [{ field: 'items', count: expected }] });
    expect(plan).to.include({ held: expected, changed: 0, identical: 0 });

    const captured = await edited.capture({ sweep: true });
    expect(captured.held).to.equal(expected);
    expect((await edited.deliver()).attempts).to.equal(0);
    expect(changesAt(lab)).to.deep.equal([]);
    expect(await alertsOf()).to.have.length(1);
    expect(await openAlerts()).to.deep.equal([{ cause: 'held.order' }]);
    // Another pass holds nothing twice, and the plan still says the same.
    expect((await edited.capture({ sweep: true })).held).to.equal(0);
    expect((await planResync(edited.context, edited.reader, { entity: 'order' })).updates).to.equal(expected);

    expect(await confirmed(edited, 'send')).to.equal(expected);
    expect(await openAlerts()).to.deep.equal([]);
    await edited.deliver();
    expect(changesAt(lab)).to.have.length(expected);
    const { orders, duplicates } = lab.sandbox.ledger();
    const wanted = new Map([...(await lab.expectedOrders())].map(([number, order]) => [number, tenfold(order)]));
    expect(new Map(orders.map(({ reference, record }) => [reference, record]))).to.deep.equal(wanted);
    expect(duplicates).to.deep.equal([]);
  });

  it('sends a correction that it held behind a create that was refused then, once a person says so', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture({ sweep: true });
    const match = { method: 'POST', path: '/v1/orders' };
    lab.sandbox.setFaults([{ kind: 'status', status: 429, headers: { 'retry-after': '1' }, match, times: 1 }]);
    await lab.deliver({ retryHorizonMs: 0 });
    const edited = lab.another(otherMapping);
    expect((await edited.capture({ sweep: true })).held).to.equal(1);
    lab.sandbox.setFaults([{ kind: 'status', status: 400, match, times: 1 }]);
    await edited.deliver({ retryHorizonMs: 5_000 });
    expect(lab.sandbox.counts().orders).to.equal(0);

    expect(await confirmed(edited, 'send')).to.equal(1);
    await edited.deliver();
    expect(lab.sandbox.counts()).to.include({ orders: 1, duplicateReferences: 0 });
    const shapes = await kit.rows("SELECT operation, state FROM outbox_message WHERE entity='order' ORDER BY id");
    expect(shapes).to.deep.equal([
      { operation: 'create', state: 'superseded' },
      { operation: 'create', state: 'delivered' },
    ]);
  });

  it('takes a changed mapping as the new baseline without sending anything, and follows edits from there', async () => {
    const lab = (await settled({ orders: 6 })).another(otherMapping);
    await lab.capture({ sweep: true });
    const { summary } = await summariseHeld(lab.context, {});
    expect(await confirmed(lab, 'adopt')).to.equal(summary.held);
    await lab.capture({ sweep: true });
    expect((await lab.deliver()).attempts).to.equal(0);
    const [row] = await lab.readErp(
      "SELECT id FROM sales_orders WHERE status='confirmed' AND created_at>='2026-01-01' AND currency='EUR'",
    );
    await editSampleLine(lab.erp, Number(row?.id), 1, 77);
    expect((await lab.capture({ sweep: true })).held).to.equal(0);
    await lab.deliver();
    expect(changesAt(lab)).to.have.length(1);
  });

  it('leaves a record alone whose update was discarded, until it changes again', async () => {
    const lab = (await settled({ orders: 6 })).another(otherMapping);
    await lab.capture({ sweep: true });
    await confirmed(lab, 'discard');
    expect((await lab.capture({ sweep: true })).held).to.equal(0);
    expect((await lab.deliver()).attempts).to.equal(0);
  });

  it('holds more updates in a pass than maxUpdates, all of them, and creates go on', async () => {
    const lab = await settled({ customers: 2, orders: 30, settings: { capture: { maxUpdates: 5, pageSize: 4 } } });
    await lab.changeErp('UPDATE customers SET city=?', ['Weimar']);
    const rows = await lab.readErp(
      "SELECT id FROM sales_orders WHERE status='confirmed' AND created_at>='2026-01-01' AND currency='EUR'",
    );
    for (const { id } of rows.slice(0, 6)) await editSampleLine(lab.erp, Number(id), 1, 77);
    expect((await lab.capture({ sweep: true })).held).to.equal(6);
    await lab.deliver();
    expect(changesAt(lab).filter(({ path }) => path.startsWith('/v1/orders'))).to.deep.equal([]);
    expect(changesAt(lab).filter(({ path }) => path.startsWith('/v1/customers'))).to.not.be.empty;
    // A further edit of a held record stays held: nobody has looked yet.
    await editSampleLine(lab.erp, Number(rows[0]?.id), 1, 78);
    expect((await lab.capture({ sweep: true })).held).to.equal(1);
    expect(await confirmed(lab, 'send')).to.equal(6);
    await lab.deliver();
    await expectAllAtService(lab);
  });

  it('lets as many updates as maxUpdates go by themselves', async () => {
    const lab = await settled({ customers: 2, orders: 30, settings: { capture: { maxUpdates: 5 } } });
    const rows = await lab.readErp(
      "SELECT id FROM sales_orders WHERE status='confirmed' AND created_at>='2026-01-01' AND currency='EUR'",
    );
    for (const { id } of rows.slice(0, 5)) await editSampleLine(lab.erp, Number(id), 1, 77);
    expect((await lab.capture({ sweep: true })).held).to.equal(0);
    await lab.deliver();
    await expectAllAtService(lab);
    expect((await statesOf(kit)).parked ?? 0).to.equal(0);
  });

  it('lets a pass over a few records go alone, not what a pass over everything left when it was killed', async () => {
    const lab = await settled({ customers: 2, orders: 30, settings: { capture: { maxUpdates: 5, pageSize: 4 } } });
    const rows = await lab.readErp(
      "SELECT id FROM sales_orders WHERE status='confirmed' AND created_at>='2026-01-01' AND currency='EUR' ORDER BY id",
    );
    const keys = rows.slice(0, 10).map(({ id }) => String(id));
    for (const key of keys) await editSampleLine(lab.erp, Number(key), 1, 77);
    const power = new AbortController();
    const isWritten = ({ length }: readonly unknown[]) => length > 0 && power.abort();
    const killed = await lab.capture({ sweep: true, signal: power.signal, onTouched: isWritten });
    expect(killed.captured.orders).to.equal(4);

    const byKey = await lab.capture({ filter: { entity: 'order', keys: [keys[9] as string] } });
    const byLimit = await lab.capture({ limit: 1 });
    expect([byKey.captured.orders, byLimit.captured.orders, byKey.held, byLimit.held]).to.deep.equal([1, 1, 0, 0]);
    await lab.deliver();
    expect(changesAt(lab)).to.have.length(2);

    expect((await lab.capture({ sweep: true })).held).to.equal(8);
    await lab.deliver();
    expect(changesAt(lab)).to.have.length(2);
  });

  it('parks what a person did not say about: another record under an old key', async () => {
    const lab = await settled({ customers: 2, orders: 10 });
    const [row] = await lab.readErp(
      "SELECT id, order_no FROM sales_orders WHERE status='confirmed' AND created_at>='2026-01-01' AND currency='EUR'",
    );
    const key = String(row?.id);
    await lab.changeErp("UPDATE sales_orders SET order_no='NEW-1' WHERE id=?", [key]);
    await lab.capture({ sweep: true });
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(changesAt(lab)).to.deep.equal([]);
    const parked = await kit.rows(
      "SELECT park_class, reason_code, reason_data FROM outbox_message WHERE state='parked'",
    );
    expect(parked).to.have.length(1);
    expect(parked[0]).to.deep.include({ park_class: 'conflict' });
    expect(parked[0].reason).to.include(`another record under an old key: order_no was ${row?.order_no} and is NEW-1.`);

    // Releasing everything else is not this; only a person who names the key may overwrite.
    expect(await confirmed(lab, 'send')).to.equal(0);
    expect(await confirmed(lab, 'send', [key])).to.equal(1);
    // Before it has arrived, and after: it is the same record from here on.
    await lab.capture({ sweep: true });
    await lab.deliver();
    await expectAllAtService(lab);
    await lab.capture({ sweep: true });
    await lab.capture({ sweep: true });
    expect((await lab.deliver()).attempts).to.equal(0);
    expect((await statesOf(kit)).parked ?? 0).to.equal(0);
  });

  it('is not ended by a yes to something else, while the person looks at the list', async () => {
    const lab = await settled({
      customers: 8,
      orders: 9,
      settings: { capture: { maxUpdates: 5 }, orders: { onDeleted: 'delete' } },
    });
    await lab.changeErp("UPDATE customers SET city='Weimar'");
    await lab.capture({ sweep: true });
    const { summary, shown } = await summariseHeld(lab.context, {});
    expect(summary).to.deep.include({ held: 8, holds: [] });

    await lab.changeErp('CREATE TABLE kept AS SELECT * FROM sales_orders');
    await lab.changeErp('DELETE FROM sales_orders');
    await lab.capture();
    expect((await confirmHeld(lab.context, {}, 'send', shown, 'they moved')).done).to.equal(8);
    expect((await summariseHeld(lab.context, {})).summary.holds).to.have.length(1);
    for (let i = 0; i < 3; i++) {
      await lab.capture({ sweep: true });
      await lab.deliver();
    }
    expect(changesAt(lab).filter(({ method }) => method === 'DELETE')).to.deep.equal([]);
    expect(changesAt(lab)).to.have.length(8);

    await lab.changeErp('INSERT INTO sales_orders SELECT * FROM kept');
    await lab.capture({ sweep: true });
    await lab.deliver();
    await expectAllAtService(lab);
  });

  it('lets go only the messages that were shown, whatever their numbers', async () => {
    const lab = await settled({ customers: 3, orders: 3, settings: { capture: { maxUpdates: 1 } } });
    await lab.changeErp("UPDATE customers SET city='Weimar'");
    await lab.capture({ sweep: true });
    const { shown } = await summariseHeld(lab.context, {});
    // As if the end of a pass had held it since: written before what was shown, held after it.
    const [first, ...others] = [...shown.ids];
    await confirmHeld(lab.context, {}, 'send', { ...shown, ids: new Set(others) }, 'looked at it');
    const stillHeld = await kit.rows("SELECT id FROM outbox_message WHERE park_class='held'");
    expect(stillHeld.map(({ id }) => Number(id))).to.deep.equal([first]);
  });

  it('goes away by itself when the record reads again what the service has', async () => {
    const lab = await settled({ customers: 2, orders: 10 });
    const [row] = await lab.readErp(
      "SELECT id, order_no FROM sales_orders WHERE status='confirmed' AND created_at>='2026-01-01' AND currency='EUR'",
    );
    await lab.changeErp("UPDATE sales_orders SET order_no='NEW-1' WHERE id=?", [String(row?.id)]);
    await lab.capture({ sweep: true });
    await lab.changeErp('UPDATE sales_orders SET order_no=? WHERE id=?', [row?.order_no ?? '', String(row?.id)]);
    await lab.capture({ sweep: true });
    expect((await lab.deliver()).attempts).to.equal(0);
    expect((await statesOf(kit)).parked ?? 0).to.equal(0);
  });

  it('is told as over when what it held is taken back, and told again the next time', async () => {
    const lab = await settled({ customers: 4, orders: 4, settings: { capture: { maxUpdates: 2 } } });
    const cities = await lab.readErp('SELECT id, city FROM customers');
    const watch = () =>
      kit.store.transaction('watch', async (tx) => {
        const changes = await alertChanges(
          tx,
          lab.settings,
          Date.now(),
          (await unfinishedAlerts(tx)).filter(({ overAt }) => overAt === null),
        );
        if (changes) await writeAlertChanges(tx, changes, Date.now());
        return changes?.end ?? [];
      });
    for (const city of ['Weimar', 'Jena']) {
      await lab.changeErp('UPDATE customers SET city=?', [city]);
      await lab.capture({ sweep: true });
      expect(await watch()).to.deep.equal([]);
      expect((await openAlerts()).map(({ cause }) => cause)).to.include('held.customer');
      for (const one of cities)
        await lab.changeErp('UPDATE customers SET city=? WHERE id=?', [one.city as string, one.id as string]);
      await lab.capture({ sweep: true });
      expect(await watch()).to.include('held.customer');
      expect((await openAlerts()).map(({ cause }) => cause)).not.to.include('held.customer');
    }
    expect(await kit.rows("SELECT detail FROM audit_log WHERE event='alert' AND outcome='held'")).to.have.length(2);
  });
});
