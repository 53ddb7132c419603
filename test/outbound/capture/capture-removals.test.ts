import { expect } from 'chai';
import { legacy } from '../../../src/model/facts/fact.js';
import { confirmHeld, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import { decideForMessages, matchingIds } from '../../../src/operator/actions/operated-messages.js';
import type { MessageFilter } from '../../../src/operator/list-messages.js';
import { capture } from '../../../src/outbound/capture/capture.js';
import { createKey } from '../../../src/outbound/outbox/idempotency-key.js';
import { readClock } from '../../../src/store/clock.js';
import { sweepAtNextPass } from '../../../src/store/job-runs.js';
import { pauseLane, resumeLane } from '../../../src/store/lane-pauses.js';
import { storyTimeline } from '../../../src/telling/story-timeline.js';
import { cancelSampleOrder, editSampleLine, insertSampleOrder, wallTimeNow } from '../../support/change-sample-erp.js';
import { explained } from '../../support/explained.js';
import { forged } from '../../support/forged.js';
import { askAsAnother } from '../../support/jobs/ask-as-another.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { expectAllAtService, expectOneBodyPerKey, statesOf } from '../../support/jobs/service-of.js';
import { withMethod } from '../../support/jobs/with-method.js';
import { waitFor } from '../../support/wait-for.js';

const marked = (more: object = {}) => ({
  settings: { orders: { cancelled: { column: 'status', values: ['cancelled'] }, ...more } },
});
const deletes = marked({ onCancelled: 'delete', onDeleted: 'delete' });

onAnyLab('an order that is removed', (kit) => {
  const changesAt = (lab: Lab) =>
    lab.sandbox.ledger().requests.filter(({ method }) => ['PATCH', 'PUT', 'DELETE'].includes(method));
  const shapeOf = async (key: number) =>
    (
      await kit.rows(
        "SELECT operation, state FROM outbox_message WHERE entity='order' AND source_key=? ORDER BY revision",
        [String(key)],
      )
    ).map(({ operation, state }) => `${operation} ${state}`);
  const settled = async (options: Parameters<typeof kit.start>[0] = {}) => {
    const lab = await kit.start({ customers: 2, orders: 6, ...options });
    const { id, orderNo } = await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    await lab.deliver();
    return { lab, id, orderNo };
  };
  const eraseOrder = async (lab: Lab, id: number) => {
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [id]);
    await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [id]);
  };
  /** Nothing has been told yet; the next sweep is the one that counts. */
  const expectDeletedByNextSweep = async (lab: Lab) => {
    await lab.deliver();
    expect(changesAt(lab)).to.deep.equal([]);
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(changesAt(lab).map(({ method }) => method)).to.deep.equal(['DELETE']);
  };
  const alerts = () => kit.rows("SELECT outcome, detail FROM audit_log WHERE event='alert' ORDER BY id");

  it('stays at the service by default, whether cancelled or deleted', async () => {
    const { lab, id } = await settled(marked());
    await cancelSampleOrder(lab.erp, id);
    for (let i = 0; i < 3; i++) await lab.capture({ sweep: true });
    await eraseOrder(lab, id);
    for (let i = 0; i < 3; i++) await lab.capture({ sweep: true });
    await lab.deliver();
    expect(changesAt(lab)).to.deep.equal([]);
  });

  it('is deleted there when it is cancelled and that is configured, also between two sweeps', async () => {
    const { lab, id, orderNo } = await settled(deletes);
    await cancelSampleOrder(lab.erp, id);
    await lab.capture();
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete delivered']);
    await expectAllAtService(lab);
    expect(lab.sandbox.ledger().orders.some(({ reference }) => reference === orderNo)).to.equal(false);
    expect(await kit.rows("SELECT 1 FROM binding WHERE entity='order' AND source_key=?", [String(id)])).to.deep.equal(
      [],
    );
    expect(await kit.rows('SELECT source_key, generation FROM closed_binding')).to.deep.equal([
      { source_key: String(id), generation: 0 },
    ]);
    await lab.capture({ sweep: true });
    expect((await lab.deliver()).attempts).to.equal(0);
  });

  it('is not passed over when the ERP goes away between the changes and the cancellations', async () => {
    const { settings } = deletes;
    const { lab, id } = await settled({ settings: { ...settings, capture: { overlapSeconds: 0 } } });
    await cancelSampleOrder(lab.erp, id);
    // The newest change is another order's, and the cursor goes there.
    await insertSampleOrder(lab.erp, {});
    const reader = withMethod(lab.reader, 'readChangedCancelled', () => Promise.reject(new Error('the ERP is gone')));
    expect(await capture(lab.context, reader).catch((error: Error) => error.message)).to.equal('the ERP is gone');
    await lab.capture();
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete delivered']);
    await expectAllAtService(lab);
  });

  it('is not sent before its pass has ended, neither as a probe nor because somebody is in a hurry', async () => {
    const { lab, id } = await settled(deletes);
    await cancelSampleOrder(lab.erp, id);
    const reader = withMethod(lab.reader, 'readChanged', async (entity, ...asked) => {
      if (entity === 'order') throw new Error('the ERP is gone');
      return lab.reader.readChanged(entity, ...asked);
    });
    expect(await capture(lab.context, reader).catch((error: Error) => error.message)).to.equal('the ERP is gone');
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete pending']);
    const outage = {
      lane: 'service',
      cause: 'outage',
      until_at: 1,
      reason: legacy('down'),
      actor: 'test',
      since_at: 1,
    } as const;
    await kit.store.transaction('the service is down', (tx) => pauseLane(tx, outage));
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete pending']);
    await kit.store.transaction('the service is back', (tx) => resumeLane(tx, 'service', ['outage']));
    await kit.store.transaction('hurry', async (tx) => {
      const context = {
        now: readClock(lab.context),
        keyLifetimeMs: 3_600_000,
        maxProcessingMs: 1,
        time: String,
        replaysRefusals: false,
        serviceId: null,
        canLookUp: [],
        ownIds: ['customer'] as const,
      };
      const filter: MessageFilter = { states: ['pending'] };
      const ids = await matchingIds(tx, filter, 0, 10);
      const [retried] = await decideForMessages(tx, ids, { action: 'retry', filter, context, rows: 'lock' });
      expect(retried?.decision).to.deep.include({ to: null });
    });
    await lab.capture();
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete delivered']);
  });

  it('is not made after all when its create was refused while the mark of its cancellation waited', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      // Two lines are more than this service takes.
      sandbox: { maxItems: 1 },
      ...marked({ onCancelled: { patch: { note: 'CANCELLED' } } }),
    });
    const { id, orderNo } = await insertSampleOrder(lab.erp, { lines: [{ qty: 1 }, { qty: 2 }] });
    await lab.capture({ sweep: true });
    lab.sandbox.setFaults([{ kind: 'delay', ms: 2_000, times: 1, match: { bodyIncludes: orderNo } }]);
    const running = lab.deliver();
    await waitFor('the request', () => lab.sandbox.faults()[0]?.fired === 1);
    await cancelSampleOrder(lab.erp, id);
    await lab.capture();
    expect(await shapeOf(id)).to.deep.equal(['create sending', 'update pending']);
    await running;
    expect(await shapeOf(id)).to.deep.equal(['create superseded', 'update superseded']);
    expect(lab.sandbox.ledger().orders.filter(({ reference }) => reference === 'CANCELLED')).to.deep.equal([]);
  });

  it('is marked there with the configured fields', async () => {
    const { lab, id } = await settled(marked({ onCancelled: { patch: { note: 'CANCELLED' } } }));
    await cancelSampleOrder(lab.erp, id);
    await lab.capture({ sweep: true });
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(changesAt(lab).map(({ method }) => method)).to.deep.equal(['PATCH']);
    expect(lab.sandbox.ledger().orders.filter(({ reference }) => reference === 'CANCELLED')).to.have.length(1);
    await lab.capture({ sweep: true });
    expect((await lab.deliver()).attempts).to.equal(0);
    const record = { entity: 'order', sourceKey: String(id), erpIdentity: lab.reader.identity() } as const;
    const { story, audit } = await explained(lab.context, record, String);
    const told = storyTimeline(story, audit, String).map(({ text }) => text);
    expect(told.filter((text) => text.startsWith('captured: removal'))).to.deep.equal([
      'captured: removal (cancelled in the ERP), sent as update, revision 2; by test',
    ]);
  });

  it('is marked there also where nobody knows what the service holds of it, as after a recovery', async () => {
    const { lab, id } = await settled(marked({ onCancelled: { patch: { note: 'CANCELLED' } } }));
    await kit.store.transaction('as a recovery leaves it', async (tx) => {
      await tx.run(`UPDATE outbox_message SET ${forged.superseded} WHERE entity='order' AND source_key=?`, [
        String(id),
      ]);
      await tx.run("UPDATE binding SET acknowledged=NULL, content_hash=NULL WHERE entity='order' AND source_key=?", [
        String(id),
      ]);
    });
    await cancelSampleOrder(lab.erp, id);
    await lab.capture();
    await lab.deliver();
    expect(lab.sandbox.ledger().orders.filter(({ reference }) => reference === 'CANCELLED')).to.have.length(1);
  });

  const forgotten = async (service: object) => {
    const given = await settled({
      settings: { ...marked({ onCancelled: { patch: { note: 'CANCELLED' } } }).settings, service },
    });
    await kit.store.transaction('as an export leaves it', async (tx) => {
      await tx.run("DELETE FROM message_body WHERE message_id IN (SELECT id FROM outbox_message WHERE entity='order')");
      await tx.run("DELETE FROM outbox_message WHERE entity='order'");
      await tx.run("UPDATE binding SET acknowledged=NULL, content_hash=NULL WHERE entity='order'");
    });
    await cancelSampleOrder(given.lab.erp, given.id);
    await given.lab.capture();
    return given;
  };
  const replacing = { endpoints: { updateOrder: { method: 'PUT' } } };

  it('is marked there with the configured fields alone where nothing else is known of it, and whole when it comes back', async () => {
    const { lab, id } = await forgotten({});
    await lab.deliver();
    const sent = lab.sandbox.ledger().orders.filter(({ reference }) => reference === 'CANCELLED');
    expect(sent).to.have.length(1);
    expect(sent[0]?.record.items).to.not.deep.equal([]);
    await lab.changeErp("UPDATE sales_orders SET status='confirmed', updated_at=? WHERE id=?", [wallTimeNow(), id]);
    await lab.capture();
    await lab.deliver();
    await expectAllAtService(lab);
  });

  it('waits for a person where it would have to be replaced as a whole, and nothing is known of it', async () => {
    const { lab, id } = await forgotten(replacing);
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['update parked']);
    const [parked] = await kit.rows(
      "SELECT park_class, reason_code, reason_data FROM outbox_message WHERE state='parked'",
    );
    expect(parked).to.deep.include({ park_class: 'unmapped' });
    expect(parked?.reason).to.include('by hand');
    await lab.capture({ sweep: true });
    expect(await shapeOf(id)).to.deep.equal(['update parked']);
  });

  it('clears nothing there when updates became a PUT before the mark of it was sent', async () => {
    const { lab, orderNo } = await forgotten({});
    const last = () => lab.sandbox.ledger().orders.at(-1);
    const before = last()?.record;
    expect(before?.note).to.equal(orderNo);
    const replacingLab = await lab.another({ settings: { service: replacing } });
    await replacingLab.deliver();
    expect(last()?.record).to.deep.equal({ ...before, note: 'CANCELLED' });
  });

  it('is never sent when it was cancelled before, and sent when that is taken back', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, ...marked() });
    const { id } = await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    await cancelSampleOrder(lab.erp, id);
    await lab.capture({ sweep: true });
    expect(await shapeOf(id)).to.deep.equal(['create superseded']);
    await lab.deliver();
    await expectAllAtService(lab);
    await lab.changeErp("UPDATE sales_orders SET status='confirmed' WHERE id=?", [id]);
    await lab.capture({ sweep: true });
    await lab.deliver();
    await expectAllAtService(lab);
    expect(await shapeOf(id)).to.deep.equal(['create superseded', 'create delivered']);
  });

  it('is not taken for removed because there is nothing at a mistyped address, and never made twice', async () => {
    const { settings } = deletes;
    const { lab, id, orderNo } = await settled({
      settings: { ...settings, service: { endpoints: { deleteOrder: { path: '/v1/ordres/{order_id}' } } } },
    });
    await cancelSampleOrder(lab.erp, id);
    await lab.capture();
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete parked']);
    const [parked] = await kit.rows(
      "SELECT park_class, reason_code, reason_data FROM outbox_message WHERE state='parked'",
    );
    expect(parked?.park_class).to.equal('refused');
    expect(parked?.reason).to.include('There is nothing at this address').and.include('service.answers.gone');
    await lab.changeErp("UPDATE sales_orders SET status='confirmed', updated_at=? WHERE id=?", [wallTimeNow(), id]);
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(lab.sandbox.ledger().orders.filter(({ reference }) => reference === orderNo)).to.have.length(1);
  });

  it('is done when the service says that it has no such order any more', async () => {
    const { lab, id } = await settled(deletes);
    const [bound] = await kit.rows("SELECT service_id FROM binding WHERE entity='order' AND source_key=?", [
      String(id),
    ]);
    await askAsAnother(lab, 'DELETE', `/v1/orders/${bound?.service_id}`, 'somebody-else');
    await cancelSampleOrder(lab.erp, id);
    await lab.capture();
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete delivered']);
  });

  it('comes back as a new record with a new key after it was deleted there', async () => {
    const { lab, id } = await settled(deletes);
    await cancelSampleOrder(lab.erp, id);
    await lab.capture({ sweep: true });
    await lab.deliver();
    await lab.changeErp("UPDATE sales_orders SET status='confirmed' WHERE id=?", [id]);
    await lab.capture({ sweep: true });
    await lab.deliver();
    await expectAllAtService(lab);
    const [last] = await kit.rows(
      'SELECT idempotency_key, generation FROM outbox_message WHERE entity=? AND source_key=? ORDER BY revision DESC LIMIT 1',
      ['order', String(id)],
    );
    expect(last).to.deep.equal({ idempotency_key: createKey('test-office', 'order', String(id), 1), generation: 1 });
    expectOneBodyPerKey(lab);
  });

  it('is deleted there once it was missing in two sweeps, and not before', async () => {
    const { lab, id } = await settled(deletes);
    // Not the last one: a highest key that went back would look like a restored ERP.
    await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    await lab.deliver();
    await eraseOrder(lab, id);
    await lab.capture({ sweep: true });
    await expectDeletedByNextSweep(lab);
    await expectAllAtService(lab);
  });

  it('is not deleted there while sweeps have missed it for less than capture.deletedAfterMinutes', async () => {
    const { settings } = deletes;
    const { lab, id } = await settled({ settings: { ...settings, capture: { deletedAfterMinutes: 10 } } });
    await insertSampleOrder(lab.erp, {});
    let passedMs = 0;
    let setMs = 0;
    const startMs = Date.now();
    lab.context.nowMs = () => startMs + passedMs + setMs;
    lab.context.clock = { ...lab.context.clock, sinceBoot: () => ({ bootId: 'lab', bootMs: passedMs }) };
    /** @param minutesAhead by how much the clock on the wall is wrong */
    const sweeps = async (times: number, minutesLater: number, minutesAhead = 0) => {
      passedMs += minutesLater * 60_000;
      setMs = minutesAhead * 60_000;
      for (let i = 0; i < times; i++) await lab.capture({ sweep: true });
      await lab.deliver();
    };
    await sweeps(1, 0);
    const others = `FROM sales_orders WHERE id=${id}`;
    await lab.changeErp('DROP TABLE IF EXISTS kept');
    await lab.changeErp(`CREATE TABLE kept AS SELECT * ${others}`);
    try {
      // The ERP writes the order anew while somebody says `sync` three times.
      await lab.changeErp(`DELETE ${others}`);
      await sweeps(3, 1);
      await lab.changeErp('INSERT INTO sales_orders SELECT * FROM kept');
      await sweeps(2, 60);
      // Half an hour later it does so again, and then somebody sets the clock on the wall, and the machine starts anew.
      await lab.changeErp(`DELETE ${others}`);
      await sweeps(2, 30);
      await sweeps(2, 0, 60);
      await sweeps(2, 0, 1_200 * 24 * 60);
      await sweeps(2, 5);
      await sweeps(1, 0, -600);
      const startsMs = passedMs;
      lab.context.clock = {
        ...lab.context.clock,
        sinceBoot: () => ({ bootId: 'another start', bootMs: passedMs - startsMs }),
      };
      await sweeps(2, 0, 600);
      await sweeps(2, 4);
      expect(changesAt(lab)).to.deep.equal([]);
      await sweeps(1, 1);
      expect(changesAt(lab).map(({ method }) => method)).to.deep.equal(['DELETE']);
    } finally {
      await lab.changeErp('DROP TABLE kept');
    }
  });

  describe('and is there again while its removal waits', () => {
    /** A person holds what comes, and lets it go when the records may be back. */
    const letGo = async (lab: Lab) => {
      await kit.store.transaction('resume', (tx) => resumeLane(tx, 'deliver', ['operator']));
      await lab.deliver();
    };
    const hold = () =>
      kit.store.transaction('pause', (tx) =>
        pauseLane(tx, {
          lane: 'deliver',
          cause: 'operator',
          until_at: null,
          reason: legacy('r'),
          actor: 'a',
          since_at: 1,
        }),
      );
    const erased = async (lab: Lab, ids: number[]) => {
      await lab.changeErp('DROP TABLE IF EXISTS kept');
      await lab.changeErp(`CREATE TABLE kept AS SELECT * FROM sales_orders WHERE id IN (${ids})`);
      await lab.changeErp(`DELETE FROM sales_orders WHERE id IN (${ids})`);
      await hold();
      for (let i = 0; i < 2; i++) await lab.capture({ sweep: true });
    };
    const back = (lab: Lab, id: number) => lab.changeErp(`INSERT INTO sales_orders SELECT * FROM kept WHERE id=${id}`);

    for (const effect of ['delete', { patch: { note: 'GONE' } }])
      it(`is asked for by key once more, before ${JSON.stringify(effect)} leaves`, async () => {
        const { lab, id } = await settled(marked({ onDeleted: effect }));
        const { id: other } = await insertSampleOrder(lab.erp, {});
        await insertSampleOrder(lab.erp, {});
        await lab.capture({ sweep: true });
        await lab.deliver();
        await erased(lab, [id, other]);
        await back(lab, id);
        let asked = 0;
        const presence: typeof lab.reader.presence = (...of) => {
          asked++;
          return lab.reader.presence(...of);
        };
        await kit.store.transaction('resume', (tx) => resumeLane(tx, 'deliver', ['operator']));
        await lab.deliver({ erp: withMethod(lab.reader, 'presence', presence) });
        expect(asked, 'one question for both').to.equal(1);
        expect(changesAt(lab)).to.have.length(1);
        expect(await shapeOf(id)).to.include(`${effect === 'delete' ? 'delete' : 'update'} superseded`);
        const [closed] = await kit.rows(
          "SELECT detail FROM audit_log WHERE event='superseded' AND outcome='withdrawn' AND source_key=?",
          [String(id)],
        );
        expect(JSON.parse(String(closed?.detail))).to.deep.equal({
          reason: { code: 'back_in_erp' },
        });
        // It goes all the same when it is deleted after that.
        await lab.changeErp(`DELETE FROM sales_orders WHERE id=${id}`);
        for (let i = 0; i < 2; i++) await lab.capture({ sweep: true });
        await lab.deliver();
        expect(changesAt(lab)).to.have.length(2);
        await lab.changeErp('DROP TABLE kept');
      });

    it('is asked for once more also where the removal was cancelled, held and confirmed', async () => {
      const { lab, id } = await settled({
        settings: { ...deletes.settings, capture: { maxRemovals: 0 } },
      });
      await cancelSampleOrder(lab.erp, id);
      await lab.capture({ sweep: true });
      const { shown } = await summariseHeld(lab.context, {});
      await confirmHeld(lab.context, {}, 'send', shown, 'a test');
      await lab.changeErp("UPDATE sales_orders SET status='confirmed' WHERE id=?", [id]);
      await letGo(lab);
      expect(changesAt(lab)).to.deep.equal([]);
      for (let i = 0; i < 2; i++) await lab.capture({ sweep: true });
      await lab.deliver();
      expect(changesAt(lab)).to.deep.equal([]);
      await expectAllAtService(lab);
    });

    it('is removed there where it was cancelled, and then deleted, which nothing follows', async () => {
      const { lab, id } = await settled(marked({ onCancelled: 'delete' }));
      await hold();
      await cancelSampleOrder(lab.erp, id);
      await lab.capture({ sweep: true });
      await eraseOrder(lab, id);
      await letGo(lab);
      expect(changesAt(lab).map(({ method }) => method)).to.deep.equal(['DELETE']);
    });

    it('waits while the ERP can not be asked, and keeps nothing else back', async () => {
      const { lab, id } = await settled(deletes);
      const away = withMethod(lab.reader, 'presence', () => Promise.reject(new Error('the ERP is gone')));
      await cancelSampleOrder(lab.erp, id);
      await insertSampleOrder(lab.erp, {});
      await lab.capture({ sweep: true });
      await lab.deliver({ erp: away });
      expect(changesAt(lab)).to.deep.equal([]);
      expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete pending']);
      expect((await statesOf(kit)).pending).to.equal(1);
      expect(lab.log.join()).to.contain('The ERP can not say whether removed records are back');
      lab.context.nowMs = () => Date.now() + 61_000;
      await lab.deliver();
      expect(changesAt(lab).map(({ method }) => method)).to.deep.equal(['DELETE']);
    });
  });

  it('is not deleted there because one sweep missed it and broke off, and another one missed it at once', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 6,
      settings: { ...deletes.settings, capture: { pageSize: 2 } },
    });
    await lab.capture({ sweep: true });
    await lab.deliver();
    const [bound] = await kit.rows("SELECT MIN(source_key) AS source_key FROM binding WHERE entity='order'");
    await eraseOrder(lab, Number(bound?.source_key));
    let pages = 0;
    const presence: typeof lab.reader.presence = async (entity, keys) => {
      if (entity === 'order' && ++pages > 1) throw new Error('the ERP is gone');
      return lab.reader.presence(entity, keys);
    };
    const broken = withMethod(lab.reader, 'presence', presence);
    const trouble = await capture(lab.context, broken, { sweep: true }).catch((error: Error) => error.message);
    expect(trouble).to.equal('the ERP is gone');

    await lab.capture({ sweep: true });
    await expectDeletedByNextSweep(lab);
  });

  it('is not deleted there because somebody asked for another sweep right after the one that missed it', async () => {
    const { lab, id } = await settled(deletes);
    await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    await lab.deliver();
    await eraseOrder(lab, id);
    await lab.capture({ sweep: true });
    await kit.store.transaction('ask for a sweep', (tx) => sweepAtNextPass(tx, 'order'));
    await lab.capture({});
    await expectDeletedByNextSweep(lab);
  });

  it('counts as removed when the service does not have it any more', async () => {
    const { lab, id } = await settled(deletes);
    await cancelSampleOrder(lab.erp, id);
    await lab.capture({ sweep: true });
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'DELETE' }, times: 1 }]);
    await lab.deliver();
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete delivered']);
    await expectAllAtService(lab);
  });

  it('does not count as removed because of a page for people', async () => {
    const { lab, id } = await settled(deletes);
    await cancelSampleOrder(lab.erp, id);
    await lab.capture({ sweep: true });
    lab.sandbox.setFaults([{ kind: 'html', effect: 'none', match: { method: 'DELETE' }, times: 1 }]);
    await lab.deliver();
    expect(changesAt(lab).map(({ fault }) => fault)).to.deep.equal(['html', null]);
    expect(await shapeOf(id)).to.deep.equal(['create delivered', 'delete delivered']);
    await expectAllAtService(lab);
  });

  it('is deleted after its create, when that was under way', async () => {
    const { lab } = await settled(deletes);
    const { id, orderNo } = await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { bodyIncludes: orderNo } }]);
    await lab.deliver({ retryHorizonMs: 0 });
    await cancelSampleOrder(lab.erp, id);
    await lab.capture({ sweep: true });
    expect(await shapeOf(id)).to.deep.equal(['create in_doubt', 'delete pending']);
    lab.sandbox.clearFaults();
    await lab.deliver();
    await expectAllAtService(lab);
  });

  for (const onCancelled of ['delete', { patch: { note: 'CANCELLED' } }]) {
    const removal = onCancelled === 'delete' ? 'delete' : 'update';
    it(`is removed there by ${removal} after its create, also when an edit waits behind that one already`, async () => {
      const { lab } = await settled(marked({ onCancelled }));
      const { id, orderNo } = await insertSampleOrder(lab.erp, {});
      await lab.capture({ sweep: true });
      lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { bodyIncludes: orderNo } }]);
      await lab.deliver({ retryHorizonMs: 0 });
      await editSampleLine(lab.erp, id, 1, 7);
      await lab.changeErp('UPDATE sales_orders SET updated_at=? WHERE id=?', [wallTimeNow(), id]);
      await lab.capture();
      await cancelSampleOrder(lab.erp, id);
      await lab.capture();
      expect(await shapeOf(id)).to.deep.equal(['create in_doubt', 'update superseded', `${removal} pending`]);
      lab.sandbox.clearFaults();
      await lab.deliver();
      expect(await shapeOf(id)).to.deep.equal(['create delivered', 'update superseded', `${removal} delivered`]);
      const there = lab.sandbox.ledger().orders.map(({ reference }) => `${reference}`);
      const removed = there.filter((reference) => [orderNo, 'CANCELLED'].includes(reference));
      expect(removed).to.deep.equal(removal === 'delete' ? [] : ['CANCELLED']);
    });
  }

  it('waits for a person together with many others', async () => {
    const { lab } = await settled({ orders: 40, settings: { ...deletes.settings, capture: { maxRemovals: 3 } } });
    await lab.changeErp("UPDATE sales_orders SET status='cancelled' WHERE id>8");
    const { held } = await lab.capture({ sweep: true });
    expect(held).to.be.greaterThan(3);
    await lab.deliver();
    expect(changesAt(lab)).to.deep.equal([]);
    expect(await alerts()).to.have.length(1);
    // An order that was cancelled by mistake is taken back, and nothing was said to the service.
    await lab.changeErp("UPDATE sales_orders SET status='confirmed'");
    await lab.capture({ sweep: true });
    expect((await lab.deliver()).attempts).to.be.lessThan(60);
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(changesAt(lab)).to.deep.equal([]);
    await expectAllAtService(lab);
    expect((await statesOf(kit)).parked ?? 0).to.equal(0);
  });

  it('is not meant when the whole table is empty for a minute', async () => {
    const { lab } = await settled(deletes);
    await lab.changeErp('CREATE TABLE kept AS SELECT * FROM sales_orders');
    try {
      await lab.changeErp('DELETE FROM sales_orders');
      for (let i = 0; i < 3; i++) await lab.capture({ sweep: true });
      await lab.deliver();
      expect(changesAt(lab)).to.deep.equal([]);
      expect((await alerts()).map(({ outcome }) => outcome)).to.deep.equal(['empty']);
      await lab.changeErp('INSERT INTO sales_orders SELECT * FROM kept');
    } finally {
      await lab.changeErp('DROP TABLE kept');
    }
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(changesAt(lab)).to.deep.equal([]);
    await expectAllAtService(lab);
    expect(await kit.rows('SELECT cause FROM alert WHERE open_cause IS NOT NULL')).to.deep.equal([]);
  });

  it('is not meant when the ERP was restored from yesterday, and ids are used again', async () => {
    const { lab } = await settled(deletes);
    const lost: number[] = [];
    for (let i = 0; i < 4; i++) lost.push((await insertSampleOrder(lab.erp, { lines: [{ qty: i + 1 }] })).id);
    await lab.capture({ sweep: true });
    await lab.deliver();
    const before = lab.sandbox.ledger().orders.map(({ reference, record }) => [reference, record]);
    for (const id of lost) await eraseOrder(lab, id);
    // Three other orders take three of their keys; the last of the four is missing.
    for (let i = 0; i < 3; i++) await insertSampleOrder(lab.erp, { lines: [{ qty: 50 + i }] });
    await lab
      .changeErp("UPDATE sales_orders SET order_no=CONCAT('N', order_no) WHERE id>=?", [lost[0] as number])
      .catch(() => lab.changeErp("UPDATE sales_orders SET order_no='N' || order_no WHERE id>=?", [lost[0] as number]));
    for (let i = 0; i < 3; i++) {
      await lab.capture({ sweep: true });
      await lab.deliver();
    }
    expect(changesAt(lab)).to.deep.equal([]);
    expect(lab.sandbox.ledger().orders.map(({ reference, record }) => [reference, record])).to.deep.equal(before);
    const { summary: held, shown } = await summariseHeld(lab.context, {});
    expect(held.holds).to.have.length(1);
    expect(held.groups.map(({ operation, count }) => ({ operation, count }))).to.deep.equal([
      { operation: 'delete', count: 1 },
    ]);
    expect(
      (await kit.rows("SELECT reason_code, reason_data FROM outbox_message WHERE park_class='conflict'")).length,
    ).to.equal(3);

    // A person looked: what the service has is right, and new orders go on from here.
    await confirmHeld(lab.context, {}, 'discard', shown, 'the ERP was restored');
    const next = await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(changesAt(lab)).to.deep.equal([]);
    expect(next.id).to.equal(lost[3]);
  });
});
