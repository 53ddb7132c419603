import { expect } from 'chai';
import { recover } from '../../../src/operator/recover.js';
import { presumeSent } from '../../../src/outbound/recovery/recover-messages.js';
import { insertRows } from '../../../src/store/rows.js';
import { cancelSampleOrder, editSampleLine, insertSampleOrder, wallTimeNow } from '../../support/change-sample-erp.js';
import { forged } from '../../support/forged.js';
import { askAsAnother } from '../../support/jobs/ask-as-another.js';
import { type Lab, type LabOptions, onAnyLab } from '../../support/jobs/job-lab.js';
import { copyStore, exportOf, exportRows, holdAsLost, loseEverything } from '../../support/jobs/lost-store.js';
import { say } from '../../support/jobs/say.js';
import { expectAllAtService } from '../../support/jobs/service-of.js';
import { withMethod } from '../../support/jobs/with-method.js';

onAnyLab('what a recovery takes for proven', (kit) => {
  const removing = { orders: { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete' } };
  const start = async (options: LabOptions = {}): Promise<Lab> => {
    const lab = await kit.start({ customers: 1, orders: 3, ...options });
    await send(lab);
    return lab;
  };
  const send = async (lab: Lab) => {
    await lab.capture({ sweep: true });
    await lab.deliver();
  };
  const comesBack = (lab: Lab, id: number) =>
    lab.changeErp("UPDATE sales_orders SET status='confirmed', updated_at=? WHERE id=?", [wallTimeNow(), id]);
  /** Its total is not that of its lines any more. */
  const changesInThisMoment = (lab: Lab, orderNo: string) => {
    return lab.changeErp('UPDATE sales_orders SET total=total+1, updated_at=? WHERE order_no=?', [
      wallTimeNow(),
      orderNo,
    ]);
  };
  const creates = (lab: Lab) =>
    lab.sandbox.ledger().requests.filter(({ method, path }) => method === 'POST' && path === '/v1/orders').length;
  const messagesOf = (id: number) =>
    kit.rows("SELECT * FROM outbox_message WHERE entity='order' AND source_key=? ORDER BY revision", [String(id)]);
  const parked = { to: 'parked' } as const;
  const recoverWith = (lab: Lab, rows: Parameters<typeof exportOf>[0] | null) =>
    recover(lab.context, lab.reader, { fate: parked, bindings: rows && exportOf(rows), reason: 'a test' });
  const aboutOrder = (id: number) => ({ keys: [String(id)], entity: 'order' as const });
  const sendNewOrder = async (lab: Lab): Promise<number> => {
    const { id } = await insertSampleOrder(lab.erp, {});
    await send(lab);
    return id;
  };
  const sendRemoval = async (lab: Lab, id: number) => {
    await cancelSampleOrder(lab.erp, id);
    await send(lab);
  };
  const sendReturn = async (lab: Lab, id: number) => {
    await comesBack(lab, id);
    await send(lab);
  };
  const captureEdits = async (lab: Lab, id: number, times: number) => {
    for (let quantity = 5; quantity < 5 + times; quantity++) {
      await editSampleLine(lab.erp, id, 1, quantity);
      await lab.capture({ sweep: true });
    }
  };
  const sendsNoCreate = async (lab: Lab) => {
    const before = creates(lab);
    await send(lab);
    expect(creates(lab)).to.equal(before);
    await expectAllAtService(lab);
  };
  /** Its next removal, and its next return, have keys that no store has used. */
  const leavesAndReturns = async (lab: Lab, id: number) => {
    await sendRemoval(lab, id);
    await sendReturn(lab, id);
    await expectAllAtService(lab);
  };
  /** As the check of the witness does. */
  const presumeAllSent = () => kit.store.transaction('presume', (tx) => presumeSent(tx, Date.now()));
  /** The copy is put back, and what was exported meanwhile is imported. */
  const recoverCopy = async (lab: Lab, restore: () => Promise<void>, rows: Parameters<typeof exportOf>[0]) => {
    await restore();
    await holdAsLost(kit);
    return recoverWith(lab, rows);
  };

  it('not that a row was never sent which could not be mapped in that moment', async () => {
    const lab = await start();
    const [order] = lab.sandbox.ledger().orders;
    const [row] = await lab.readErp(`SELECT id FROM sales_orders WHERE order_no='${order?.reference}'`);
    const id = Number(row?.id);
    const rows = (await exportRows(kit)).filter((row) => row.entity !== 'order' || row.source_key !== String(id));
    await loseEverything(kit);
    await lab.changeErp('UPDATE sales_order_lines SET qty=1.5 WHERE order_id=? AND line_no=1', [id]);
    await holdAsLost(kit);
    await recoverWith(lab, rows);
    await editSampleLine(lab.erp, id, 1, 7);
    const before = creates(lab);
    await send(lab);
    await send(lab);
    expect(creates(lab)).to.equal(before);
    expect(
      (await messagesOf(id)).find(({ operation, state }) => operation === 'create' && state === 'parked'),
    ).to.include({ park_class: 'unproven' });
    await say(kit, 'delivered', aboutOrder(id), order?.order_id ?? null);
    await send(lab);
    await expectAllAtService(lab);
  });

  it('not that a row was never sent which waits for its lines in that moment', async () => {
    const lab = await start({ settings: { orders: { settleSeconds: 3 } } });
    const [order] = lab.sandbox.ledger().orders;
    await loseEverything(kit);
    await changesInThisMoment(lab, order?.reference ?? '');
    await holdAsLost(kit);
    await recoverWith(lab, null);
    expect(await kit.rows('SELECT source_key FROM unsettled')).to.deep.equal([]);
    const before = creates(lab);
    await lab.changeErp('UPDATE sales_orders SET total=total-1 WHERE order_no=?', [order?.reference ?? '']);
    await send(lab);
    expect(creates(lab)).to.equal(before);
  });

  it('that a record is there which a copy knows to be removed, when it came back since', async () => {
    const lab = await start({ settings: removing });
    const id = await sendNewOrder(lab);
    await sendRemoval(lab, id);
    const restore = await copyStore(kit);
    await sendReturn(lab, id);
    await expectAllAtService(lab);
    const rows = await exportRows(kit);
    await recoverCopy(lab, restore, rows);
    await editSampleLine(lab.erp, id, 1, 9);
    await sendsNoCreate(lab);
    await leavesAndReturns(lab, id);
  });

  it('that a record came back, also when it is cancelled again before anything else is said of it', async () => {
    const lab = await start({ settings: removing });
    const id = await sendNewOrder(lab);
    await sendRemoval(lab, id);
    const restore = await copyStore(kit);
    await sendReturn(lab, id);
    const rows = await exportRows(kit);
    await cancelSampleOrder(lab.erp, id);
    await recoverCopy(lab, restore, rows);
    await send(lab);
    await expectAllAtService(lab);
  });

  it('that a removal has ended which a copy was in doubt of, when the record came back since', async () => {
    const lab = await start({ settings: removing });
    const id = await sendNewOrder(lab);
    await cancelSampleOrder(lab.erp, id);
    await lab.capture({ sweep: true });
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'DELETE' } }]);
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    expect((await messagesOf(id)).at(-1)).to.include({ operation: 'delete', state: 'in_doubt' });
    const restore = await copyStore(kit);
    await lab.deliver();
    await sendReturn(lab, id);
    // In a large file the line that says what was removed comes hundreds of lines later.
    const rows = (await exportRows(kit)).filter((row) => !('closed_at' in row));
    await recoverCopy(lab, restore, rows);
    lab.sandbox.forgetKeys();
    await send(lab);
    await expectAllAtService(lab);
  });

  it('that an update has ended which a copy was sending, when the record is gone since', async () => {
    const lab = await start({ settings: removing });
    const id = await sendNewOrder(lab);
    await editSampleLine(lab.erp, id, 1, 5);
    await lab.capture({ sweep: true });
    await kit.store.transaction('as in the middle of a request', (tx) =>
      tx.run(
        `UPDATE outbox_message SET ${forged.sending}, was_sent=1, first_sent_at=?, claimed_at=?, claim_epoch=7, attempts=1 WHERE state='pending'`,
        [Date.now(), Date.now()],
      ),
    );
    const restore = await copyStore(kit);
    await kit.store.transaction('it arrived', (tx) =>
      tx.run(`UPDATE outbox_message SET ${forged.delivered} WHERE state='sending'`),
    );
    await sendRemoval(lab, id);
    const rows = await exportRows(kit);
    await comesBack(lab, id);
    await recoverCopy(lab, restore, rows);
    expect(
      await kit.rows("SELECT purpose, epoch FROM attempt WHERE verdict='unknown'"),
      'it may have been sent',
    ).to.deep.equal([{ purpose: 'update', epoch: 7 }]);
    await say(kit, 'not_delivered', aboutOrder(id));
    await send(lab);
    await expectAllAtService(lab);
  });

  it('that a create of a copy was acknowledged, when an export says so', async () => {
    const lab = await kit.start({ customers: 1, orders: 2 });
    await lab.capture({ sweep: true });
    const restore = await copyStore(kit);
    await lab.deliver();
    const rows = await exportRows(kit);
    const { bindings } = await recoverCopy(lab, () => restore().then(presumeAllSent), rows);
    expect(bindings.closed).to.equal(rows.length);
    await sendsNoCreate(lab);
  });

  for (const changes of [0, 1, 3])
    it(`that a record is gone which a copy knows to be there, with ${changes} changes captured since`, async () => {
      const lab = await start({ settings: removing });
      const id = await sendNewOrder(lab);
      const restore = await copyStore(kit);
      await sendRemoval(lab, id);
      const rows = await exportRows(kit);
      await comesBack(lab, id);
      await restore();
      await captureEdits(lab, id, changes);
      await holdAsLost(kit);
      expect((await recoverWith(lab, rows)).bindings.removed).to.equal(1);
      const [newest] = (await messagesOf(id)).reverse();
      expect(newest).to.include({ operation: 'create', generation: 1, park_class: 'unproven' });
      await say(kit, 'not_delivered', aboutOrder(id));
      await lab.deliver();
      await expectAllAtService(lab);
    });

  it('no field of what an operator sends again', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture({ sweep: true });
    const [message] = await kit.rows(
      `SELECT m.source_key, m.idempotency_key, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id
        WHERE m.entity='order'`,
    );
    const [customer] = await kit.rows(
      `SELECT m.idempotency_key, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id
        WHERE m.entity='customer'`,
    );
    await askAsAnother(lab, 'POST', '/v1/customers', customer.idempotency_key, JSON.parse(customer.record));
    const created = await askAsAnother(lab, 'POST', '/v1/orders', message.idempotency_key, JSON.parse(message.record));
    const items = [{ sku: 'SKU-0001', qty: 9, price: 100 }];
    await askAsAnother(lab, 'PATCH', `/v1/orders/${created.order_id}`, 'of-the-lost-store', { items });
    await presumeAllSent();
    await holdAsLost(kit);
    await recoverWith(lab, null);
    await say(kit, 'retry', { parkClass: 'unproven' });
    await lab.deliver();
    await lab.capture();
    await lab.deliver();
    await expectAllAtService(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(1);
  });

  it('that a record is gone which one export knows as removed, and as there again', async () => {
    const lab = await start({ settings: removing });
    const id = await sendNewOrder(lab);
    const restore = await copyStore(kit);
    await sendRemoval(lab, id);
    await sendReturn(lab, id);
    const rows = await exportRows(kit);
    await restore();
    // The copy has gone on by itself since: what it says of the record is newer than the removal, by its count.
    await captureEdits(lab, id, 3);
    await holdAsLost(kit);
    expect((await recoverWith(lab, rows)).bindings).to.include({ removed: 0, imported: 1 });
    await sendsNoCreate(lab);
    await leavesAndReturns(lab, id);
  });

  it('no key of a change that a copy had captured, when the record was removed and came back since', async () => {
    const lab = await start({ settings: removing });
    const id = await sendNewOrder(lab);
    await editSampleLine(lab.erp, id, 1, 5);
    await lab.capture({ sweep: true });
    const restore = await copyStore(kit);
    await sendRemoval(lab, id);
    await sendReturn(lab, id);
    await recoverCopy(lab, restore, await exportRows(kit));
    const [exported] = await kit.rows('SELECT revision FROM binding WHERE source_key=?', [String(id)]);
    await send(lab);
    // The next export is not taken for older than this one.
    const [next] = await kit.rows('SELECT revision FROM binding WHERE source_key=?', [String(id)]);
    expect(next.revision).to.be.greaterThan(exported.revision);
    await leavesAndReturns(lab, id);
  });

  it('no yes to a change that was on hold in a copy, whatever was sent since', async () => {
    const lab = await start();
    const id = await sendNewOrder(lab);
    const restore = await copyStore(kit);
    await captureEdits(lab, id, 1);
    await lab.deliver();
    const rows = await exportRows(kit);
    await restore();
    await editSampleLine(lab.erp, id, 1, 50);
    await lab.capture({ sweep: true });
    await kit.store.transaction('as a hold leaves it', (tx) =>
      tx.run(
        `UPDATE outbox_message SET ${forged.parked}, park_class='held', reason_code='legacy', reason_data='{"text":{"outside":"many"}}' WHERE state='pending'`,
      ),
    );
    await holdAsLost(kit);
    await recoverWith(lab, rows);
    await send(lab);
    expect((await messagesOf(id)).at(-1)).to.include({ operation: 'update', park_class: 'held', reason: 'many' });
  });

  it('that every field of an adopted record may be said, because a copy had one to say', async () => {
    const lab = await start();
    const id = await sendNewOrder(lab);
    const adoption = { source_key: String(id), adopted_from: 'file', adopted_at: 1, actor: 'test', differs: null };
    await kit.store.transaction('as adopted by a file', (tx) =>
      insertRows(tx, 'adoption', [{ entity: 'order', service_id: 'ord', ...adoption }]),
    );
    await captureEdits(lab, id, 1);
    expect((await messagesOf(id)).at(-1)).to.include({ operation: 'update', state: 'pending' });
    await holdAsLost(kit);
    await recoverWith(lab, null);
    expect((await messagesOf(id)).at(-1)).to.include({ operation: 'update', park_class: 'held' });
  });

  it('that a change is not wanted which was discarded in a copy, when it was said again since, and something newer', async () => {
    const lab = await start();
    const id = await sendNewOrder(lab);
    const [line] = await lab.readErp(`SELECT qty FROM sales_order_lines WHERE order_id=${id} AND line_no=1`);
    await editSampleLine(lab.erp, id, 1, Number(line?.qty) + 1);
    await lab.capture({ sweep: true });
    await say(kit, 'discard', aboutOrder(id));
    expect((await messagesOf(id)).at(-1)).to.include({ operation: 'update', state: 'discarded' });
    const restore = await copyStore(kit);
    await editSampleLine(lab.erp, id, 1, Number(line?.qty) + 2);
    await send(lab);
    const rows = await exportRows(kit);
    await editSampleLine(lab.erp, id, 1, Number(line?.qty) + 1);
    await recoverCopy(lab, restore, rows);
    await send(lab);
    await expectAllAtService(lab);
  });

  it('no field of what a person finds at the service while the recovery runs', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await send(lab);
    const [order] = lab.sandbox.ledger().orders;
    const [{ source_key: key }] = await kit.rows("SELECT source_key FROM binding WHERE entity='order'");
    await editSampleLine(lab.erp, Number(key), 1, 9);
    await send(lab);
    await loseEverything(kit);
    await lab.capture({ sweep: true });
    await kit.store.transaction('as one that a person has to look at', (tx) =>
      tx.run(
        `UPDATE outbox_message SET ${forged.parked}, park_class='unproven', was_sent=1, first_sent_at=NULL WHERE entity='order'`,
      ),
    );
    await holdAsLost(kit);
    const findMeanwhile = withMethod(lab.reader, 'nowAsChangedAt', async (...given) => {
      const [open] = await kit.rows("SELECT state FROM outbox_message WHERE entity='order'");
      if (open.state === 'parked') await say(kit, 'delivered', aboutOrder(Number(key)), order?.order_id ?? null);
      return lab.reader.nowAsChangedAt(...given);
    });
    await recover(lab.context, findMeanwhile, { fate: parked, bindings: null, reason: 'a test' });
    const [{ content_hash: believed }] = await kit.rows("SELECT content_hash FROM binding WHERE entity='order'");
    expect(believed).to.equal(null);
  });

  for (const isBound of [true, false])
    it(`nothing of a ${isBound ? 'bound' : 'captured'} order that waits for its lines: nobody waits for it`, async () => {
      const lab = await kit.start({ customers: 1, orders: 1, settings: { orders: { settleSeconds: 600 } } });
      await send(lab);
      const [{ source_key: key }] = await kit.rows("SELECT source_key FROM binding WHERE entity='order'");
      const rows = await exportRows(kit);
      await loseEverything(kit);
      if (!isBound) await lab.capture({ sweep: true });
      await editSampleLine(lab.erp, Number(key), 1, 9);
      await changesInThisMoment(lab, lab.sandbox.ledger().orders[0]?.reference ?? '');
      await holdAsLost(kit);
      await recoverWith(lab, isBound ? rows : null);
      expect(await kit.rows('SELECT source_key FROM unsettled')).to.deep.equal([{ source_key: key }]);
    });
});
