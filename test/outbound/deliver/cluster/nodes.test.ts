import { expect } from 'chai';
import type { Settings } from '../../../../src/config/settings.js';
import { checkStatus } from '../../../../src/daemon/check-status.js';
import { readStatus } from '../../../../src/daemon/read-status.js';
import { describeStatus } from '../../../../src/daemon/status-lines.js';
import { alertChanges } from '../../../../src/daemon/watch-alerts.js';
import { readiness } from '../../../../src/desk/monitoring/readiness.js';
import type { Fact } from '../../../../src/model/facts/fact.js';
import { outside } from '../../../../src/model/outside.js';
import type { JobContext } from '../../../../src/ops/job-context.js';
import { claimMessages } from '../../../../src/outbound/deliver/claim-messages.js';
import { CaptureFailures } from '../../../../src/outbound/deliver/cluster/capture-failures.js';
import { comparedSettings } from '../../../../src/outbound/deliver/cluster/compared-settings.js';
import type { Membership } from '../../../../src/outbound/deliver/cluster/membership.js';
import { clockLead, isClockUnfit } from '../../../../src/outbound/deliver/cluster/node-clock.js';
import { deliver } from '../../../../src/outbound/deliver/deliver.js';
import { SendGate } from '../../../../src/outbound/deliver/send-gate.js';
import { ServiceLease } from '../../../../src/outbound/deliver/service-lease.js';
import { sha256 } from '../../../../src/outbound/outbox/content-hash.js';
import { createKey } from '../../../../src/outbound/outbox/idempotency-key.js';
import { insertMessages, type NewMessage } from '../../../../src/outbound/outbox/new-messages.js';
import { openAlerts, raiseAlert } from '../../../../src/store/alerts.js';
import { listPauses } from '../../../../src/store/lane-pauses.js';
import { Lease } from '../../../../src/store/lease.js';
import { readNodes } from '../../../../src/store/lease-rows.js';
import { migrations } from '../../../../src/store/migration-list.js';
import { nodeTroubles } from '../../../../src/store/node-troubles.js';
import {
  boundedTimes,
  type NodeView,
  nextLeader,
  nodeNameHere,
  readLeader,
  redisAlertOf,
  shareOf,
  viewNodes,
} from '../../../../src/store/nodes.js';
import { openStore } from '../../../../src/store/open-store.js';
import { tell, tellWhole } from '../../../../src/words/words.js';
import { onServers } from '../../../store/stores.js';
import { insertSampleOrder } from '../../../support/change-sample-erp.js';
import { ConnectProxy } from '../../../support/connect-proxy.js';
import { everyAttempt } from '../../../support/every-attempt.js';
import { forged } from '../../../support/forged.js';
import { claimTerms } from '../../../support/jobs/claim-terms.js';
import { type Lab, useLab } from '../../../support/jobs/job-lab.js';
import { waitFor } from '../../../support/wait-for.js';

const windowMs = 500;
const requests = 8;

onServers('nodes of a cluster', (store) => {
  const kit = useLab(store, 'sqlite');
  const ending: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ending.splice(0).reverse()) await end().catch(() => undefined);
  });

  const asNode = (lab: Lab, node: string) => {
    lab.context.settings = { ...lab.settings, cluster: { ...lab.settings.cluster, enabled: true, node } };
    return lab;
  };
  const limits = { deadlineSeconds: 3, limits: [{ requests, perSeconds: windowMs / 1000 }] };
  /** As many processes as names, each with its own connections to the store. */
  const labs = async (names: string[], orders = 12, ...more: typeof limits.limits) => {
    const service = { ...limits, limits: [...limits.limits, ...more] };
    const first = await kit.start({ customers: 4, orders, settings: { service } });
    const others: Lab[] = [];
    for (const name of names.slice(1)) others.push(first.another({ actor: name, store: await kit.connect() }));
    return [first, ...others].map((lab, nth) => asNode(lab, names[nth] as string)) as [Lab, Lab, ...Lab[]];
  };
  const join = async ({ context }: { context: JobContext }) => {
    const lease = await ServiceLease.acquire(context, undefined, 'node');
    if (lease instanceof ServiceLease) ending.push(() => lease.release());
    return lease;
  };
  const joined = async (lab: Lab) => {
    const lease = await join(lab);
    if (!(lease instanceof ServiceLease)) throw new Error(lease.holder);
    return lease;
  };
  /** Joins and delivers until it is stopped. */
  const start = async (lab: Lab) => {
    const lease = await joined(lab);
    const stop = new AbortController();
    const options = { untilDrained: false, scope: { only: null }, retryHorizonMs: 0, trial: false, erp: lab.reader };
    const result = deliver(lab.context, lab.client, lease, { ...options, signal: stop.signal });
    const leave = async () => {
      stop.abort();
      const { stopped } = await result;
      await lease.release();
      return stopped;
    };
    ending.push(leave);
    return { lease, result, leave };
  };
  /** Leads, and waits for answers to three requests that the service has done. */
  const startAndHang = async (lab: Lab) => {
    const node = await start(lab);
    await waitFor('it to lead', async () => (node.lease.leads ? true : null));
    lab.sandbox.setFaults([{ kind: 'hang', effect: 'done', times: 3 }]);
    await waitFor('requests to hang', () => lab.sandbox.faults().some((fault) => fault.fired === 3));
    return node;
  };
  /** The line of `waybill status` about the process that delivers. */
  const shown = async ({ settings, reader }: Lab) => {
    const status = await kit.store.read('look', (tx) => readStatus(tx, settings, reader.identity(), Date.now()));
    expect(checkStatus(status).text).not.to.include('nothing is delivered');
    const time = (ms: number) => new Date(ms).toISOString();
    const [, ...texts] =
      describeStatus(status, { settings, nowMs: Date.now(), time }).find(([name]) => name === 'Delivering') ?? [];
    return texts.join('\n');
  };
  const open = async () =>
    Number(
      (await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE state IN ('pending','sending','in_doubt')"))[0].n,
    );
  const expectOnceWithinLimit = (lab: Lab, orders: number) => {
    const { orders: there, duplicateReferences } = lab.sandbox.counts();
    expect({ there, duplicateReferences }).to.deep.equal({ there: orders, duplicateReferences: 0 });
    const arrivals = lab.sandbox
      .ledger()
      .requests.map((request) => request.received_at_ms)
      .sort((a, b) => a - b);
    for (const [i, at] of arrivals.entries()) {
      const next = arrivals[i + requests];
      if (next !== undefined) expect(next - at, `${requests + 1} requests from ${at}`).to.be.at.least(windowMs - 1);
    }
  };

  it('have epochs of one counter, and a store has either them or a deliverer that shares it with none', async () => {
    const [a, b] = await labs(['a', 'b']);
    const alone = await Lease.acquire(kit.store, 'service', 'alone', 60_000);
    if (!alone.held) throw new Error('held');
    expect(await join(a)).to.include({ holder: 'alone (no node of a cluster)' });
    await alone.lease.release();

    const first = await joined(a);
    const second = await joined(b);
    expect([first.epoch, second.epoch]).to.deep.equal([alone.lease.epoch + 1, alone.lease.epoch + 2]);
    expect(await Lease.acquire(kit.store, 'service', 'alone', 60_000)).to.deep.include({
      held: false,
      holder: 'test (node a of a cluster)',
    });
    const twin = asNode(a.another({ actor: 'twin', store: await kit.connect() }), 'a');
    expect(await join(twin)).to.include({ holder: 'test (also node a)' });
    const other = asNode(a.another({ settings: { service: { limits: [{ requests: 9, perSeconds: 1 }] } } }), 'c');
    expect((await join(other)) as { holder: string })
      .to.have.property('holder')
      .that.includes('other service.limits');
    const { settings } = asNode(a.another({}), 'c').context;
    const withBerlin = { ...settings, named: [{ ...settings, source: 'berlin' }] };
    expect(await join({ context: { ...other.context, settings: withBerlin } }))
      .to.have.property('holder')
      .that.includes('other sources');
    const two = ['kiel', 'berlin'].map((source) => ({ ...settings, source }));
    expect(comparedSettings({ ...settings, named: two })).to.deep.equal(
      comparedSettings({ ...settings, named: [...two].reverse() }),
    );

    await first.release();
    await second.release();
    const again = await Lease.acquire(kit.store, 'service', 'alone', 60_000);
    expect(again).to.include({ held: true });
    expect((again as { lease: Lease }).lease.epoch).to.equal(second.epoch + 1);
  });

  it('keep a newer version from changing the schema while they are at work, unless it only adds to it', async () => {
    const [a] = await labs(['a', 'b']);
    const node = await joined(a);
    class Expand1900000000000 {
      async up(): Promise<void> {}
      async down(): Promise<void> {}
    }
    class Contract1900000000001 extends Expand1900000000000 {}
    const refusal = (...ofNewer: (typeof Expand1900000000000)[]) => {
      migrations.push(...ofNewer.map((made) => ({ name: made.name, load: async () => made })));
      return openStore(kit.settings)
        .then(({ store }) => store.close())
        .catch((error: Error) => error.message)
        .finally(() => migrations.splice(-ofNewer.length, ofNewer.length));
    };
    expect(await refusal(Expand1900000000000), 'what only adds').to.equal(undefined);
    expect(await refusal(), 'the older version, beside it').to.equal(undefined);
    expect(await refusal(Expand1900000000000, Contract1900000000001)).to.include(
      'older nodes work (a). Stop them, then start this one.',
    );
    await node.release();
  });

  it('deliver each order once and keep one limit, and one of them leads until it leaves', async () => {
    const [a, b] = await labs(['a', 'b'], 100);
    await a.capture();
    const count = `SELECT COUNT(*) AS n FROM ${everyAttempt} WHERE epoch=? AND verdict='delivered'`;
    const sent = async ({ lease }: { lease: ServiceLease }) => Number((await kit.rows(count, [lease.epoch]))[0].n);
    const first = await start(a);
    await waitFor('it to deliver', async () => (await sent(first)) > requests);
    const second = await start(b);
    await waitFor('both to deliver', async () => (await sent(second)) > 0);
    expect([first.lease.leads, second.lease.leads]).to.deep.equal([true, false]);
    expect(await shown(a)).to.match(/^node a: test; leads; version \S+; since .*; \d+ of 8\/0\.5s\nnode b: b; version/);
    await first.leave();
    await waitFor('the other one to lead', async () => (second.lease.leads ? true : null));
    await waitFor('all to be delivered', async () => ((await open()) === 0 ? true : null), 30_000);
    await waitFor('all places to be its own', async () =>
      b.client.rateLimiter.share.allowed[0]?.requests === requests ? true : null,
    );
    expect(await shown(a)).to.match(/^node a has left, .*\nnode b: b; leads; .*; 8 of 8\/0\.5s$/);
    await second.leave();
    expectOnceWithinLimit(a, (await a.expectedOrders()).size);
    expect(await kit.store.read('look', readLeader)).to.equal(null);
  });

  it('say when a limit is used up by all of them', async () => {
    const [a, b] = await labs(['a', 'b'], 30, { requests: 6, perSeconds: 3600 });
    await a.capture();
    const health = async () => {
      const { settings, reader } = a;
      return checkStatus(await kit.store.read('look', (tx) => readStatus(tx, settings, reader.identity(), Date.now())));
    };
    for (const lab of [a, b]) await start(lab);
    await waitFor('all to be used', () => a.sandbox.counts().requests === 6);
    await waitFor('it to be said', async () => {
      const { level, text } = await health();
      return level === 'WARNING' && text.includes('the limits are used up') ? true : null;
    });
  });

  it('start no request that could outlast their lease', async () => {
    const [a] = await labs(['a']);
    const lease = await joined(a);
    expect(lease.mayStartRequest()).to.equal(true);
    a.context.settings = { ...a.context.settings, service: { ...a.context.settings.service, deadlineSeconds: 3_600 } };
    expect(lease.mayStartRequest()).to.equal(false);
  });

  it('take over what one was sending whose time is over, and it writes nothing more', async () => {
    const [a, b] = await labs(['a', 'b'], 40);
    await a.capture();
    const first = await startAndHang(a);
    await kit.store.transaction('let it end', (tx) =>
      tx.run(`UPDATE lease SET expires_at=${tx.nowMs}-1 WHERE name='node/a'`),
    );
    const second = await start(b);
    await waitFor('the other one to lead', async () => (second.lease.leads ? true : null));
    const { stopped } = await first.result;
    expect(stopped).to.deep.equal({ code: 'lease_lost' });
    await waitFor('all to be delivered', async () => ((await open()) === 0 ? true : null), 30_000);
    // The three that hung may have been done, and nothing says that they never left.
    const [doubtful] = await kit.rows(`SELECT COUNT(*) AS n FROM ${everyAttempt} WHERE epoch=? AND verdict='unknown'`, [
      first.lease.epoch,
    ]);
    expect(Number(doubtful.n)).to.be.at.least(3);
    await second.leave();
    const late = await kit.rows('SELECT COUNT(*) AS n FROM outbox_message WHERE claim_epoch=? AND state=?', [
      first.lease.epoch,
      'sending',
    ]);
    expect(Number(late[0].n)).to.equal(0);
    expectOnceWithinLimit(a, (await a.expectedOrders()).size);
    const [row] = (await kit.store.read('look', readNodes)).filter(({ name }) => name === 'node/a');
    expect(row).to.deep.include({ holder: null, epoch: first.lease.epoch });
    expect(row && shareOf(row)?.places).to.have.length(1);
  });

  it('take over what one was sending that came back, and went before it could join', async () => {
    const [a, b] = await labs(['a', 'b'], 40);
    await a.capture();
    await startAndHang(a);
    const second = await start(b);
    await kit.store.transaction('let it end', async (tx) => {
      await tx.run(`UPDATE lease SET expires_at=${tx.nowMs}-1 WHERE name='node/a'`);
      await raiseAlert(tx, redisAlertOf('a'), { code: 'redis_away', node: 'a', reason: outside('away') }, Date.now());
    });
    const twin = asNode(a.another({ actor: 'twin', store: await kit.connect() }), 'a');
    expect(await join(twin)).to.include({ holder: 'node a itself, whose last requests still count' });
    await waitFor('all to be delivered', async () => ((await open()) === 0 ? true : null), 30_000);
    await second.leave();
    expectOnceWithinLimit(a, (await a.expectedOrders()).size);
    expect(await kit.store.read('look', openAlerts)).to.deep.equal([]);
  });

  it('send nothing after a suspension past their lease, in which their own clocks stood still', async () => {
    const [a, b] = await labs(['a', 'b'], 4);
    const stoodStillAt = a.context.clock.monotonicMs();
    a.context.clock = { ...a.context.clock, monotonicMs: () => stoodStillAt, after: () => () => undefined };
    const lease = await joined(a);
    await kit.store.transaction('let it end', (tx) =>
      tx.run(`UPDATE lease SET expires_at=${tx.nowMs}-1 WHERE name='node/a'`),
    );
    const second = await start(b);
    await waitFor('the other one to end it', async () => (second.lease.leads ? true : null));
    expect(lease.mayStartRequest(), 'by its own clocks').to.equal(true);
    const gate = new SendGate(a.context, lease, null);
    expect(await gate.check('deliver')).to.deep.equal({ code: 'lease_lost' });
    expect(lease.lost).to.equal(true);
    await second.leave();
  });

  it('hand on the lead when they can not read the ERP, and take it back where no other can', async () => {
    const [a, b] = await labs(['a', 'b'], 4);
    const [first, second] = [await start(a), await start(b)];
    const [ofA, ofB] = [first, second].map(({ lease }) => lease.membership as Membership) as [Membership, Membership];
    const isGone: Fact = { code: 'erp_failed', kind: 'unreachable', message: outside('x'.repeat(2_000)) };
    const leads = (one: typeof first) => waitFor('it to lead', async () => (one.lease.leads ? true : null));
    await leads(first);
    ofA.captured('capture', isGone);
    ofA.captured('capture', isGone);
    ofA.captured('capture', isGone);
    await leads(second);
    expect(first.lease.leads).to.equal(false);
    const [trouble, ...others] = nodeTroubles(await kit.store.read('look', viewNodes));
    expect(others).to.deep.equal([]);
    expect(trouble).to.have.property('cause', 'node.a.lead');
    expect(tell(trouble?.message as never)).to.match(/^Node a could not read the ERP, so node b leads: .*xxx/);
    ofB.captured('capture', { code: 'capture_refused', reason: outside('the keys were others') });
    await waitFor('both to be unable', async () =>
      (await kit.store.read('look', viewNodes)).every(({ cannotLead }) => cannotLead !== null) ? true : null,
    );
    expect(second.lease.leads, 'where none can').to.equal(true);
    ofA.captured('capture', null);
    await leads(first);
    for (const node of [first, second]) await node.leave();
  });

  it('stand by with another service or installation, and are named with other settings of another kind', async () => {
    const [a, b] = await labs(['a', 'b'], 4);
    await a.capture();
    const first = await start(a);
    const withOther = (settings: Partial<Settings>) =>
      ({ context: { ...b.context, settings: { ...b.context.settings, ...settings } } }) as Lab;
    const { service, orders, schedule } = b.context.settings;
    const elsewhere = withOther({ service: { ...service, baseUrl: 'http://127.0.0.1:9' } });
    expect(await join(elsewhere)).to.have.property('holder', 'test (node a, which has other service.baseUrl)');
    expect(await join(withOther({ installation: 'other-office' })))
      .to.have.property('holder')
      .that.includes('other installation');
    const key = { ...service, idempotency: { ...service.idempotency, lifetimeHours: 1 } };
    const quiet = { ...schedule, quietHours: [{ from: '01:00', to: '01:30', days: ['mon'], lanes: ['pull'] }] };
    const fields = { ...orders, fields: { ...orders.fields, remark: 'order_no' } };
    b.context.settings = { ...b.context.settings, service: key, orders: fields, schedule: quiet as never };
    const second = await start(b);
    await waitFor('it to lead', async () => (first.lease.leads ? true : null));
    const nodes = await kit.store.read('look', viewNodes);
    const message = { code: 'node_settings_differ', node: 'b', leader: 'a' };
    expect(nodeTroubles(nodes)).to.deep.equal([
      {
        node: 'b',
        cause: 'node.b.settings',
        message: { ...message, parts: ['mapping', 'keys', 'quiet_hours'] },
      },
    ]);
    expect(tellWhole(nodeTroubles(nodes)[0]?.message as never)).to.equal(
      'Node b has other settings than node a, which leads: customers, orders or amounts, service.idempotency, schedule.quietHours. Give all nodes the same settings, and restart the one that was wrong.',
    );
    for (const node of [first, second]) await node.leave();
  });

  it('send nothing under a long limit, do not lead and are named while their clock is not that of the store', async () => {
    const [a, b] = await labs(['a', 'b'], 20, { requests: 1_000, perSeconds: 3600 });
    await a.capture();
    let aheadMs = 7_000;
    a.context.nowMs = () => Date.now() + aheadMs;
    const first = await start(a);
    const second = await start(b);
    await waitFor('it to lead', async () => (first.lease.leads ? true : null));
    const health = async () => {
      const { settings, reader } = b;
      return checkStatus(await kit.store.read('look', (tx) => readStatus(tx, settings, reader.identity(), Date.now())));
    };
    await waitFor('it to be said', async () =>
      /clock of node a is [67] s ahead of that of the store\. /.test((await health()).text) ? true : null,
    );
    aheadMs = -400_000;
    await waitFor('the other one to lead', async () => (second.lease.leads && !first.lease.leads ? true : null));
    await waitFor('all to be delivered', async () => ((await open()) === 0 ? true : null), 30_000);
    expect(a.client.rateLimiter.share.isNothing).to.equal(true);
    expect([await readiness(a.context), await readiness(b.context)]).to.deep.equal([['node clock'], []]);
    expect(await health())
      .to.have.property('text')
      .that.includes('400 s behind that of the store, so it sends nothing');
    const alerts = await kit.store.read('look', (tx) => alertChanges(tx, b.settings, Date.now(), []));
    expect(alerts?.raise.map(({ cause }) => cause)).to.include('node.a.clock');
    aheadMs = 0;
    await waitFor('places to be its own again', async () => (a.client.rateLimiter.share.isNothing ? null : true));
    for (const node of [first, second]) await node.leave();
  });

  const health = async ({ settings, reader }: Lab) =>
    checkStatus(await kit.store.read('look', (tx) => readStatus(tx, settings, reader.identity(), Date.now())));
  const nodeNamed = async (name: string) =>
    (await kit.store.read('look', viewNodes)).find((node) => node.name === name) as NodeView;
  const allDelivered = () => waitFor('all to be delivered', async () => ((await open()) === 0 ? true : null), 30_000);
  const pausesNow = () => kit.store.read('look', listPauses);

  it('rest alone for a refused credential, with no place and no lead, until they have another; the others go on', async () => {
    const [a] = await labs(['a'], 60);
    const stale = a.another({ actor: 'b', store: await kit.connect(), settings: { service: { token: 'stale' } } });
    const [b] = [asNode(stale, 'b')];
    await a.capture();
    const second = await start(b);
    await waitFor('it to meet the refusal alone', async () => (await pausesNow()).length > 0);
    const [alone] = await pausesNow();
    expect(alone).to.include({ lane: 'service', cause: 'credential', actor: 'node b' });
    // The credential of another one is not known to be refused.
    const first = await start(a);
    await allDelivered();
    expect(await pausesNow()).to.deep.equal([]);
    await waitFor('it to give its places up', async () => (b.client.rateLimiter.share.isNothing ? true : null));
    await waitFor('the other one to lead', async () => (first.lease.leads ? true : null));
    expect(await nodeNamed('b')).to.include({ rests: 'credential', leads: false, state: 'at work' });
    expect([await readiness(a.context), await readiness(b.context)]).to.deep.equal([[], ['node credential']]);
    const { level, text } = await health(a);
    expect(level).to.equal('WARNING');
    expect(text).to.match(
      /^Node b sends nothing, because the service refuses its credential: .* Delivery goes on from a\. Replace/,
    );
    const refused = () => a.sandbox.ledger().requests.filter(({ status }) => status === 401).length;
    const knocks = refused();
    for (let n = 0; n < 20; n++) await insertSampleOrder(a.erp);
    await a.capture();
    await allDelivered();
    expect(refused(), 'it does not knock again').to.equal(knocks);
    await first.leave();
    await waitFor('it to be what all have met', async () => (await pausesNow())[0]?.cause === 'credential' || null);
    expect(await readiness(b.context)).to.deep.equal(['credential']);
    await second.leave();
    expectOnceWithinLimit(a, (await a.expectedOrders()).size);
  });

  it('rest alone when nothing gets through to the service, and try again by one request at a time', async () => {
    const [a] = await labs(['a'], 100, { requests: 10_000, perSeconds: 3600 });
    const proxy = await new ConnectProxy().open();
    ending.push(() => proxy.close());
    const b = asNode(
      a.another({ actor: 'b', store: await kit.connect(), settings: { service: { proxy: { url: proxy.url } } } }),
      'b',
    );
    await a.capture();
    const first = await start(a);
    const second = await start(b);
    await waitFor('both to send', () => proxy.tunnels > 0);
    proxy.trouble = 'reset';
    proxy.cut();
    await waitFor('it to rest', async () => (await nodeNamed('b')).rests === 'outage' || null);
    expect([await readiness(a.context), await readiness(b.context)]).to.deep.equal([[], ['node outage']]);
    expect(await pausesNow()).to.deep.equal([]);
    expect((await health(a)).text).to.match(
      /^Node b does not reach the service: .* Delivery goes on from a\. Check the network/,
    );
    await allDelivered();
    for (let n = 0; n < 60; n++) await insertSampleOrder(a.erp);
    await a.capture();
    const asked = proxy.asked.length;
    await waitFor('it to try', () => proxy.asked.length > asked);
    proxy.trouble = null;
    await waitFor('it to work again', async () => {
      await insertSampleOrder(a.erp);
      await a.capture();
      return (await nodeNamed('b')).rests === null || null;
    });
    await allDelivered();
    for (const node of [first, second]) await node.leave();
    expectOnceWithinLimit(a, (await a.expectedOrders()).size);
  });

  it('pause for all what all have met, and each goes on when the service answers it again', async () => {
    const [a, b] = await labs(['a', 'b'], 40);
    await a.capture();
    a.sandbox.setFaults([{ kind: 'status', status: 503 }]);
    const [first, second] = [await start(a), await start(b)];
    await waitFor('all to be paused', async () => (await pausesNow()).some(({ cause }) => cause === 'outage') || null);
    expect(await readiness(a.context), 'the service is away').to.deep.equal([]);
    expect(nodeTroubles(await kit.store.read('look', viewNodes))).to.deep.equal([]);
    expect((await health(a)).text).to.include('Everything that talks to the service is paused (outage)');
    a.sandbox.clearFaults();
    await allDelivered();
    expect(await pausesNow()).to.deep.equal([]);
    for (const node of [first, second]) await node.leave();
  });

  it('stand by in sight, are told when that lasts, and are silent in sight while they are frozen', async () => {
    const [a, b] = await labs(['a', 'b'], 4);
    const first = await start(a);
    const twin = asNode(a.another({ actor: 'twin', store: await kit.connect() }), 'a');
    await join(twin);
    const { service } = b.context.settings;
    const elsewhere = { ...b.context.settings, service: { ...service, baseUrl: 'http://127.0.0.1:9' } };
    await join({ context: { ...b.context, settings: elsewhere } });
    await waitFor('it to lead', async () => (first.lease.leads ? true : null));
    const said = await shown(a);
    expect(said).to.include('twin, node a, stands by: another process has its name (since ');
    expect(said).to.include('b, node b, stands by: node a has other service.baseUrl (since ');
    expect(said, 'it was never a node').not.to.include('has left');
    expect([await readiness(a.context), await readiness(twin.context)]).to.deep.equal([[], ['node standby']]);
    const troubles = async () => nodeTroubles(await kit.store.read('look', viewNodes)).map(({ cause }) => cause);
    expect(await troubles()).to.deep.equal([]);
    await kit.rows("UPDATE lease SET since_at=since_at-61000 WHERE name LIKE 'standby/%'");
    await join(twin);
    expect(await troubles()).to.deep.equal(['node.a.standby', 'node.b.standby']);
    expect((await health(a)).text).to.match(/^twin, node a, stands by: .* Give it another cluster\.node/);
    await first.leave();
    const again = await joined(b);
    expect((await kit.store.read('look', viewNodes)).map(({ name, state }) => [name, state])).to.deep.equal([
      ['a', 'left'],
      ['b', 'at work'],
      ['a', 'standing by'],
    ]);
    const [{ share }] = await kit.rows("SELECT share FROM lease WHERE name='node/b'");
    const frozen = JSON.stringify({ ...JSON.parse(share), at: JSON.parse(share).at - 6_000 });
    await kit.rows(`UPDATE lease SET share='${frozen}' WHERE name='node/b'`);
    expect((await troubles())[0]).to.equal('node.b.silent');
    expect((await health(a)).text).to.match(/^Node b has been silent for some seconds/);
    await again.release();
  });

  it('rest for one window, and end in time, after the clock of the store was set back', async () => {
    const [a, b] = await labs(['a', 'b', 'c'], 40);
    await a.capture();
    const setBackMs = 600_000;
    const first = await start(a);
    const second = await start(b);
    await first.leave();
    await kit.store.transaction('as if the clock was set back', async (tx) => {
      await tx.run(`UPDATE lease SET released_at=${tx.nowMs}+? WHERE name='node/a'`, [setBackMs]);
      await tx.run(
        `INSERT INTO lease (name, epoch, holder, expires_at, share) VALUES ('node/dead', 1, 'dead', ${tx.nowMs}+?, ?)`,
        [setBackMs, JSON.stringify({ limits: '8/0.5s', leaseMs: 1_000, places: [1], demand: [1], at: 0 })],
      );
    });
    await waitFor('all places to be of the one at work', async () =>
      b.client.rateLimiter.share.allowed[0]?.requests === requests ? true : null,
    );
    const again = await joined(a);
    await again.release();
    await second.leave();
  });

  it('claim a record’s messages in their order, however they reach for them at once', async () => {
    const now = Date.now();
    const message = (record: number, revision: number): NewMessage => ({
      entity: 'customer',
      sourceKey: `c${record}`,
      revision,
      operation: 'create',
      generation: revision,
      number: null,
      customerKey: null,
      contentHash: sha256(`${record} ${revision}`),
      mappingFingerprint: sha256('mapping'),
      record: JSON.stringify({ customer_code: `c${record}`, revision }),
      idempotencyKey: createKey('test-office', 'customer', `c${record}`, revision),
      parked: null,
    });
    const revisions = [1, 2, 3, 4];
    const all = revisions.flatMap((revision) => Array.from({ length: 8 }, (_, record) => message(record, revision)));
    const ids = await kit.store.transaction('insert', (tx) => insertMessages(tx, all, now - 1_000));
    const sending = new Map<string, number>();
    const done = new Map<string, number>();
    const node = async (epoch: number) => {
      const its = await kit.connect();
      while (done.size < 8 || [...done.values()].some((revision) => revision < revisions.length)) {
        const { claimed } = await its.transaction('claim', (tx) =>
          claimMessages(tx, ids, claimTerms({ epoch, nowMs: now })),
        );
        for (const { sourceKey, revision } of claimed) {
          expect(sending.has(sourceKey), `two of ${sourceKey} at once`).to.equal(false);
          expect(done.get(sourceKey) ?? 0, `before ${sourceKey} revision ${revision}`).to.equal(revision - 1);
          sending.set(sourceKey, revision);
        }
        // Some at once and some later, so that the other one meets records in every state.
        for (const { id, sourceKey, revision } of claimed) {
          sending.delete(sourceKey);
          done.set(sourceKey, revision);
          await its.transaction('end', (tx) =>
            tx.run(`UPDATE outbox_message SET ${forged.delivered} WHERE id=?`, [id]),
          );
        }
      }
    };
    await Promise.all([node(1), node(2), node(3)]);
    expect([...done.values()]).to.deep.equal(Array(8).fill(revisions.length));
  });
});

describe('a node’s failures to read the ERP', () => {
  const failed: Fact = { code: 'erp_failed', kind: 'unreachable', message: outside('away') };
  it('keep it from leading after three in a row of one source, or a refusal, until one succeeds or ten minutes are over', () => {
    const captures = new CaptureFailures();
    const note = (...jobs: string[]) => {
      for (const job of jobs) captures.note(job, failed, 0);
      return captures.failure(0)?.code ?? null;
    };
    expect(note('capture', 'capture')).to.equal(null);
    captures.note('capture', null, 0);
    expect(note('capture', 'capture', 'capture.kiel', 'capture.kiel')).to.equal(null);
    expect(note('capture')).to.equal('erp_failed');
    captures.note('capture', null, 0);
    expect(captures.failure(599_999)?.code, 'another source fails').to.equal('erp_failed');
    expect(captures.failure(600_000)).to.equal(null);
    captures.note('capture', { code: 'capture_refused', reason: outside('keys') }, 0);
    expect(captures.failure(0)?.code).to.equal('capture_refused');
    captures.note('capture', null, 0);
    expect(captures.failure(0)).to.equal(null);
  });
});

describe('the clock of a node', () => {
  const long = [{ windowMs: 500 }, { windowMs: 60_000 }];
  it('is ahead or behind by what the time of the question does not explain', () => {
    expect([clockLead(100, 150, 200), clockLead(100, 90, 200), clockLead(100, 230, 200)]).to.deep.equal([0, 10, -30]);
  });
  it('is unfit from ten seconds on, either way, where a limit is counted from the record', () => {
    expect([10_001, -10_001, 10_000].map((leadMs) => isClockUnfit(leadMs, long))).to.deep.equal([true, true, false]);
    expect(isClockUnfit(400_000, long.slice(0, 1))).to.equal(false);
  });
});

describe('the lead of a cluster', () => {
  const node = (epoch: number, isAble: boolean) => ({ epoch, isAble });
  const next = (leader: number | null, ...nodes: { epoch: number; isAble: boolean }[]) =>
    nextLeader(nodes, leader)?.epoch;
  it('stays, goes to a node that is able to, and to any where none is', () => {
    expect(next(2, node(1, true), node(2, true))).to.equal(2);
    expect(next(2, node(1, true), node(2, false))).to.equal(1);
    expect(next(2, node(1, false), node(2, false))).to.equal(2);
    expect(next(7, node(1, false), node(2, true))).to.equal(2);
    expect(next(null, node(1, false), node(2, false))).to.equal(1);
  });
});

describe('the times of a lease', () => {
  it('are none that a clock which was set back has left ahead', () => {
    const now = 1_000_000;
    expect(boundedTimes({ releasedAt: now + 600_000, expiresAt: null, now })).to.deep.equal({
      releasedAt: now,
      expiresAt: null,
    });
    const held = { releasedAt: null, expiresAt: now + 90_000, now };
    expect(boundedTimes(held, 30_000)).to.deep.equal({ releasedAt: null, expiresAt: now + 30_000 });
    expect(boundedTimes(held)).to.deep.equal({ releasedAt: null, expiresAt: now + 90_000 });
    expect(boundedTimes({ releasedAt: now - 5, expiresAt: now - 7, now })).to.deep.equal({
      releasedAt: now - 5,
      expiresAt: now - 7,
    });
  });
});

describe('the name of a node', () => {
  it('is the one of the settings, or that of the machine as far as it may stand in a name', () => {
    expect(nodeNameHere('left')).to.equal('left');
    expect(nodeNameHere(undefined)).to.match(/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/);
  });
});
