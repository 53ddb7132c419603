import { expect } from 'chai';
import { runSchedule } from '../../../src/daemon/schedule.js';
import { alertChanges, writeAlertChanges } from '../../../src/daemon/watch-alerts.js';
import { prepareReadBack, readOrdersBack } from '../../../src/inbound/orders/read-back.js';
import { readOrder } from '../../../src/inbound/orders/read-order.js';
import { recallRequests } from '../../../src/outbound/deliver/lane-keeper.js';
import type { ServiceClient } from '../../../src/service/service-client.js';
import { openAlerts } from '../../../src/store/alerts.js';
import { forged } from '../../support/forged.js';
import { type Lab, type LabOptions, onSqliteLabAnd, withServiceLease } from '../../support/jobs/job-lab.js';
import { pausesOf } from '../../support/jobs/service-of.js';
import { withMethod } from '../../support/jobs/with-method.js';
import { told } from '../../support/told.js';
import { waitFor } from '../../support/wait-for.js';

const readBack = { enabled: true, finalStates: ['completed'], maxShare: 0.5 };
const settings = {
  service: {
    endpoints: { readOrder: {} },
    // Short, because whoever takes the lease waits for one window.
    limits: [{ requests: 500, perSeconds: 0.1 }],
    states: { order: ['confirmed', 'shipped', 'completed'] },
  },
  orders: { readBack },
};

onSqliteLabAnd('mysql', 'reading orders back', (kit) => {
  /** Behaviour that depends on no database is proven once. */
  const itOnce = kit.dialect === 'sqlite' ? it : () => undefined;
  const delivered = async (more: LabOptions = {}) => {
    const lab = await kit.start({ customers: 2, orders: 4, settings, ...more });
    await lab.capture();
    await lab.deliver();
    return lab;
  };
  const sweep = (lab: Lab) =>
    withServiceLease(lab.context, async (lease) => {
      await prepareReadBack(lab.context, lease);
      return readOrdersBack(lab.context, lab.client, lease);
    });
  const read = (lab: Lab, order: { orderId: string } | { sourceKey: string }) =>
    withServiceLease(lab.context, (lease) => readOrder(lab.context, lab.client, lease, order));
  const rested = () => kit.rows("UPDATE binding SET read_asked_at=NULL WHERE entity='order'");
  const bindings = () =>
    kit.rows(
      `SELECT service_id AS id, read_state AS state, service_status AS status, service_total AS total, read_flag_code AS flag_code, read_flag_data AS flag_data
         FROM binding WHERE entity='order' ORDER BY service_id`,
    );
  const readTimes = async () =>
    (await kit.rows("SELECT read_at FROM binding WHERE entity='order'")).map((row) => row.read_at as number | null);
  const news = async () =>
    (
      await kit.rows(
        "SELECT outcome, source_key, detail FROM audit_log WHERE event='read_back' AND outcome<>'status' ORDER BY id",
      )
    ).map((row) => row.outcome);
  const ordersOf = (lab: Lab) => lab.sandbox.ledger().orders;
  const readsOf = (lab: Lab) =>
    lab.sandbox.ledger().requests.filter(({ method, path }) => method === 'GET' && path.startsWith('/v1/orders/'));
  const alerts = async (lab: Lab, nowMs = Date.now()) =>
    kit.store.transaction('look for alerts', async (tx) => {
      const changes = await alertChanges(tx, lab.settings, nowMs, await openAlerts(tx));
      if (changes) await writeAlertChanges(tx, changes, nowMs);
      return (await openAlerts(tx)).map(({ cause }) => cause);
    });

  it('reads what a fast clock says was asked for days from now', async () => {
    const lab = await delivered();
    await sweep(lab);
    await kit.rows(`UPDATE binding SET read_asked_at=${Date.now() + 72 * 3_600_000} WHERE entity='order'`);
    const count = ordersOf(lab).length;
    expect((await sweep(lab)).read).to.equal(count);
    expect((await sweep(lab)).read).to.equal(0);
  });

  it('keeps status and total of each, puts each request on record, and rests until it is due again', async () => {
    const lab = await delivered();
    const count = ordersOf(lab).length;
    expect(await sweep(lab)).to.deep.equal({ read: count, changed: count, gone: 0, failed: 0, stopped: null });
    const expected = ordersOf(lab).map(({ order_id: id, total }) => ({
      id,
      state: 'open',
      status: 'confirmed',
      total,
      flag: null,
    }));
    expect(await bindings()).to.have.deep.members(expected);
    const attempts = await kit.rows("SELECT status, verdict FROM attempt WHERE purpose='read_order'");
    expect(attempts).to.deep.equal(Array(count).fill({ status: 200, verdict: 'read' }));
    expect(await sweep(lab)).to.include({ read: 0 });
    expect(readsOf(lab)).to.have.length(count);
  });

  it('tells of a new status once, stores an unknown one verbatim and reports it once, and reads a final one no more', async () => {
    const lab = await delivered();
    await sweep(lab);
    const [first, second, third] = ordersOf(lab);
    lab.sandbox.setOrder(first?.order_id as string, { status: 'completed' });
    lab.sandbox.setOrder(second?.order_id as string, { status: 'Zurückgestellt ¿?' });
    lab.sandbox.setOrder(third?.order_id as string, { status: 'Zurückgestellt ¿?' });
    await rested();
    expect(await sweep(lab)).to.include({ read: ordersOf(lab).length, changed: 3 });
    const bound = new Map((await bindings()).map((row) => [row.id, row]));
    expect(bound.get(first?.order_id)).to.include({ state: 'final', status: 'completed' });
    expect(bound.get(second?.order_id)).to.include({ state: 'open', status: 'Zurückgestellt ¿?' });
    const audited = await kit.rows(
      "SELECT detail FROM audit_log WHERE event='read_back' AND outcome='status' ORDER BY id",
    );
    expect(audited).to.have.length(ordersOf(lab).length + 3);
    const changes = audited.slice(-3).map((row) => JSON.parse(row.detail));
    expect(changes.find(({ to }) => to === 'completed')).to.include({ orderId: first?.order_id, from: 'confirmed' });
    expect(await alerts(lab)).to.deep.equal(['states.order']);
    expect(lab.log.filter((line) => line.includes('does not name') || line.includes('do not name'))).to.have.length(1);

    const before = readsOf(lab).length;
    await rested();
    expect(await sweep(lab)).to.include({ read: ordersOf(lab).length - 1, changed: 0 });
    expect(
      readsOf(lab)
        .slice(before)
        .some(({ path }) => path.endsWith(first?.order_id as string)),
    ).to.equal(false);
    // Other states are final now: that one is read again, and the others no more.
    const other = lab.another({ settings: { orders: { readBack: { finalStates: ['confirmed'] } } } });
    await rested();
    expect(await sweep(other)).to.include({ read: 3, changed: 0 });
  });

  it('shows an order that is gone, alerts, never creates it again, and takes it back when it is there again', async () => {
    const lab = await delivered();
    await sweep(lab);
    const [order] = ordersOf(lab);
    const orderId = order?.order_id as string;
    const match = { method: 'GET', path: `/v1/orders/${orderId}` };
    lab.sandbox.setFaults([{ kind: 'status', status: 404, body: {}, match }]);
    await rested();
    expect(await sweep(lab)).to.include({ gone: 1, changed: 1 });
    await rested();
    expect(await sweep(lab)).to.include({ gone: 1, changed: 0 });
    const row = (await bindings()).find(({ id }) => id === orderId);
    expect(row).to.include({ state: 'gone', status: 'confirmed', total: order?.total });
    expect(await alerts(lab)).to.deep.equal(['orders.gone']);
    expect(await alerts(lab, Date.now() + 8 * 86_400_000)).to.not.include('orders.gone');
    expect(await alerts(lab)).to.deep.equal(['orders.gone']);
    await lab.capture();
    await lab.deliver();
    expect(lab.sandbox.ledger().requests.filter(({ method }) => method === 'POST')).to.have.length(
      ordersOf(lab).length + lab.sandbox.ledger().customers.length,
    );
    lab.sandbox.clearFaults();
    expect(await read(lab, { orderId })).to.deep.include({ kind: 'read', status: 'confirmed', changed: true });
    expect(await news()).to.deep.equal(['gone', 'back']);
    expect(await alerts(lab)).to.deep.equal([]);
  });

  it('flags a total that differs from what was acknowledged, and lifts the flag when it agrees again', async () => {
    const lab = await delivered();
    const [order] = ordersOf(lab);
    const [orderId, total] = [order?.order_id as string, order?.total as number];
    lab.sandbox.setOrder(orderId, { total: total + 5 });
    await sweep(lab);
    const flagOf = async () => (await bindings()).find(({ id }) => id === orderId).flag;
    expect(await flagOf()).to.equal(`The service has a total of ${total + 5}, and the lines add up to ${total}.`);
    expect(await news()).to.deep.equal(['total']);
    await read(lab, { orderId });
    expect(await news()).to.deep.equal(['total']);
    lab.sandbox.setOrder(orderId, { total });
    await read(lab, { orderId });
    expect(await flagOf()).to.equal(null);
    const off = lab.another({ settings: { service: { checkTotal: 'off' } } });
    lab.sandbox.setOrder(orderId, { total: 1 });
    await read(off, { orderId });
    expect(await flagOf()).to.equal(null);
  });

  it('reads one order by its id or by its key, and says what is none of ours or can not be asked', async () => {
    const lab = await delivered();
    const [{ source_key: sourceKey, service_id: orderId }] = (await kit.rows(
      "SELECT source_key, service_id FROM binding WHERE entity='order' ORDER BY source_key LIMIT 1",
    )) as [{ source_key: string; service_id: string }];
    const total = ordersOf(lab).find((order) => order.order_id === orderId)?.total;
    const shown = { kind: 'read', sourceKey, status: 'confirmed', total };
    expect(await read(lab, { orderId })).to.deep.equal({ ...shown, changed: true });
    expect(await read(lab, { sourceKey })).to.deep.equal({ ...shown, changed: false });
    expect(await read(lab, { orderId: 'of-somebody-else' })).to.deep.equal({ kind: 'unknown' });
    const without = lab.another({
      settings: { service: { endpoints: { readOrder: undefined } }, orders: { readBack: { enabled: false } } },
    });
    expect(await read(without, { orderId })).to.deep.include({ kind: 'not_read', isRefused: true });
  });

  itOnce(
    'passes over an order that is refused or makes no sense, and stops where the service itself does not answer',
    async () => {
      const lab = await delivered();
      const [a, b] = ordersOf(lab).map(({ order_id: id }) => ({ method: 'GET', path: `/v1/orders/${id}` }));
      const body = { order_id: 'another', status: 'shipped', total: 1 };
      lab.sandbox.setFaults([
        { kind: 'status', status: 400, match: a as object },
        { kind: 'status', status: 200, body, match: b as object },
      ]);
      const count = ordersOf(lab).length;
      expect(await sweep(lab)).to.deep.equal({
        read: count - 2,
        changed: count - 2,
        gone: 0,
        failed: 2,
        stopped: null,
      });
      expect(await sweep(lab)).to.include({ read: 0, failed: 0 });
      expect((await readTimes()).filter((at) => at === null)).to.have.length(2);
      await rested();
      await lab.sandbox.goDown();
      expect(told(await sweep(lab)))
        .to.include({ read: 0, failed: 0 })
        .and.have.property('stopped')
        .that.is.a('string');
      await lab.sandbox.comeBack();
      lab.sandbox.clearFaults();
      expect(await sweep(lab)).to.include({ read: count, stopped: null });
    },
  );

  for (const fault of [{ kind: 'status', status: 403 }, { kind: 'redirect' }] as const)
    itOnce(
      `takes a ${fault.kind} of one order for a refusal of this one, alerts, and holds up nothing else`,
      async () => {
        const lab = await delivered();
        const [order] = ordersOf(lab);
        const path = `/v1/orders/${order?.order_id}`;
        lab.sandbox.setFaults([{ ...fault, match: { method: 'GET', path } }]);
        expect(await sweep(lab)).to.include({ read: ordersOf(lab).length - 1, failed: 1, stopped: null });
        expect(await pausesOf(kit)).to.deep.equal([]);
        expect((await lab.pull()).outcome).to.equal('proven');
        expect(await alerts(lab)).to.deep.equal(['read_order.forbidden']);
        expect(await alerts(lab, Date.now() + 25 * 3_600_000)).to.not.include('read_order.forbidden');
      },
    );

  for (const [status, lane, cause] of [
    [401, 'service', 'credential'],
    [429, 'service', 'throttled'],
  ] as const)
    itOnce(`heeds a ${status} as a pull does, and asks nothing while it is paused`, async () => {
      const lab = await delivered();
      lab.sandbox.setFaults([
        { kind: 'status', status, headers: status === 429 ? { 'retry-after': '600' } : {}, match: { method: 'GET' } },
      ]);
      expect(told((await sweep(lab)).stopped)).to.be.a('string');
      expect(await pausesOf(kit)).to.have.length(1);
      expect((await pausesOf(kit))[0]).to.include({ lane, cause });
      const before = lab.sandbox.counts().requests;
      expect(told((await sweep(lab)).stopped)).to.contain('paused');
      const [order] = ordersOf(lab);
      expect(await read(lab, { orderId: order?.order_id as string })).to.include({
        kind: 'not_read',
        isRefused: false,
      });
      expect(lab.sandbox.counts().requests).to.equal(before);
    });

  itOnce('is quiet in the quiet hours of the lane pull', async () => {
    const lab = await delivered();
    const quiet = lab.another({
      settings: { schedule: { quietHours: [{ lanes: ['pull'], from: '00:00', to: '24:00' }] } },
    });
    expect(told((await sweep(quiet)).stopped)).to.contain('quiet');
    expect(readsOf(lab)).to.deep.equal([]);
  });

  itOnce('counts for a limit of a day like everything else', async () => {
    const lab = await delivered();
    await read(lab, { orderId: ordersOf(lab)[0]?.order_id as string });
    const sent = lab.sandbox.counts().requests;
    const limits = [{ requests: sent + 1, perSeconds: 86_400 }];
    const limited = lab.another({ settings: { service: { limits } } });
    await withServiceLease(limited.context, async (lease) => {
      await recallRequests(limited.context, limited.client.rateLimiter, lease);
      const orderId = ordersOf(lab)[1]?.order_id as string;
      expect(await readOrder(limited.context, limited.client, lease, { orderId })).to.include({ kind: 'read' });
      expect(told((await readOrdersBack(limited.context, limited.client, lease)).stopped)).to.contain('used up');
    });
    expect(lab.sandbox.counts().requests).to.equal(sent + 1);
  });

  it('keeps nothing that it read of an order while an update of it was sent', async () => {
    const lab = await delivered();
    const orderId = ordersOf(lab)[0]?.order_id as string;
    await read(lab, { orderId });
    lab.sandbox.setOrder(orderId, { status: 'shipped' });
    /** Reads the order, whose rows change while the answer is under way. */
    const readMeanwhile = (change: string) => {
      const client = withMethod(lab.client, 'read', (async (...asked: Parameters<ServiceClient['read']>) => {
        const answer = await lab.client.read(...asked);
        await kit.store.transaction('meanwhile', (tx) =>
          tx.run(`${change} WHERE entity='order' AND service_id=?`, [orderId]),
        );
        return answer;
      }) as ServiceClient['read']);
      return withServiceLease(lab.context, (lease) => readOrder(lab.context, client, lease, { orderId }));
    };
    const statusOf = async () => (await bindings()).find(({ id }) => id === orderId)?.status;
    const late = { kind: 'not_read', reason: { code: 'sent_while_read' }, isRefused: false };
    expect(await readMeanwhile('UPDATE binding SET revision=revision+1')).to.deep.include(late);
    expect(await readMeanwhile(`UPDATE outbox_message SET ${forged.sending}`)).to.deep.include(late);
    expect(await statusOf()).to.equal('confirmed');
    await kit.store.transaction('it arrived', (tx) =>
      tx.run(`UPDATE outbox_message SET ${forged.delivered} WHERE entity='order' AND service_id=?`, [orderId]),
    );
    await read(lab, { orderId });
    expect(await statusOf()).to.equal('shipped');
  });

  it('believes neither absence nor a total while a change of ours may have taken effect', async () => {
    const lab = await delivered();
    const [order] = ordersOf(lab);
    const orderId = order?.order_id as string;
    await read(lab, { orderId });
    const change = (state: keyof typeof forged) =>
      kit.store.transaction('arrange a test', (tx) =>
        tx.run(`UPDATE outbox_message SET ${forged[state]} WHERE entity='order' AND service_id=?`, [orderId]),
      );
    expect(await change('in_doubt')).to.equal(1);
    lab.sandbox.setOrder(orderId, { total: 1 });
    await read(lab, { orderId });
    lab.sandbox.removeOrder(orderId);
    expect(await read(lab, { orderId })).to.deep.include({ kind: 'gone', changed: false });
    expect((await bindings()).find(({ id }) => id === orderId)).to.include({ state: 'open', total: 1, flag: null });
    await change('delivered');
    expect(await read(lab, { orderId })).to.deep.include({ kind: 'gone', changed: true });
  });

  itOnce('asks where and how the settings say, and again after as many hours', async () => {
    const lab = await delivered();
    const { length: count } = ordersOf(lab);
    const path = '/shops/7/orders/{id}';
    const other = lab.another({
      settings: {
        service: { endpoints: { readOrder: { path, successStatus: 203, absentStatus: 410 } } },
        orders: { readBack: { everyHours: 2 } },
      },
    });
    const [first, second] = ordersOf(lab);
    const match = { method: 'GET', path: `/shops/7/orders/${first?.order_id}` };
    const body = { order_id: first?.order_id, status: 'shipped', total: first?.total };
    lab.sandbox.setFaults([
      { kind: 'status', status: 203, body, match },
      { kind: 'status', status: 410, match: { method: 'GET', path: `/shops/7/orders/${second?.order_id}` } },
    ]);
    // The sandbox's answer to the others, a 404, means nothing here.
    expect(await sweep(other)).to.include({ read: 1, gone: 1, failed: count - 2, stopped: null });
    const hours = async (passed: number) => {
      other.context.nowMs = () => Date.now() + passed * 3_600_000;
      return sweep(other);
    };
    expect(await hours(1.9)).to.include({ read: 0, gone: 0, failed: 0 });
    expect(await hours(2.1)).to.include({ read: 1, gone: 1, failed: count - 2 });
  });

  itOnce('begins only when nothing else waits for the service, and lets everything else pass', async () => {
    const lab = await delivered();
    const asked: object[] = [];
    let looks = 0;
    const client = Object.create(lab.client, {
      rateLimiter: {
        value: {
          get waiting() {
            return ++looks < 4 ? 1 : 0;
          },
          usedUp: null,
        },
      },
      read: {
        value: (...[question, passage]: Parameters<ServiceClient['read']>) => {
          const { gate: _, ...more } = passage;
          asked.push({ looks, endpoint: question.endpoint, ...more });
          return lab.client.read(question, passage);
        },
      },
    }) as ServiceClient;
    await withServiceLease(lab.context, (lease) => readOrdersBack(lab.context, client, lease));
    expect(asked).to.have.length(ordersOf(lab).length);
    expect(asked[0]).to.deep.equal({ looks: 4, endpoint: 'readOrder', priority: -2, isProbe: false });
  });

  itOnce('is done by the daemon, by itself', async () => {
    const lab = await delivered({ settings: { ...settings, schedule: { pull: '0 0 3 1 1 *' } } });
    const stop = new AbortController();
    const ended = runSchedule(lab.context, { reader: lab.reader, client: lab.client }, stop.signal);
    const { length: count } = ordersOf(lab);
    await waitFor('all to be read', async () => (await readTimes()).filter((at) => at !== null).length === count);
    stop.abort();
    await ended;
    expect(await kit.rows("SELECT outcome FROM audit_log WHERE event='read_back'")).to.have.length(count);
  });
});
