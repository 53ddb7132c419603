import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { reconcile } from '../../../src/operator/reconcile/reconcile.js';
import {
  countCauses,
  listFindings,
  listSums,
  openRun,
  type ReconcileAsks,
  type Reconciliation,
  readRun,
  type Subject,
} from '../../../src/operator/reconcile/reconcile-rows.js';
import { planRepair, repair } from '../../../src/operator/reconcile/repair.js';
import { reconcileAsked, startReconcile } from '../../../src/operator/reconcile/start-run.js';
import { proofOf } from '../../../src/operator/reconcile/summary.js';
import { totalsByCurrency } from '../../../src/operator/reconcile/sums.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { pauseLane } from '../../../src/store/lane-pauses.js';
import { findingsCsv, sumsCsv } from '../../../src/telling/report.js';
import { forged } from '../../support/forged.js';
import { type Lab, onSqliteLabAnd, withServiceLease } from '../../support/jobs/job-lab.js';
import { said } from '../../support/told-rows.js';

const settings = {
  service: { endpoints: { readOrder: {} } },
  orders: { onDeleted: 'delete' },
  capture: { maxCreates: 10_000, maxUpdates: 10_000, maxRemovals: 10_000 },
};
const all: ReconcileAsks = { from: null, to: null, fromMs: null, toMs: null };

onSqliteLabAnd('postgres', 'comparing both sides', (kit) => {
  const itOnce = kit.dialect === 'sqlite' ? it : () => undefined;
  const partners = (lab: Lab) => ({ reader: lab.reader, client: () => lab.client });
  const compare = (lab: Lab, subject?: Subject, more?: { asks?: ReconcileAsks; again?: boolean }) =>
    startReconcile(lab.context, partners(lab), subject ?? 'orders', more?.asks ?? all, { again: more?.again ?? true });
  const delivered = async (counts: { customers: number; orders: number }, more: object = {}) => {
    const lab = await kit.start({ ...counts, settings: { ...settings, ...more } });
    // Three days of October, the first of them at its first moment.
    for (const day of [1, 2, 3])
      await lab.changeErp(
        `UPDATE sales_orders SET created_at='2026-10-0${day} 00:00:00' WHERE created_at>='2026-01-01' AND id % 3=?`,
        [day - 1],
      );
    await lab.capture();
    await lab.deliver();
    return lab;
  };
  /** The edits of a record by the service's own staff. */
  const staff = async (lab: Lab, path: string, change: object) => {
    const answer = await fetch(`${lab.sandbox.url}${path}`, {
      method: 'PATCH',
      headers: {
        authorization: 'Bearer sandbox-token',
        'content-type': 'application/json',
        'idempotency-key': crypto.randomUUID(),
      },
      body: JSON.stringify(change),
    });
    expect(answer.status).to.equal(200);
  };
  const idsByKey = async () => {
    const rows = await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='order' ORDER BY source_key");
    return rows.map((row): [string, string] => [row.source_key as string, row.service_id as string]);
  };
  const found = async (run: Reconciliation) => {
    const findings = await kit.store.read('list', (tx) => listFindings(tx, run.id, { limit: 10_000 }));
    return new Map(
      findings.map((one) => [one.sourceKey, `${one.cause} ${one.fields.map(({ field }) => field)}`.trim()]),
    );
  };
  const causes = async (run: Reconciliation) => {
    const counted = await kit.store.read('count', (tx) => countCauses(tx, run.id));
    return Object.fromEntries(counted.map(({ cause, count }) => [cause, count]));
  };
  const deleteInErp = async (lab: Lab, key: string) => {
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [Number(key)]);
    await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [Number(key)]);
  };
  const duplicates = (lab: Lab) => lab.sandbox.ledger().duplicates;

  it('finds nothing where both sides agree, and asks for each record once', async () => {
    const lab = await delivered({ customers: 3, orders: 9 });
    for (const subject of ['orders', 'customers'] as const) {
      const before = lab.sandbox.ledger().requests.length;
      const run = await compare(lab, subject);
      expect(run).to.include({ state: 'done', phase: 'ended', reason: null });
      const known = subject === 'orders' ? 9 : 3;
      expect(run.tally).to.include({ read: known, same: known, requests: known });
      expect(lab.sandbox.ledger().requests).to.have.length(before + known);
      expect(await causes(run)).to.deep.equal({});
    }
    const attempts = await kit.rows("SELECT purpose, verdict FROM attempt WHERE purpose LIKE 'read%'");
    expect(attempts).to.have.length(12);
    expect(new Set(attempts.map(({ verdict }) => verdict))).to.deep.equal(new Set(['read']));
  });

  it('asks by the key of the create, also for what was changed since', async () => {
    const lookUpOrder = {
      path: '/v1/orders',
      query: { idempotency_key: '{idempotency_key}' },
      list: 'data',
      id: 'order_id',
      match: { note: '{note}' },
      total: 'total',
    };
    const lab = await delivered({ customers: 2, orders: 4 }, { service: { endpoints: { lookUpOrder } } });
    const [first] = await idsByKey();
    await lab.changeErp('UPDATE sales_order_lines SET qty=qty+1 WHERE order_id=? AND line_no=1', [Number(first?.[0])]);
    await lab.changeErp(
      `UPDATE sales_orders SET updated_at='2027-01-01',
         total=(SELECT ROUND(SUM(qty*unit_price), 2) FROM sales_order_lines WHERE order_id=sales_orders.id) WHERE id=?`,
      [Number(first?.[0])],
    );
    await lab.capture();
    await lab.deliver();
    expect(
      await kit.rows("SELECT state FROM outbox_message WHERE entity='order' AND operation='update'"),
    ).to.deep.equal([{ state: 'delivered' }]);
    const run = await compare(lab);
    expect(await causes(run)).to.deep.equal({});
    expect(run.tally).to.include({ read: 4, same: 4 });
  });

  it('finds what differs on either side and repairs it, once, past the holds', async () => {
    const lab = await delivered({ customers: 3, orders: 12 });
    const ids = await idsByKey();
    const at = (nth: number) => ids[nth] as [string, string];
    lab.sandbox.removeOrder(at(0)[1]);
    await staff(lab, `/v1/orders/${at(1)[1]}`, { note: 'changed by hand' });
    await staff(lab, `/v1/orders/${at(2)[1]}`, { note: null });
    lab.sandbox.setOrder(at(3)[1], { total: 1 });
    await deleteInErp(lab, at(4)[0]);
    await lab.changeErp("UPDATE sales_orders SET status='shipped' WHERE id=?", [Number(at(5)[0])]);
    await staff(lab, `/v1/orders/${at(6)[1]}`, { items: [{ sku: 'Z', qty: 1, price: 1 }] });

    const run = await compare(lab);
    const seen = await found(run);
    const lines = seen.get(at(6)[0]) as string;
    seen.delete(at(6)[0]);
    expect(Object.fromEntries(seen)).to.deep.equal({
      [at(0)[0]]: 'gone_at_service',
      [at(1)[0]]: 'changed note',
      [at(2)[0]]: 'changed note',
      [at(3)[0]]: 'changed total',
      [at(4)[0]]: 'deleted_in_erp',
    });
    expect(lines).to.match(/^changed items.*total$/);
    // An order that has left `pending` is compared all the same.
    expect(run.tally).to.include({ read: 12, same: 6 });

    const plan = await planRepair(lab.context, run);
    expect(plan).to.deep.include({ count: 6, left: [] });
    const strict = lab.another({ settings: { capture: { maxRemovals: 0 } } });
    expect((await planRepair(strict.context, run)).left.map(({ cause }) => cause)).to.deep.equal(['gone_at_service']);
    const result = await repair(lab.context, partners(lab), { run, plan, reason: 'month end' });
    expect(result).to.include({ marked: 5, left: 0 });
    const after = await compare(lab);
    expect(await found(after)).to.deep.equal(new Map());
    expect(duplicates(lab)).to.deep.equal([]);
    expect(lab.sandbox.counts().orders).to.equal(11);
    const audited = await kit.rows("SELECT outcome FROM audit_log WHERE event='operator' ORDER BY id");
    expect(audited.map(({ outcome }) => outcome).sort()).to.deep.equal([
      'reconcile',
      'reconcile',
      'repair',
      ...Array(4).fill('repair_changed'),
      'repair_missing',
    ]);
  });

  it('says why it can not judge, and leaves that to a person', async () => {
    const lab = await delivered({ customers: 3, orders: 8 });
    const ids = await idsByKey();
    const key = (nth: number) => (ids[nth] as [string, string])[0];
    await kit.rows(`UPDATE outbox_message SET ${forged.in_doubt} WHERE entity='order' AND source_key='${key(0)}'`);
    await kit.rows(
      `UPDATE outbox_message SET ${forged.parked}, park_class='held' WHERE entity='order' AND source_key='${key(1)}'`,
    );
    await kit.rows(
      `UPDATE outbox_message SET ${forged.parked}, park_class='refused' WHERE entity='order' AND source_key='${key(2)}'`,
    );
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [Number(key(3))]);
    lab.sandbox.setFaults([
      { kind: 'status', status: 403, body: {}, match: { method: 'GET', path: `/v1/orders/${ids[4]?.[1]}` } },
    ]);
    const run = await compare(lab);
    expect(Object.fromEntries(await found(run))).to.deep.equal({
      [key(0)]: 'in_doubt',
      [key(1)]: 'held',
      [key(2)]: 'parked',
      [key(3)]: 'unmapped',
      [key(4)]: 'unread',
    });
    const [total] = totalsByCurrency(await kit.store.read('sums', (tx) => listSums(tx, run.id)));
    expect(total).to.include({ erpRecords: 7, serviceRecords: 7 });
    expect(said(proofOf(run))).to.match(
      /^The service did not show 1 of the orders .* Each of the others was asked for/,
    );
    const plan = await planRepair(lab.context, run);
    expect(plan.count).to.equal(0);
    expect(plan.left.map(({ cause }) => cause).sort()).to.deep.equal([
      'held',
      'in_doubt',
      'parked',
      'unmapped',
      'unread',
    ]);
  });

  it('leaves an order that may have been sent out of both sums', async () => {
    const lab = await delivered({ customers: 2, orders: 5 });
    const [[key] = ['']] = await idsByKey();
    await kit.rows(`UPDATE outbox_message SET ${forged.in_doubt} WHERE entity='order' AND source_key='${key}'`);
    await kit.rows(`DELETE FROM binding WHERE entity='order' AND source_key='${key}'`);
    const run = await compare(lab);
    expect(await found(run)).to.deep.equal(new Map([[key, 'in_doubt']]));
    const [total] = totalsByCurrency(await kit.store.read('sums', (tx) => listSums(tx, run.id)));
    expect(total).to.include({ erpRecords: 4, serviceRecords: 4 });
  });

  it('compares no orders where the settings name no way to ask for one, and proves nothing', async () => {
    const lab = await kit.start({ customers: 2, orders: 3 });
    await lab.capture();
    await lab.deliver();
    const run = await compare(lab);
    expect(run).to.include({ state: 'stopped', phase: 'known' });
    expect(said(run.reason)).to.contain('orders need service.endpoints.readOrder or lookUpOrder');
    expect(run.tally).to.include({ read: 0, requests: 0 });
    expect(said(proofOf(run))).to.match(/^The service was asked for none of the orders/);
    expect(await kit.store.read('sums', (tx) => listSums(tx, run.id))).to.deep.equal([]);
    expect(await compare(lab, 'customers')).to.include({ state: 'done', reason: null });
  });

  it('keeps its place when the service goes away, and goes on there', async () => {
    const lab = await delivered({ customers: 2, orders: 60 });
    const requests = () => lab.sandbox.ledger().requests.filter(({ path }) => path.startsWith('/v1/orders/'));
    lab.sandbox.setFaults([
      { kind: 'status', status: 429, headers: { 'Retry-After': '3600' }, body: {}, match: { method: 'GET', nth: 46 } },
    ]);
    const stopped = await compare(lab);
    expect(stopped).to.include({ state: 'stopped', phase: 'known' });
    expect(said(stopped.reason)).to.match(/429/);
    expect(said(proofOf(stopped))).to.match(/^Only some of the orders/);
    expect(stopped.tally).to.include({ read: 40, same: 40 });
    lab.sandbox.clearFaults();
    await kit.rows('DELETE FROM lane_pause');
    const before = requests().length;
    const run = await compare(lab, 'orders', { again: false });
    expect(run).to.include({ id: stopped.id, state: 'done', reason: null });
    expect(run.tally).to.include({ read: 60, same: 60 });
    expect(requests()).to.have.length(before + 20);
  });

  it('sees by one request whether the service is back when the pause of an outage is over, and goes on', async () => {
    const lab = await delivered({ customers: 2, orders: 12 });
    const asked = () => lab.sandbox.ledger().requests.filter(({ method }) => method === 'GET').length;
    const outage = {
      lane: 'service',
      cause: 'outage',
      reason: { code: 'stopping' },
      actor: 'test',
      since_at: 1,
    } as const;
    const pauseUntil = (until_at: number) =>
      kit.store.transaction('pause', (tx) => pauseLane(tx, { ...outage, until_at }));
    await pauseUntil(Date.now() + 3_600_000);
    const early = await compare(lab);
    expect(early).to.include({ state: 'stopped' });
    expect(early.reason).to.include({ code: 'outage' });
    expect(asked()).to.equal(0);

    await pauseUntil(Date.now() - 12_000);
    lab.sandbox.setFaults([{ kind: 'status', status: 500, body: {}, match: { method: 'GET' } }]);
    const down = await compare(lab, 'orders', { again: false });
    expect(down).to.include({ id: early.id, state: 'stopped' });
    expect(asked()).to.equal(1);
    const [longer] = await kit.rows("SELECT until_at FROM lane_pause WHERE cause='outage'");
    expect(longer?.until_at).to.be.greaterThan(Date.now());

    await pauseUntil(Date.now() - 12_000);
    lab.sandbox.clearFaults();
    const run = await compare(lab, 'orders', { again: false });
    expect(run).to.include({ id: early.id, state: 'done', reason: null });
    expect(run.tally).to.include({ read: 12, same: 12 });
    expect(await kit.rows("SELECT lane FROM lane_pause WHERE cause='outage'")).to.deep.equal([]);
  });

  it('calls orders not shown where a lost permission looks the same, and repairs none while none is shown', async () => {
    const forbidden = { service: { endpoints: { readOrder: { absentStatus: 403 } } } };
    const lab = await delivered({ customers: 1, orders: 4 }, forbidden);
    lab.sandbox.setFaults([{ kind: 'status', status: 403, body: {}, match: { method: 'GET', path: '/v1/orders' } }]);
    const run = await compare(lab);
    expect(run).to.include({ state: 'done' });
    expect(await causes(run)).to.deep.equal({ gone_at_service: 4 });
    const findings = await kit.store.read('list', (tx) => listFindings(tx, run.id, { limit: 10 }));
    for (const { reason } of findings) expect(said(reason)).to.equal('the service does not show it any more');
    const plan = await planRepair(lab.context, run);
    expect(plan.count).to.equal(0);
    const why = { code: 'left_to_person', cause: 'gone_at_service', nothingShown: true };
    expect(plan.left.map((one) => one.why)).to.have.length(1);
    expect(plan.left[0]?.why).to.include(why);
  });

  it('adds up both sides by day and currency, so that they differ by exactly what is listed', async () => {
    const lab = await delivered({ customers: 3, orders: 20 });
    const ids = await idsByKey();
    lab.sandbox.removeOrder(ids[0]?.[1] as string);
    lab.sandbox.setOrder(ids[1]?.[1] as string, { total: 77 });
    await deleteInErp(lab, ids[2]?.[0] as string);
    const run = await compare(lab);
    const sums = await kit.store.read('sums', (tx) => listSums(tx, run.id));
    const findings = await kit.store.read('list', (tx) => listFindings(tx, run.id, { limit: 100 }));
    const [total] = totalsByCurrency(sums);
    const listed = findings.reduce((sum, one) => sum + BigInt(one.serviceTotal ?? 0) - BigInt(one.erpTotal ?? 0), 0n);
    expect((total?.serviceTotal ?? 0n) - (total?.erpTotal ?? 0n)).to.equal(listed);
    expect(total).to.include({ erpRecords: 19, serviceRecords: 19 });
    expect(sums.filter(({ day }) => day === null)).to.have.length(1);
    expect(sums.map(({ day }) => day)).to.deep.equal([null, '2026-10-01', '2026-10-02', '2026-10-03']);
  });

  itOnce('files amounts as numbers, also below zero, and what a spreadsheet would run as text', async () => {
    const lab = await delivered({ customers: 2, orders: 3 });
    const [[key, id] = ['', '']] = await idsByKey();
    lab.sandbox.removeOrder(id);
    await lab.changeErp("UPDATE sales_orders SET order_no='=HYPERLINK(1)' WHERE id=?", [Number(key)]);
    await lab.capture({ sweep: true });
    await kit.rows(`UPDATE outbox_message SET ${forged.superseded} WHERE state='pending'`);
    const run = await compare(lab);
    const parts = { store: kit.store, settings: lab.settings, clean: (text: string) => text, time: String };
    const text = async (file: AsyncIterable<{ text: string }>) => {
      let all = '';
      for await (const part of file) all += part.text;
      return all;
    };
    const { erpTotal } = (await kit.store.read('list', (tx) => listFindings(tx, run.id, { limit: 9 })))[0] as {
      erpTotal: string;
    };
    expect(await text(sumsCsv(parts, run))).to.match(new RegExp(`,-${erpTotal}$`, 'm'));
    expect(await text(findingsCsv(parts, run)))
      .to.contain(`,'=HYPERLINK(1),`)
      .and.contain(`,${erpTotal},`);
  });

  itOnce('compares what is dated in a range alone', async () => {
    const lab = await delivered({ customers: 3, orders: 30 });
    const asks = {
      from: '2026-10-02',
      to: '2026-10-03',
      fromMs: Date.parse('2026-10-02'),
      toMs: Date.parse('2026-10-03'),
    };
    const run = await compare(lab, 'orders', { asks });
    const [{ n = '' } = {}] = await lab.readErp(
      "SELECT COUNT(*) AS n FROM sales_orders WHERE status='confirmed' AND currency='EUR' AND created_at LIKE '2026-10-02%'",
    );
    const day = Number(n);
    expect(day).to.be.within(5, 25);
    expect(run.tally).to.include({ read: day, same: day });
    const sums = await kit.store.read('sums', (tx) => listSums(tx, run.id));
    expect(sums.map(({ day, erpRecords }) => [day, erpRecords])).to.deep.equal([['2026-10-02', day]]);
  });

  itOnce(
    'lets delivery go first: a backlog keeps at least 95 % of the limit while both sides are compared',
    async () => {
      const limits = [{ requests: 40, perSeconds: 0.4 }];
      const lab = await kit.start({
        customers: 3,
        orders: 60,
        settings: { ...settings, service: { ...settings.service, limits } },
      });
      await lab.capture();
      await lab.deliver();
      const more = [...Array(4).keys()].map((nth) => 1_000 * (nth + 1));
      for (const offset of more) {
        await lab.changeErp(
          `INSERT INTO sales_orders SELECT id+${offset}, order_no || '-${offset}', customer_id, status, order_date, currency, total, remark, created_at, updated_at
           FROM sales_orders WHERE id<1000`,
        );
        await lab.changeErp(
          `INSERT INTO sales_order_lines SELECT id+${offset * 1000}, order_id+${offset}, line_no, product_id, qty, unit_price FROM sales_order_lines WHERE order_id<1000`,
        );
      }
      // Their changed-at lies behind the cursor.
      await lab.capture({ sweep: true });
      lab.sandbox.setLimit({ requests: 40, windowMs: 400 });
      const before = lab.sandbox.ledger().requests.length;
      await withServiceLease(lab.context, async (lease) => {
        const run = await kit.store.transaction('begin', (tx) =>
          openRun(tx, { subject: 'orders', asks: all, total: 0 }, { actor: 'test', nowMs: Date.now(), again: true }),
        );
        const delivering = deliver(lab.context, lab.client, lease, {
          untilDrained: true,
          scope: { only: null },
          retryHorizonMs: 20_000,
          trial: false,
          erp: lab.reader,
        });
        const comparing = reconcile(lab.context, { reader: lab.reader, client: lab.client, lease }, run.id);
        await delivering;
        const requests = lab.sandbox.ledger().requests.slice(before);
        const lastSent = requests.findLastIndex(({ method }) => method === 'POST');
        const reads = requests.slice(0, lastSent).filter(({ method }) => method === 'GET').length;
        expect(requests.filter(({ method }) => method === 'POST')).to.have.length(240);
        expect(reads / lastSent).to.be.below(0.05);
        expect((await comparing).state).to.equal('done');
      });
      expect(lab.sandbox.counts()).to.include({ throttled: 0 });
      expect(duplicates(lab)).to.deep.equal([]);
    },
  );

  itOnce('goes on wherever it was stopped, again and again, and counts nothing twice', async function () {
    this.timeout(120_000);
    const lab = await delivered({ customers: 2, orders: 200 });
    const ids = await idsByKey();
    for (const [nth, [, id]] of ids.entries()) if (nth % 40 === 7) lab.sandbox.removeOrder(id);
    const whole = await compare(lab);
    const { id: runId } = await kit.store.transaction('begin', (tx) =>
      openRun(tx, { subject: 'orders', asks: all, total: 0 }, { actor: 'test', nowMs: Date.now(), again: true }),
    );
    const places: (string | null)[] = [];
    for (let nth = 0; nth < 4; nth++)
      await withServiceLease(lab.context, async (lease) => {
        const parts = { reader: lab.reader, client: lab.client, lease };
        const stop = new AbortController();
        let pages = 0;
        // It stops in the middle of its second page, whose requests have partly gone.
        const onProgress = () => {
          if (++pages === 2) setTimeout(() => stop.abort(), 5 * nth);
        };
        const run = await reconcile(lab.context, parts, runId, { signal: stop.signal, leavesOpen: true, onProgress });
        places.push(run.position);
        expect(run.state).to.equal(run.phase === 'ended' ? 'done' : 'running');
      });
    expect(new Set(places).size).to.be.above(1);
    const run = await withServiceLease(lab.context, (lease) =>
      reconcile(lab.context, { reader: lab.reader, client: lab.client, lease }, runId),
    );
    expect(run.state).to.equal('done');
    expect(run.tally.found).to.deep.equal(whole.tally.found);
    expect(run.tally).to.include({ read: 200, same: 195 });
    expect(await found(run)).to.deep.equal(await found(whole));
    const sums = (id: number) => kit.store.read('sums', (tx) => listSums(tx, id));
    expect(await sums(run.id)).to.deep.equal(await sums(whole.id));
  });

  itOnce('lets go of the service in between: a daemon that is started meanwhile goes on with it', async () => {
    const lab = await delivered({ customers: 2, orders: 90 });
    const daemon = lab.another({ actor: 'daemon@test' });
    const watched: string[] = [];
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const comparing = startReconcile(lab.context, partners(lab), 'orders', all, {
      again: true,
      turnMs: 0,
      onProgress: () => begin(),
      onWatch: (holder) => watched.push(holder),
    });
    await begun;
    let lease: unknown;
    while (!(lease instanceof ServiceLease)) {
      await sleep(50);
      lease = await ServiceLease.acquire(daemon.context);
    }
    const [left] = await kit.rows('SELECT id FROM reconciliation');
    const read = async () => (await kit.store.read('look', (tx) => readRun(tx, Number(left?.id))))?.tally.read;
    expect(await read(), 'it had the service for one page').to.equal(40);
    const parts = { reader: daemon.reader, client: daemon.client, lease };
    await reconcileAsked(daemon.context, parts, new AbortController().signal);
    const run = await comparing;
    await lease.release();
    expect(run).to.include({ state: 'done', reason: null });
    expect(run.tally).to.include({ read: 90, same: 90, requests: 90 });
    expect(watched).to.deep.equal(['daemon@test']);
  });

  itOnce('gives nothing up of a row that may not be sent any more', async () => {
    const lab = await delivered({ customers: 2, orders: 4 });
    const [gone, wrong] = (await idsByKey()) as [[string, string], [string, string]];
    lab.sandbox.removeOrder(gone[1]);
    lab.sandbox.setOrder(wrong[1], { total: 5 });
    await lab.changeErp(`UPDATE sales_orders SET status='shipped' WHERE id IN (${gone[0]},${wrong[0]})`);
    const run = await compare(lab);
    expect(Object.fromEntries(await found(run))).to.deep.equal({
      [gone[0]]: 'gone_unsendable',
      [wrong[0]]: 'changed_unsendable total',
    });
    expect((await planRepair(lab.context, run)).count).to.equal(0);
    expect(await idsByKey()).to.have.length(4);
  });

  itOnce('says of a customer that the service changed which field, and repairs it', async () => {
    const lab = await delivered({ customers: 3, orders: 3 });
    const [customer] = lab.sandbox.ledger().customers;
    await staff(lab, `/v1/customers/${customer?.customer_code}`, { name: 'Somebody else' });
    const run = await compare(lab, 'customers');
    expect([...(await found(run)).values()]).to.deep.equal(['changed name']);
    await repair(lab.context, partners(lab), { run, plan: await planRepair(lab.context, run), reason: 'why' });
    expect(await found(await compare(lab, 'customers'))).to.deep.equal(new Map());
  });

  itOnce('compares the invoices by a proven list, which also brings them up to date', async () => {
    const lab = await delivered({ customers: 2, orders: 4 });
    lab.sandbox.addInvoices([{ amount: 100 }, { amount: 200 }, { amount: 300 }]);
    await lab.pull();
    const [left] = lab.sandbox.addInvoices([{ amount: 400 }]);
    const [, paid] = await kit.rows('SELECT invoice_no FROM invoice ORDER BY invoice_no');
    lab.sandbox.payInvoice(paid?.invoice_no as string);
    const [changed, , back] = await kit.rows('SELECT invoice_no FROM invoice ORDER BY invoice_no');
    await kit.store.transaction('know it otherwise', async (tx) => {
      await tx.run('UPDATE invoice SET amount=150 WHERE invoice_no=?', [changed?.invoice_no]);
      await tx.run('UPDATE invoice SET unlisted_at=1 WHERE invoice_no=?', [back?.invoice_no]);
    });
    const run = await compare(lab, 'invoices');
    expect(run).to.include({ state: 'done' });
    expect(said(run.tally.proof)).to.match(/^Proven/);
    expect(Object.fromEntries(await found(run))).to.deep.equal({
      [left?.invoice_no as string]: 'new_on_list',
      [back?.invoice_no as string]: 'new_on_list',
      [paid?.invoice_no as string]: 'left_list',
      [changed?.invoice_no as string]: 'changed amount',
    });
    const findings = await kit.store.read('list', (tx) => listFindings(tx, run.id, { limit: 9 }));
    const [total] = totalsByCurrency(await kit.store.read('sums', (tx) => listSums(tx, run.id)));
    const sumOf = (side: 'erpTotal' | 'serviceTotal') =>
      findings.reduce((sum, one) => sum + BigInt(one[side] ?? 0), 0n);
    expect(findings.find(({ cause }) => cause === 'changed')?.erpTotal).to.equal('150');
    // The sums differ by exactly what is listed.
    const difference = (total?.serviceTotal ?? 0n) - (total?.erpTotal ?? 0n);
    expect(sumOf('serviceTotal') - sumOf('erpTotal')).to.equal(difference);
    expect(await found(await compare(lab, 'invoices'))).to.deep.equal(new Map());
  });

  itOnce(
    'finds exactly 500 seeded differences, and none is left after the repair, within the limit',
    async function () {
      this.timeout(120_000);
      const lab = await kit.start({
        customers: 20,
        orders: 550,
        settings: { ...settings, service: { ...settings.service, limits: [{ requests: 200, perSeconds: 0.2 }] } },
      });
      await lab.capture();
      await lab.deliver();
      const ids = await idsByKey();
      const expected = new Map<string, string>();
      const seed = async (count: number, cause: string, work: (key: string, id: string) => Promise<void> | void) => {
        for (const [key, id] of ids.splice(0, count)) {
          await work(key, id);
          expected.set(key, cause);
        }
      };
      await seed(100, 'gone_at_service', (_, id) => lab.sandbox.removeOrder(id));
      await seed(100, 'changed note', (_, id) => staff(lab, `/v1/orders/${id}`, { note: 'by hand' }));
      await seed(50, 'changed note', (_, id) => staff(lab, `/v1/orders/${id}`, { note: null }));
      await seed(100, 'changed total', (_, id) => void lab.sandbox.setOrder(id, { total: 13 }));
      await seed(50, 'deleted_in_erp', (key) => deleteInErp(lab, key));
      // Withdrawn from the store as if they had never been captured.
      await seed(100, 'never_sent', async (key, id) => {
        lab.sandbox.removeOrder(id);
        await kit.rows(`DELETE FROM binding WHERE entity='order' AND source_key='${key}'`);
        await kit.rows(`DELETE FROM outbox_message WHERE entity='order' AND source_key='${key}'`);
      });
      lab.sandbox.forgetKeys();
      // The sandbox would answer 429 to one request too many.
      lab.sandbox.setLimit({ requests: 200, windowMs: 200 });
      const run = await compare(lab);
      expect(await found(run)).to.deep.equal(expected);
      expect(run.tally).to.include({ same: 50 });
      const plan = await planRepair(lab.context, run);
      expect(plan.count).to.equal(500);
      await repair(lab.context, partners(lab), { run, plan, reason: 'month end' });
      const after = await compare(lab);
      expect(await found(after)).to.deep.equal(new Map());
      expect(after.tally).to.include({ read: 500, same: 500 });
      expect(duplicates(lab)).to.deep.equal([]);
      expect(lab.sandbox.counts()).to.include({ throttled: 0, orders: 500 });
    },
  );
});
