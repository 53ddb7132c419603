import { expect } from 'chai';
import { appendAudit } from '../../src/audit/audit-log.js';
import { endEvents, insertEvent } from '../../src/inbound/webhooks/webhook-rows.js';
import { prune } from '../../src/operator/prune.js';
import { tellStory } from '../../src/operator/tell-story.js';
import { endAlert, openAlerts, raiseAlert } from '../../src/store/alerts.js';
import { readClockDoubt } from '../../src/store/elapsed-time.js';
import { LeaseLost } from '../../src/store/lease.js';
import { insertRows } from '../../src/store/rows.js';
import { forged } from '../support/forged.js';
import { type Lab, onSqliteLabAnd, withServiceLease } from '../support/jobs/job-lab.js';
import { ageStore, pruneAll, pruneOnce } from '../support/jobs/pass-nights.js';
import { messageOf, statesOf } from '../support/jobs/service-of.js';

const dayMs = 86_400_000;
const answers = 'attempt WHERE excerpt IS NOT NULL';

onSqliteLabAnd('mysql', 'pruning', (kit) => {
  const counts = async () => {
    const all: Record<string, number> = {};
    for (const table of ['outbox_message', 'message_body', 'attempt', answers, 'binding'])
      all[table] = Number((await kit.rows(`SELECT COUNT(*) AS n FROM ${table}`))[0].n);
    return all;
  };
  /** The same place, where all that there is happened so many days ago. */
  const later = async (lab: Lab, days: number): Promise<Lab> => {
    await ageStore(lab, days);
    return lab.another({ settings: { retention: { batchSize: 10 } } });
  };

  it('erases bodies and excerpts first, then messages and attempts; bindings stay', async () => {
    const lab = await kit.start();
    await lab.capture();
    // A delivered message has its own attempt, which goes with it.
    lab.sandbox.setFaults([{ kind: 'status', status: 500, times: 2 }]);
    await lab.deliver();
    const before = await counts();
    expect(before).to.include({ outbox_message: 16, message_body: 16, binding: 16, attempt: 2 });
    expect(before[answers]).to.equal(2);

    expect(await pruneAll(await later(lab, 89))).to.include({ messages: 0, bodies: 0, audit: 0 });
    expect(await counts()).to.deep.equal(before);
    expect(await pruneAll(await later(lab, 2))).to.include({ messages: 0, bodies: 16 });
    expect(await counts()).to.deep.equal({ ...before, message_body: 0, [answers]: 0 });
    expect(await pruneAll(await later(lab, 275))).to.include({ messages: 16, bodies: 0, attempts: 2 });
    expect(await counts()).to.include({ outbox_message: 0, attempt: 0, binding: 16 });

    const lines = await kit.rows("SELECT detail FROM audit_log WHERE event='prune' AND outcome IS NULL");
    const details = lines.map(({ detail }) => JSON.parse(detail));
    expect(details.reduce((sum, { messages }) => sum + messages, 0)).to.equal(16);
    expect(details.at(-1)).to.include({ messagesDays: 365 });
    const key = (await kit.rows("SELECT source_key FROM binding WHERE entity='order' LIMIT 1"))[0].source_key;
    const story = await kit.store.read('tell', (tx) => tellStory(tx, 'order', key));
    expect(story.binding?.serviceId).to.be.a('string');
  });

  it('forgets webhooks with the bodies of messages, but none that is still to be read about', async () => {
    const lab = await kit.start();
    await kit.store.transaction('receive', async (tx) => {
      const about = { type: 'payment.succeeded', about: 'invoice' as const, subject: 'I-1' };
      await insertEvent(tx, { id: 'waits', ...about }, Date.now());
      const receivedAt = Date.now();
      await insertEvent(tx, { id: 'done', ...about }, receivedAt);
      await endEvents(tx, [{ id: 'done', receivedAt }], { code: 'nothing_changed' }, Date.now());
    });
    expect(await pruneAll(await later(lab, 89))).to.include({ webhooks: 0 });
    expect(await pruneAll(await later(lab, 2))).to.include({ webhooks: 1 });
    expect(await kit.rows('SELECT event_id FROM webhook_event')).to.deep.equal([{ event_id: 'waits' }]);
  });

  it('makes nothing be captured again, and a later change continue its record', async () => {
    const lab = await kit.start();
    await lab.capture();
    await lab.deliver();
    const after = await later(lab, 400);
    await pruneAll(after);
    const again = await after.capture({ sweep: true });
    expect(again.captured).to.deep.equal({ customers: 0, orders: 0 });

    const [line] = await lab.readErp(
      'SELECT order_id, line_no FROM sales_order_lines ORDER BY order_id, line_no LIMIT 1',
    );
    await lab.changeErp('UPDATE sales_order_lines SET qty=qty+1 WHERE order_id=? AND line_no=?', [
      line?.order_id as string,
      line?.line_no as string,
    ]);
    expect((await after.capture({ sweep: true })).captured).to.deep.equal({ customers: 0, orders: 1 });
    const [update] = await kit.rows('SELECT operation, revision FROM outbox_message');
    expect(update).to.deep.equal({ operation: 'update', revision: 2 });
  });

  it('never touches what is open or parked, nor the only memory of a record', async () => {
    const lab = await kit.start({ customers: 2, orders: 6 });
    await lab.capture();
    const set = (state: keyof typeof forged, extra = '') =>
      kit.store.transaction('set', async (tx) => {
        const [row] = await tx.select("SELECT id FROM outbox_message WHERE state='pending' AND entity='order' LIMIT 1");
        await tx.run(`UPDATE outbox_message SET ${forged[state]}${extra} WHERE id=?`, [row.id]);
      });
    await set('parked', ", park_class='refused', closed_at=1");
    await set('in_doubt', ', was_sent=1, first_sent_at=NULL');
    await set('discarded', ', closed_at=1');
    await pruneAll(await later(lab, 4_000));
    expect(await statesOf(kit)).to.deep.equal({ discarded: 1, in_doubt: 1, parked: 1, pending: 5 });
    // The discarded one keeps its place, but not its body.
    expect((await counts()).message_body).to.equal(7);
    expect((await lab.capture({ sweep: true })).captured.orders).to.equal(0);
  });

  it('forgets old audit lines, pulls and past alerts, but no alert that lasts, and not the newest pull', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    const now = Date.now();
    await kit.store.transaction('write', async (tx) => {
      for (let i = 0; i < 25; i++) await appendAudit(tx, [{ event: 'alert', actor: 'test' }], now);
      await raiseAlert(tx, 'held.over', { code: 'webhooks_forged' }, now);
      await endAlert(tx, 'held.over', now);
      await tx.run('UPDATE alert SET over_told_at=? WHERE cause=?', [now, 'held.over']);
      await raiseAlert(tx, 'held.lasts', { code: 'webhooks_forged' }, now);
    });
    await lab.pull();
    await lab.pull();
    const result = await pruneAll(await later(lab, 731));
    expect(result.audit).to.be.at.least(25);
    expect(result).to.include({ pulls: 1, alerts: 1 });
    expect(result.attempts, 'requests of no message').to.be.at.least(2);
    expect((await counts()).attempt).to.equal(0);
    expect((await kit.store.read('look', openAlerts)).map(({ cause }) => cause)).to.deep.equal(['held.lasts']);
    const events = (await kit.rows('SELECT event FROM audit_log')).map(({ event }) => event);
    expect([...new Set(events)]).to.deep.equal(['prune']);
  });

  const all = [
    ...['outbox_message', 'message_body', 'attempt', 'audit_log', 'invoice_pull', 'webhook_event', 'alert'],
    ...['reconciliation', 'reconcile_finding'],
  ];
  const rowsOf = async () => {
    const found: Record<string, number> = {};
    for (const table of all) found[table] = Number((await kit.rows(`SELECT COUNT(*) AS n FROM ${table}`))[0].n);
    return found;
  };
  /** Something of everything that retention removes, much of it. */
  const filled = async () => {
    const lab = await kit.start({ customers: 10, orders: 60, settings: { retention: { batchSize: 10 } } });
    lab.sandbox.setFaults([{ kind: 'status', status: 500, times: 30 }]);
    await lab.capture();
    await lab.deliver();
    for (let pulls = 0; pulls < 3; pulls++) await lab.pull();
    const now = Date.now();
    await kit.store.transaction('write', async (tx) => {
      for (let nth = 0; nth < 40; nth++) {
        const event = { id: `event ${nth}`, type: 'payment.succeeded', about: 'invoice' as const, subject: `I-${nth}` };
        await insertEvent(tx, event, now);
        await endEvents(tx, [{ id: event.id, receivedAt: now }], { code: 'nothing_changed' }, now);
      }
      await raiseAlert(tx, 'held.over', { code: 'webhooks_forged' }, now);
      await endAlert(tx, 'held.over', now);
      await tx.run('UPDATE alert SET over_told_at=? WHERE cause=?', [now, 'held.over']);
      for (let run = 1; run <= 3; run++) {
        const tally = { subject: 'orders', asks: '{}', state: 'done', phase: 'known', tally: '{}', actor: 'test' };
        await insertRows(tx, 'reconciliation', [{ ...tally, started_at: now, progress_at: now, ended_at: now }]);
      }
      const [{ id }] = await tx.select('SELECT MAX(id) AS id FROM reconciliation');
      const finding = {
        run_id: id,
        kind: 'missing',
        cause: 'unknown',
        entity: 'order',
        reason_code: 'legacy',
        reason_data: '{"text":{"outside":"r"}}',
        fields: '[]',
      };
      const findings = Array.from({ length: 30 }, (_, nth) => ({ ...finding, source_key: `${nth}` }));
      await insertRows(tx, 'reconcile_finding', findings);
    });
    return lab;
  };
  const deferred = async () =>
    (await kit.rows("SELECT detail FROM audit_log WHERE event='prune' AND outcome='deferred' ORDER BY id")).map(
      ({ detail }) => JSON.parse(detail),
    );

  it('removes nothing because of a clock that is ahead for a moment, and says so once', async () => {
    const lab = await filled();
    const started = await rowsOf();
    const measured = () => Date.now();
    lab.context.clock = { ...lab.context.clock, sinceBoot: () => ({ bootId: 'lab', bootMs: measured() }) };
    await pruneOnce(lab);
    expect(await rowsOf()).to.deep.equal(started);

    // Right when the prune begins, and wrong when it removes.
    let looks = 0;
    lab.context.nowMs = () => Date.now() + (++looks > 2 ? 1_200 * dayMs : 0);
    expect(Object.values(await pruneOnce(lab)).every((count) => count === 0)).to.equal(true);
    lab.context.nowMs = () => Date.now() + 1_200 * dayMs;
    expect(Object.values(await pruneOnce(lab)).every((count) => count === 0)).to.equal(true);
    expect(await rowsOf()).to.deep.equal({ ...started, audit_log: (started.audit_log ?? 0) + 1 });
    expect(await deferred()).to.have.length(1);
    expect((await deferred())[0]).to.include({ clock: 'machine' });
    const look = () => kit.store.read('look', (tx) => readClockDoubt(tx, Date.now()));
    expect((await look())?.aheadMs).to.be.within(1_199 * dayMs, 1_201 * dayMs);

    lab.context.nowMs = Date.now;
    await pruneOnce(lab);
    expect(await rowsOf()).to.deep.equal({ ...started, audit_log: (started.audit_log ?? 0) + 1 });
    expect(await look()).to.equal(null);
  });

  it('removes nothing where the first thing a store ever sees is a clock that is years ahead', async () => {
    const lab = await filled();
    const started = await rowsOf();
    lab.context.nowMs = () => Date.now() + 1_200 * dayMs;
    lab.context.clock = { ...lab.context.clock, sinceBoot: () => ({ bootId: 'lab', bootMs: 60_000 }) };
    await pruneOnce(lab);
    expect(await rowsOf()).to.deep.equal({ ...started, audit_log: (started.audit_log ?? 0) + 1 });
  });

  it('removes at most a twentieth of each table in a night', async () => {
    const lab = await filled();
    await ageStore(lab, 4_000);
    const started = await rowsOf();
    await pruneOnce(lab);
    await pruneOnce(lab);
    const left = await rowsOf();
    for (const table of all) {
      const had = started[table] ?? 0;
      const gone = had - (left[table] ?? 0);
      // The log got one line for the prune that removed something.
      expect(gone, table).to.be.at.most(Math.ceil(had / 20));
      if (had > 1 && table !== 'reconciliation') expect(gone, table).to.be.greaterThan(0);
    }
  });

  it('writes nothing once the lease is somebody else’s', async () => {
    const lab = await kit.start({ customers: 1, orders: 2 });
    await lab.capture();
    await lab.deliver();
    const after = await later(lab, 400);
    await withServiceLease(after.context, async (lease) => {
      await kit.store.transaction('somebody else', (tx) =>
        tx.run("UPDATE lease SET epoch=epoch+1 WHERE name='service'"),
      );
      const failure = await prune(after.context, lease.lease).catch((error) => error);
      expect(failure.cause ?? failure).to.be.instanceOf(LeaseLost);
      await kit.store.transaction('back', (tx) => tx.run("UPDATE lease SET epoch=epoch-1 WHERE name='service'"));
    });
    expect((await counts()).outbox_message).to.equal(3);
    expect(await messageOf(kit, (await lab.expectedOrders()).keys().next().value as string)).to.not.equal(undefined);
  });
});
