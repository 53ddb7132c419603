import { EventEmitter, once } from 'node:events';
import { expect } from 'chai';
import { runSchedule } from '../../../src/daemon/schedule.js';
import { readAnnounced } from '../../../src/inbound/webhooks/read-announced.js';
import { insertEvent } from '../../../src/inbound/webhooks/webhook-rows.js';
import { requestWakeUp } from '../../../src/store/job-runs.js';
import { forged } from '../../support/forged.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { toldRows } from '../../support/told-rows.js';
import { waitFor } from '../../support/wait-for.js';

const readInvoice = { readInvoice: { path: '/v2/invoices/{invoice_no}' } };

onAnyLab('events that were announced', (kit) => {
  const start = async (endpoints: object) =>
    kit.start({
      customers: 1,
      orders: 1,
      settings: {
        schedule: { capture: '0 0 3 1 1 *', pull: '0 0 3 1 1 *' },
        // A successor waits for one window of the limit.
        service: { endpoints, limits: [{ requests: 1_000, perSeconds: 0.1 }] },
        delivery: { probeSeconds: 5, quickResends: 0 },
      },
    });
  let number = 0;
  const announced = (subject: string, about: 'invoice' | 'order' = 'invoice', at = Date.now()) =>
    kit.store.transaction('an event', (tx) => insertEvent(tx, { id: `e-${++number}`, type: 't', about, subject }, at));
  const readNow = (lab: Lab) => withServiceLease(lab.context, (lease) => readAnnounced(lab.context, lab.client, lease));
  const arrange = (sql: string, values: (string | number)[] = []) =>
    kit.store.transaction('arrange a test', (tx) => tx.run(sql, values));

  it('are not held up by invoices that can not be read: those have their turn again with the next', async () => {
    const lab = await start(readInvoice);
    lab.sandbox.addInvoices(Array.from({ length: 9 }, (_, i) => ({ invoice_no: `I-${i}`, amount: 100 })));
    await lab.pull();
    lab.sandbox.setFaults([{ kind: 'status', status: 500, match: { path: { regex: '/v2/invoices/I-[0-7]' } } }]);
    for (let i = 0; i < 9; i++) await announced(`I-${i}`);
    lab.sandbox.payInvoice('I-8');
    // The worst order of all: those that fail come first. Then any other.
    let nth = 0;
    lab.context.random = () => (nth++ < 9 ? nth / 10 : Math.random());
    const reads = () => lab.sandbox.ledger().requests.filter(({ path }) => path.startsWith('/v2/invoices/')).length;
    const at = performance.now();
    expect(await readNow(lab)).to.deep.equal({ read: 0, needsPull: false, waits: true });
    expect(reads()).to.equal(5);
    for (let turn = 0, read = 0; read === 0; turn++) {
      expect(turn).to.be.lessThan(100);
      ({ read } = await readNow(lab));
    }
    expect(await kit.rows("SELECT left_status FROM invoice WHERE invoice_no='I-8'")).to.deep.equal([
      { left_status: 'paid' },
    ]);
    // Nothing waits before it asks again.
    expect(performance.now() - at).to.be.lessThan(reads() * 1_000);
  });

  it('about orders do not wait behind hundreds about invoices that need a pull', async () => {
    const lab = await start({ readOrder: {} });
    await lab.capture();
    await lab.deliver();
    for (let i = 0; i < 200; i++) await announced(`I-${i}`, 'invoice', 1_000);
    await announced(lab.sandbox.ledger().orders[0]?.order_id as string, 'order');
    expect(await readNow(lab)).to.deep.equal({ read: 1, needsPull: true, waits: true });
    expect(
      toldRows(await kit.rows("SELECT outcome_code, outcome_data FROM webhook_event WHERE about='order'")),
    ).to.deep.equal([{ outcome: 'read: confirmed' }]);
  });

  it('about an order wait while it may be one whose create has no answer yet, for two minutes at most', async () => {
    const lab = await start({ readOrder: {} });
    await lab.capture();
    await lab.deliver();
    const orderId = lab.sandbox.ledger().orders[0]?.order_id as string;
    // As it is between the service's answer and our settling.
    await arrange(`UPDATE outbox_message SET ${forged.sending}, was_sent=0, first_sent_at=NULL WHERE entity='order'`);
    await arrange("UPDATE binding SET service_id='not-yet' WHERE entity='order'");
    await announced(orderId, 'order');
    await announced('of-somebody-else', 'order', Date.now() - 120_001);
    expect(await readNow(lab)).to.deep.equal({ read: 0, needsPull: false, waits: true });
    expect(
      toldRows(await kit.rows('SELECT subject, outcome_code, outcome_data FROM webhook_event ORDER BY received_at')),
    ).to.deep.equal([
      { subject: 'of-somebody-else', outcome: 'no order of ours' },
      { subject: orderId, outcome: null },
    ]);
    await arrange(`UPDATE outbox_message SET ${forged.delivered}, was_sent=1, first_sent_at=NULL WHERE entity='order'`);
    await arrange("UPDATE binding SET service_id=? WHERE entity='order'", [orderId]);
    expect(await readNow(lab)).to.deep.equal({ read: 1, needsPull: false, waits: false });
    await announced('of-another', 'order');
    expect(await readNow(lab)).to.include({ waits: false });
  });

  it('while a pull for others takes long bring another one, and what any pull has answered needs none', async () => {
    const lab = await start({});
    let nowMs = Date.now();
    let looks = 0;
    const store = Object.create(lab.context.store, {
      dialect: { value: lab.context.store.dialect },
      transaction: { value: lab.context.store.transaction.bind(lab.context.store) },
      read: {
        value: async (...call: Parameters<typeof lab.context.store.read>) => {
          const answer = await lab.context.store.read(...call);
          if (call[0] === 'look for events') looks++;
          return answer;
        },
      },
    });
    const pulling = new EventEmitter();
    let asks = 0;
    const read = lab.client.read.bind(lab.client);
    lab.client.read = async (...call) => {
      if (++asks === 1) {
        const free = once(pulling, 'free');
        pulling.emit('asks');
        await free;
      }
      return read(...call);
    };
    const bell = new EventEmitter();
    const stop = new AbortController();
    const clock = { ...lab.context.clock, sinceBoot: () => ({ bootId: 'lab', bootMs: nowMs }) };
    const context = { ...lab.context, store, clock, nowMs: () => nowMs };
    const ended = runSchedule(context, { reader: lab.reader, client: lab.client, webhooks: bell }, stop.signal);
    try {
      await waitFor('the first look', () => looks > 0);
      const asked = once(pulling, 'asks');
      await announced('I-1', 'invoice', nowMs - 1);
      bell.emit('event');
      await asked;
      nowMs += 40_000;
      await announced('I-2', 'invoice', nowMs);
      const before = looks;
      bell.emit('event');
      await waitFor('a look at the other event', () => looks > before);
      pulling.emit('free');
      const pending = async () =>
        (await kit.rows("SELECT subject FROM webhook_event WHERE state='pending'"))
          .map(({ subject }) => subject)
          .join();
      await waitFor('the first pull', async () => (await pending()) === 'I-2');
      await waitFor('the second pull', async () => {
        nowMs += 1_000;
        return (await pending()) === '';
      });

      await announced('I-3', 'invoice', nowMs);
      nowMs += 1;
      await kit.store.transaction('ask for a pull', (tx) => requestWakeUp(tx, 'pull', 'somebody', nowMs));
      await waitFor('the pull that somebody asked for', async () => (await pending()) === '');
    } finally {
      stop.abort();
      await ended;
    }
  });
});
