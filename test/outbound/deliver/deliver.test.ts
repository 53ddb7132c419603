import { expect } from 'chai';
import { actOnMessages, planAction } from '../../../src/operator/actions/message-actions.js';
import { deliver } from '../../../src/outbound/deliver/deliver.js';
import { StoreDispatcher } from '../../../src/outbound/deliver/due-messages.js';
import { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { createKey } from '../../../src/outbound/outbox/idempotency-key.js';
import { noReason, systemClock } from '../../../src/store/clock.js';
import { Lease } from '../../../src/store/lease.js';
import { forged } from '../../support/forged.js';
import { askAsAnother } from '../../support/jobs/ask-as-another.js';
import { onSqliteLabAnd, withServiceLease } from '../../support/jobs/job-lab.js';
import {
  expectAllAtService,
  expectAttemptsFor,
  expectCustomersFirst,
  expectOneBodyPerKey,
  messageOf,
  orderNumbers,
  pausesOf,
  statesOf,
} from '../../support/jobs/service-of.js';
import { withMethod } from '../../support/jobs/with-method.js';
import { sandboxLookUps } from '../../support/sandbox-look-ups.js';
import { told } from '../../support/told.js';
import { waitFor } from '../../support/wait-for.js';

const json = (status: number, code: string, message: string) => ({
  kind: 'status' as const,
  status,
  body: { error: { code, message } },
});

onSqliteLabAnd('mysql', 'deliver', (kit) => {
  const requestsFor = (
    lab: { sandbox: { ledger(): { requests: readonly { idempotency_key: string | null }[] } } },
    key: string,
  ) => lab.sandbox.ledger().requests.filter((request) => request.idempotency_key === key).length;

  it('brings every captured record to the service, each once, an order after its customer', async () => {
    const lab = await kit.start({ customers: 10, orders: 60, sandbox: { delayMs: [0, 10] } });
    await lab.capture();
    const result = await lab.deliver();
    expect(result).to.deep.include({
      delivered: { customers: 10, orders: 60 },
      attempts: 70,
      parked: 0,
      stopped: null,
    });
    await expectAllAtService(lab);
    expectCustomersFirst(lab);
    await expectAttemptsFor(kit, lab);
    expect(await statesOf(kit)).to.deep.equal({ delivered: 70 });

    const customers = await lab.readErp('SELECT customer_no, name, email FROM customers ORDER BY id LIMIT 10');
    const atService = new Map(
      lab.sandbox.ledger().customers.map(({ customer_code, record }) => [customer_code, record]),
    );
    for (const { customer_no, name, email } of customers)
      expect(atService.get(customer_no as string)).to.deep.include({ name, ...(email ? { email } : {}) });

    const bindings = await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='order'");
    const ids = new Set(lab.sandbox.ledger().orders.map((order) => order.order_id));
    expect(new Set(bindings.map((row) => row.service_id))).to.deep.equal(ids);
    expect((await kit.rows("SELECT COUNT(*) AS n FROM audit_log WHERE event='delivered'"))[0].n).to.equal(70);

    const again = await lab.deliver();
    expect(again).to.deep.include({ attempts: 0, delivered: { customers: 0, orders: 0 } });
  });

  const remark = (characters: number) => ({ orders: { fields: { remark: { constant: 'x'.repeat(characters) } } } });
  const customerFirst = { scope: { only: new Map([['customer' as const, new Set(['1'])]]) } };

  it('claims no more large records at once than a claim composes, and reads none of them for nothing', async () => {
    const settings = remark(150_000);
    const lab = await kit.start({ customers: 1, orders: 40, settings, sandbox: { unknownFields: 'accept' } });
    await lab.capture();
    await lab.deliver(customerFirst);
    const named: number[] = [];
    class Listening extends StoreDispatcher {
      override async next(...asked: Parameters<StoreDispatcher['next']>) {
        const claims = await super.next(...asked);
        if (claims.length > 0) named.push(claims.length);
        return claims;
      }
    }
    await lab.deliver({ dispatcher: new Listening(systemClock) });
    expect(lab.sandbox.counts()).to.include({ orders: 40, duplicateReferences: 0 });
    // A million characters are six, and the seventh passes them. Their length is known after the first claim.
    const [, ...later] = named as [number, ...number[]];
    expect(Math.max(...later)).to.equal(6);
    expect(later.reduce((sum, count) => sum + count, 0)).to.equal(40 - 7);
  });

  it('has as many large records under way as its concurrency says', async () => {
    const settings = remark(600_000);
    const lab = await kit.start({ customers: 1, orders: 20, settings, sandbox: { unknownFields: 'accept' } });
    await lab.capture();
    await lab.deliver(customerFirst);
    const concurrency = lab.settings.service.concurrency as number;
    // None leaves before so many are under way, however long a busy machine takes to claim them.
    const patience = new AbortController();
    let sending = 0;
    const client = withMethod(lab.client, 'send', async (message) => {
      if (++sending === concurrency) patience.abort(noReason);
      await systemClock.sleep(5_000, patience.signal);
      return lab.client.send(message).finally(() => sending--);
    });
    const options = { untilDrained: true, retryHorizonMs: 20_000, trial: false, erp: lab.reader };
    await withServiceLease(lab.context, (lease) =>
      deliver(lab.context, client, lease, { ...options, scope: { only: null } }),
    );
    expect(lab.sandbox.counts()).to.include({ orders: 20, duplicateReferences: 0 });
    expect(patience.signal.aborted, `${concurrency} under way`).to.equal(true);
  });

  it('goes past messages that can not be claimed as fast behind a large record as behind a small one', async () => {
    const lab = await kit.start({ customers: 1, orders: 50, sandbox: { unknownFields: 'accept' } });
    await lab.capture();
    await lab.deliver(customerFirst);
    const bodies = await kit.rows(
      "SELECT message_id, record FROM message_body JOIN outbox_message ON id=message_id WHERE entity='order' ORDER BY id",
    );
    const [{ message_id: firstId, record }] = bodies;
    const large = JSON.stringify({ ...JSON.parse(record), remark: 'x'.repeat(600_000) });
    await kit.store.transaction('make one large, and erase those behind it', async (tx) => {
      await tx.run('UPDATE message_body SET record=? WHERE message_id=?', [large, firstId]);
      for (const { message_id: id } of bodies.slice(1, 41))
        await tx.run('DELETE FROM message_body WHERE message_id=?', [id]);
    });
    const stop = new AbortController();
    const running = lab.deliver({ untilDrained: false, signal: stop.signal });
    await waitFor('the orders behind them', () => lab.sandbox.counts().orders === 10, 15_000);
    stop.abort();
    await running;
    expect(await statesOf(kit)).to.deep.equal({ delivered: 11, parked: 40 });
  });

  it('brings all bindings back when the store is lost, and makes no second record', async () => {
    const lab = await kit.start();
    await lab.capture();
    await lab.deliver();
    await kit.store.transaction('lose the store', async (tx) => {
      for (const table of ['outbox_message', 'message_body', 'binding', 'attempt', 'capture_cursor'])
        await tx.run(`DELETE FROM ${table}`);
    });
    await lab.capture();
    expect(await lab.deliver()).to.deep.include({ delivered: { customers: 4, orders: 12 } });
    await expectAllAtService(lab);
    expect(lab.sandbox.counts().replayed).to.equal(16);
    expect(await kit.rows('SELECT COUNT(*) AS n FROM binding')).to.deep.equal([{ n: 16 }]);
  });

  it('sends only what its scope names', async () => {
    const lab = await kit.start();
    await lab.capture();
    const [order] = await kit.rows("SELECT source_key, customer_key FROM outbox_message WHERE entity='order' LIMIT 1");
    const only = new Map([
      ['order' as const, new Set<string>([order.source_key])],
      ['customer' as const, new Set<string>([order.customer_key])],
    ]);
    expect(await lab.deliver({ scope: { only } })).to.deep.include({ delivered: { customers: 1, orders: 1 } });
    expect(lab.sandbox.counts()).to.deep.include({ customers: 1, orders: 1, requests: 2 });
  });

  describe('when it can not know what became of a request', () => {
    const cases = [
      ['the service answers 500', { kind: 'status', status: 500 }],
      ['the service answers 500 after it took effect', { kind: 'status', status: 500, effect: 'done' }],
      ['the connection is reset before', { kind: 'reset-before' }],
      ['the connection is reset after the commit', { kind: 'reset-after-commit' }],
      ['the answer is cut off', { kind: 'cut-off' }],
      ['the answer is cut off in chunks', { kind: 'cut-off', chunked: true }],
      ['the success is a page for people', { kind: 'html' }],
      ['the success has no body', { kind: 'empty-body' }],
      ['the JSON is cut short', { kind: 'truncated-json' }],
      ['the JSON is something else', { kind: 'invalid-json-shape' }],
    ] as const;
    for (const [title, fault] of cases) {
      it(`sends the same key and bytes again: ${title}`, async () => {
        const lab = await kit.start({ customers: 2, orders: 4 });
        await lab.capture();
        const [number] = (await orderNumbers(lab)) as [string];
        lab.sandbox.setFaults([{ ...fault, times: 2, match: { bodyIncludes: number } }]);
        const result = await lab.deliver();
        expect(result).to.deep.include({
          delivered: { customers: 2, orders: 4 },
          inDoubt: 2,
          parked: 0,
          stopped: null,
        });
        await expectAllAtService(lab);
        expectOneBodyPerKey(lab);
        await expectAttemptsFor(kit, lab);
        const message = await messageOf(kit, number);
        expect(message).to.deep.include({ state: 'delivered', attempts: 3, failures: 2 });
        expect(requestsFor(lab, message.idempotency_key)).to.equal(3);
      });
    }

    it('sends the same key and bytes again: no answer within the deadline', async () => {
      const lab = await kit.start({
        customers: 1,
        orders: 3,
        settings: { service: { deadlineSeconds: 0.6 }, delivery: { leaseSeconds: 10 } },
      });
      await lab.capture();
      const [hangs, trickles] = (await orderNumbers(lab)) as [string, string];
      lab.sandbox.setFaults([
        { kind: 'hang', effect: 'done', times: 1, match: { bodyIncludes: hangs } },
        { kind: 'trickle', intervalMs: 100, times: 1, match: { bodyIncludes: trickles } },
      ]);
      expect((await lab.deliver()).delivered.orders).to.equal(3);
      await expectAllAtService(lab);
      expectOneBodyPerKey(lab);
      expect((await messageOf(kit, hangs)).failures).to.be.at.least(1);
      expect((await messageOf(kit, trickles)).failures).to.be.at.least(1);
    });

    const orderInDoubt = async (service?: object) => {
      const lab = await kit.start({ customers: 1, orders: 3, settings: service ? { service } : {} });
      await lab.capture();
      const [number] = (await orderNumbers(lab)) as [string];
      lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { bodyIncludes: number } }]);
      await lab.deliver({ retryHorizonMs: 0 });
      const doubtful = await messageOf(kit, number);
      // If it may not be sent again, the same delivery may go on to settle it.
      if (!service) expect(doubtful.state).to.equal('in_doubt');
      lab.sandbox.clearFaults();
      return { lab, number, doubtful, sent: requestsFor(lab, doubtful.idempotency_key) };
    };

    it('does not send again what the service may have forgotten, but parks it for a person', async () => {
      const { lab, number, doubtful, sent } = await orderInDoubt();
      lab.sandbox.forgetKeys();
      // A day later, with new work beside it.
      lab.context.nowMs = () => Date.now() + 25 * 3_600_000;
      await kit.store.transaction('add work', async (tx) => {
        await tx.run(`UPDATE outbox_message SET ${forged.pending}, was_sent=0, first_sent_at=NULL WHERE number<>?`, [
          number,
        ]);
        // As new orders: a record that is bound keeps its id.
        await tx.run("DELETE FROM binding WHERE entity='order'");
      });
      const result = await lab.deliver();
      expect(result.parked).to.equal(1);
      const parked = await messageOf(kit, number);
      expect(parked).to.deep.include({ state: 'parked', park_class: 'unproven' });
      expect(requestsFor(lab, doubtful.idempotency_key)).to.equal(sent);
      expect(lab.sandbox.ledger().orders.filter(({ reference }) => reference === number)).to.have.length(1);
      const [line] = await kit.rows("SELECT outcome FROM audit_log WHERE event='parked'");
      expect(line).to.deep.equal({ outcome: 'unproven' });
    });

    it('does not send again what may be there while nothing says how long the service remembers a key', async () => {
      const { lab, number, doubtful, sent } = await orderInDoubt({ idempotency: undefined });
      await lab.deliver();
      const parked = await messageOf(kit, number);
      expect(parked).to.deep.include({ state: 'parked', park_class: 'unproven' });
      expect(parked.reason).to.contain('service.idempotency.lifetimeHours does not say');
      expect(requestsFor(lab, doubtful.idempotency_key)).to.equal(sent);
      // When the operator of the service has said it, a retry is harmless.
      const known = lab.another({ settings: { service: { idempotency: { lifetimeHours: 24 } } } });
      const request = {
        action: 'retry',
        filter: { records: [{ entity: 'order', sourceKey: parked.source_key }] },
        serviceId: null,
        reason: 'test',
      } as const;
      expect((await planAction(lab.context, request)).ids, 'unknown').to.have.length(0);
      const { ids } = await planAction(known.context, request);
      expect((await actOnMessages(known.context, request, ids)).done).to.equal(1);
      await known.deliver();
      expect(await messageOf(kit, number)).to.include({ state: 'delivered' });
      expect(lab.sandbox.ledger().orders.filter(({ reference }) => reference === number)).to.have.length(1);
    });

    it('looks up what may be there while nothing says how long the service remembers a key', async () => {
      const { lab, number, doubtful, sent } = await orderInDoubt({
        idempotency: undefined,
        endpoints: sandboxLookUps,
      });
      await lab.deliver();
      expect((await messageOf(kit, number)).flag).to.contain('Found by look-up');
      expect(requestsFor(lab, doubtful.idempotency_key)).to.equal(sent);
    });

    for (const [moment, reason] of [
      ['waits for its turn', 'the service may have forgotten its key since it was claimed'],
      ['has passed the gate', 'the right to send was lost before the bytes could leave'],
    ] as const)
      it(`does not send again what the service forgets while it ${moment}`, async () => {
        const { lab, number, doubtful, sent } = await orderInDoubt();
        // As of a machine that was put to sleep for a day in that moment.
        const sleepsNow = () => {
          lab.sandbox.forgetKeys();
          lab.context.nowMs = () => Date.now() + 25 * 3_600_000;
        };
        let isClaimed = false;
        const claiming = withMethod(kit.store, 'transaction', async (action, work) => {
          const result = await kit.store.transaction(action, work);
          const { claimed = [] } = (result ?? {}) as { claimed?: { number: string }[] };
          isClaimed ||= claimed.some((message) => message.number === number);
          if (isClaimed && moment === 'waits for its turn') sleepsNow();
          return result;
        });
        lab.context.store = withMethod(claiming, 'read', async (action, work) => {
          const result = await kit.store.read(action, work);
          if (isClaimed && action === 'read the pauses') sleepsNow();
          return result;
        });
        const result = await lab.deliver();
        expect(isClaimed).to.equal(true);
        expect(result.parked).to.equal(1);
        expect(await messageOf(kit, number)).to.deep.include({ state: 'parked', park_class: 'unproven' });
        expect(requestsFor(lab, doubtful.idempotency_key)).to.equal(sent);
        expect(await kit.rows("SELECT reason_code, reason_data FROM attempt WHERE verdict='not_sent'")).to.deep.include(
          { reason },
        );
      });
  });

  it('parks as unproven after three successes without an acknowledgement, and pauses the lane where there never was one', async () => {
    const lab = await kit.start({ customers: 1, orders: 6, settings: { service: { concurrency: 1 } } });
    await lab.capture();
    lab.sandbox.setFaults([{ kind: 'html', match: { method: 'POST', path: '/v1/orders' } }]);
    const result = await lab.deliver();
    expect(result).to.deep.include({ parked: 1 });
    expect(told(result.stopped)).to.contain('deliver is paused (unproven)');
    const [parked] = await kit.rows("SELECT * FROM outbox_message WHERE state='parked'");
    expect(parked).to.deep.include({ park_class: 'unproven', invalid_answers: 3 });
    expect(await pausesOf(kit)).to.have.length(1);
    expect(lab.sandbox.ledger().orders.filter(({ reference }) => reference === parked.number)).to.have.length(1);
    expect((await kit.rows("SELECT COUNT(*) AS n FROM audit_log WHERE event='alert'"))[0].n).to.equal(1);
  });

  it('delivers with a flag when the service acknowledges another total', async () => {
    const lab = await kit.start({ customers: 1, orders: 3 });
    await lab.capture();
    const [number] = (await orderNumbers(lab)) as [string];
    lab.sandbox.setFaults([{ kind: 'wrong-total', by: 7, match: { bodyIncludes: number } }]);
    expect(await lab.deliver()).to.deep.include({ flagged: 1, delivered: { customers: 1, orders: 3 } });
    const message = await messageOf(kit, number);
    expect(message.state).to.equal('delivered');
    expect(message.flag).to.match(/has a total of \d+, and the lines add up to \d+/);
  });

  it('parks a record whose key was used with other bytes, and its neighbours go on', async () => {
    const lab = await kit.start({ customers: 1, orders: 3 });
    await lab.capture();
    const [customer] = lab.sandbox.ledger().customers;
    expect(customer).to.equal(undefined);
    const [row] = await kit.rows(
      "SELECT source_key, number FROM outbox_message WHERE entity='order' ORDER BY id LIMIT 1",
    );
    const scope = { only: new Map([['customer' as const, new Set(['1'])]]) };
    await lab.deliver({ scope });
    await askAsAnother(lab, 'POST', '/v1/orders', createKey('test-office', 'order', row.source_key, 0), {
      customer_code: 'K10001',
      items: [{ sku: 'X', qty: 1, price: 1 }],
      note: 'somebody else',
    });
    expect(await lab.deliver()).to.deep.include({ parked: 1, stopped: null });
    expect(await messageOf(kit, row.number)).to.deep.include({ state: 'parked', park_class: 'conflict', failures: 0 });
    await expectOthersDelivered(2);
  });

  it('parks a customer that exists under another key where none is adopted, and sends no order of it', async () => {
    const service = { adoption: { customers: 'off' } };
    const lab = await kit.start({ customers: 2, orders: 4, settings: { service } });
    await lab.capture();
    await askAsAnother(lab, 'POST', '/v1/customers', 'another-key', { customer_code: 'K10001', name: 'by hand' });
    const result = await lab.deliver();
    expect(result.parked).to.equal(1);
    const [customer] = await kit.rows("SELECT * FROM outbox_message WHERE entity='customer' AND source_key='1'");
    expect(customer).to.deep.include({ state: 'parked', park_class: 'conflict' });
    expect(lab.sandbox.ledger().orders.map(({ record }) => record.customer_code)).to.not.include('K10001');
    const waiting = await kit.rows("SELECT DISTINCT state FROM outbox_message WHERE customer_key='1'");
    expect(waiting).to.deep.equal([{ state: 'pending' }]);
  });

  it('waits for a request that is still running at the service, and gives it time to see a customer', async () => {
    const lab = await kit.start({ customers: 1, orders: 3 });
    await lab.capture();
    const [runs, early] = (await orderNumbers(lab)) as [string, string];
    const busy = json(409, 'request_in_progress', 'A request with this idempotency key is in progress');
    const unknown = json(404, 'unknown_customer', 'There is no customer K10001');
    lab.sandbox.setFaults([
      { ...busy, times: 1, match: { bodyIncludes: runs } },
      { ...unknown, times: 1, match: { bodyIncludes: early } },
    ]);
    expect(await lab.deliver()).to.deep.include({ parked: 0, delivered: { customers: 1, orders: 3 } });
    expect(await messageOf(kit, runs)).to.deep.include({ state: 'delivered', attempts: 2, failures: 0 });
    expect(await messageOf(kit, early)).to.deep.include({ state: 'delivered', attempts: 2, customer_waits: 1 });
    expectOneBodyPerKey(lab);
  });

  it('lets go of what is claimed and unsent when it is told to stop, each in its old state', async () => {
    const lab = await kit.start({ customers: 1, orders: 30, settings: { service: { concurrency: 2 } } });
    await lab.capture();
    const [number] = (await orderNumbers(lab)) as [string];
    await kit.store.transaction('doubt', (tx) =>
      tx.run(`UPDATE outbox_message SET ${forged.in_doubt}, was_sent=1, first_sent_at=NULL WHERE number=?`, [number]),
    );
    lab.context.nowMs = () => Date.now();
    await kit.store.transaction('doubt', (tx) =>
      tx.run('UPDATE outbox_message SET next_attempt_at=?, was_sent=1, first_sent_at=? WHERE number=?', [
        Date.now() + 60_000,
        Date.now(),
        number,
      ]),
    );
    const stopping = new AbortController();
    lab.sandbox.change({ delayAfterMs: 40 });
    const running = lab.deliver({ untilDrained: false, signal: stopping.signal });
    await waitFor('the first orders', () => lab.sandbox.counts().orders >= 4);
    stopping.abort();
    const result = await running;
    expect(told(result.stopped)).to.equal('stopping');
    const states = await statesOf(kit);
    expect(states.sending).to.equal(undefined);
    expect(states.in_doubt).to.equal(1);
    expect(states.pending).to.be.greaterThan(10);
    const held = await kit.rows("SELECT COUNT(*) AS n FROM attempt WHERE verdict='not_sent' AND started_at IS NULL");
    expect(held[0].n).to.be.greaterThan(0);
    const unsent = await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE state='pending' AND was_sent=1");
    expect(unsent).to.deep.equal([{ n: 0 }]);
    await expectAttemptsFor(kit, lab);
    await kit.store.transaction('now', (tx) =>
      tx.run('UPDATE outbox_message SET next_attempt_at=0 WHERE next_attempt_at IS NOT NULL'),
    );
    await lab.deliver();
    await expectAllAtService(lab);
  });

  it('stops when its lease goes to another process, which makes no second record of what was under way', async () => {
    const lab = await kit.start({ customers: 1, orders: 20, settings: { service: { concurrency: 3 } } });
    await lab.capture();
    lab.sandbox.change({ delayAfterMs: 60 });
    const running = lab.deliver({ untilDrained: false });
    await waitFor('the first orders', () => lab.sandbox.counts().orders >= 3);
    const neighbour = await kit.connect();
    await neighbour.transaction('let time pass', (tx) => tx.run("UPDATE lease SET expires_at=1 WHERE name='service'"));
    const taken = await Lease.acquire(neighbour, 'service', 'the successor', 60_000);
    if (!taken.held) throw new Error('The lease was not free.');
    const before = await kit.rows('SELECT * FROM outbox_message ORDER BY id');
    expect(told((await running).stopped)).to.equal('the delivery lease went to another process');
    expect(await kit.rows('SELECT * FROM outbox_message ORDER BY id')).to.deep.equal(before);
    await taken.lease.release();

    const result = await lab.another({ actor: 'the next one' }).deliver();
    expect(result).to.deep.include({ parked: 0, stopped: null });
    await expectAllAtService(lab);
    expectOneBodyPerKey(lab);
    expect((await kit.rows("SELECT COUNT(*) AS n FROM audit_log WHERE event='in_doubt'"))[0].n).to.be.greaterThan(0);
  });

  it('says so and ends when nothing goes through for as long as it may wait', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    await lab.sandbox.goDown();
    const result = await lab.deliver({ retryHorizonMs: 1_000 });
    expect(told(result.stopped)).to.match(/nothing went through for 1 s: .*ECONNREFUSED/);
    expect(await statesOf(kit)).to.deep.equal({ pending: 2 });
  });

  async function expectOthersDelivered(count: number): Promise<void> {
    const rows = await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE entity='order' AND state='delivered'");
    expect(rows).to.deep.equal([{ n: count }]);
  }

  it('claims nothing while the renewal of its lease is late, and goes on once it is renewed', async () => {
    const lab = await kit.start({ customers: 2, orders: 4 });
    await lab.capture();
    let stoodStillMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + stoodStillMs };
    const context = { ...lab.context, clock };
    await withServiceLease(context, async (lease) => {
      stoodStillMs = 60_000;
      let asked = 0;
      lease.mayStartRequest = () => {
        asked++;
        return ServiceLease.prototype.mayStartRequest.call(lease);
      };
      const scope = { only: null };
      const options = { untilDrained: true, scope, retryHorizonMs: 20_000, trial: false, erp: lab.reader };
      const running = deliver(context, lab.client, lease, options);
      await waitFor('two turns', () => asked > 1);
      expect(await statesOf(kit)).to.deep.equal({ pending: 6 });
      expect((await kit.rows('SELECT COUNT(*) AS n FROM attempt'))[0].n).to.equal(0);
      await lease.lease.renew();
      await running;
    });
    expect(await statesOf(kit)).to.deep.equal({ delivered: 6 });
    expect((await kit.rows('SELECT MAX(attempts) AS n FROM outbox_message'))[0].n).to.equal(1);
  });
});
