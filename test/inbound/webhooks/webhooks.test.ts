import { createHmac } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { readStatus } from '../../../src/daemon/read-status.js';
import { runSchedule } from '../../../src/daemon/schedule.js';
import { readAnnounced } from '../../../src/inbound/webhooks/read-announced.js';
import {
  endForgeries,
  receiveWebhooks,
  type WebhookReceiver,
  webhookHandler,
} from '../../../src/inbound/webhooks/receive-webhooks.js';
import { endEvents, insertEvent, pendingEvents } from '../../../src/inbound/webhooks/webhook-rows.js';
import type { SandboxOptions } from '../../../src/lab/sandbox/options.js';
import { legacy } from '../../../src/model/facts/fact.js';
import { KnownSecrets } from '../../../src/model/secret.js';
import { remedyFor } from '../../../src/words/words.js';
import { type Lab, onSqliteLabAnd, withServiceLease } from '../../support/jobs/job-lab.js';
import { toldRows } from '../../support/told-rows.js';
import { waitFor } from '../../support/wait-for.js';
import { hmacSecret, otherSecret, standardSecret } from './sign.js';

const schemes = {
  standard: { secret: standardSecret, settings: {} },
  hmac: {
    secret: hmacSecret,
    settings: {
      scheme: 'hmac',
      hmac: { prefix: 'sha256=', timestampHeader: 'X-Timestamp', signedPayload: '{timestamp}.{body}' },
    },
  },
} as const;
const never = { capture: '0 0 3 1 1 *', pull: '0 0 3 1 1 *' };
const readInvoice = { readInvoice: { path: '/v2/invoices/{invoice_no}' } };

onSqliteLabAnd('postgres', 'webhooks', (kit) => {
  const running: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const stop of running.splice(0).reverse()) await stop();
  });

  async function start(
    scheme: keyof typeof schemes,
    endpoints: object = readInvoice,
    sandbox: Partial<SandboxOptions> = {},
    more: object = {},
  ) {
    const secretFile = join(kit.folder, `secret-${scheme}`);
    writeFileSync(secretFile, schemes[scheme].secret, { mode: 0o600 });
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      sandbox,
      settings: {
        schedule: never,
        // A successor waits for one window of the limit.
        service: { endpoints, limits: [{ requests: 1_000, perSeconds: 0.1 }] },
        webhooks: { enabled: true, port: 0, secretFiles: [secretFile], ...schemes[scheme].settings },
        ...more,
      },
    });
    return { lab, secretFile };
  }

  async function listen(lab: Lab, scheme: keyof typeof schemes, bell: EventEmitter | null): Promise<WebhookReceiver> {
    const receiver = await receiveWebhooks(lab.context, {
      knownSecrets: new KnownSecrets(),
      onEvent: () => bell?.emit('event'),
    });
    running.push(() => receiver.close());
    lab.sandbox.change({
      webhooks: { url: `http://127.0.0.1:${receiver.port}/webhooks`, scheme, secret: schemes[scheme].secret },
    });
    return receiver;
  }

  function daemon(lab: Lab, webhooks?: EventEmitter) {
    const stop = new AbortController();
    const partners = { reader: lab.reader, client: lab.client, ...(webhooks ? { webhooks } : {}) };
    const ended = runSchedule(lab.context, partners, stop.signal);
    running.push(async () => {
      stop.abort();
      await ended;
    });
  }

  const listed = async () =>
    (await kit.rows('SELECT invoice_no FROM invoice WHERE unlisted_at IS NULL ORDER BY invoice_no')).map(
      ({ invoice_no }) => invoice_no,
    );
  const delivering = (lab: Lab) =>
    waitFor('the lease', () => lab.log.some((line) => line.includes('Delivering from here')));
  let eventNumber = 0;
  const announced = (subject: string, about: 'invoice' | 'order' = 'invoice', at = Date.now()) =>
    kit.store.transaction('an event', (tx) =>
      insertEvent(tx, { id: `e-${String(++eventNumber).padStart(6, '0')}`, type: 't', about, subject }, at),
    );
  const readNow = (lab: Lab) => withServiceLease(lab.context, (lease) => readAnnounced(lab.context, lab.client, lease));
  const reads = (lab: Lab) => lab.sandbox.ledger().requests.filter(({ path }) => path.startsWith('/v2/invoices/'));

  for (const scheme of ['standard', 'hmac'] as const)
    it(`signed by ${scheme} take a paid invoice off the list within two seconds, and their replay does nothing`, async () => {
      const { lab } = await start(scheme);
      lab.sandbox.addInvoices([
        { invoice_no: 'I-1', amount: 100 },
        { invoice_no: 'I-2', amount: 200 },
      ]);
      await lab.pull();
      const bell = new EventEmitter();
      await listen(lab, scheme, bell);
      daemon(lab, bell);
      await delivering(lab);

      const at = performance.now();
      lab.sandbox.payInvoice('I-1');
      await waitFor('the paid invoice', async () => (await listed()).join() === 'I-2');
      expect(performance.now() - at).to.be.lessThan(2_000);
      const [event = {}] = await waitFor('the end of the event', async () => {
        const rows = toldRows(
          await kit.rows("SELECT event_id, outcome_code, outcome_data FROM webhook_event WHERE state='done'"),
        );
        return rows.length === 1 && rows;
      });
      expect(event.outcome).to.equal('no longer listed: paid');
      expect(reads(lab)).to.have.length(1);
      expect(await kit.rows("SELECT left_status FROM invoice WHERE invoice_no='I-1'")).to.deep.equal([
        { left_status: 'paid' },
      ]);

      expect(await lab.sandbox.repeatWebhook(event.event_id)).to.equal(204);
      // An event that comes after the replay is read about after it.
      const other = once(bell, 'event');
      lab.sandbox.payInvoice('I-2');
      await other;
      await waitFor('the other invoice', async () => (await listed()).length === 0);
      expect(reads(lab)).to.have.length(2);
      expect(await kit.rows('SELECT event_id FROM webhook_event')).to.have.length(2);
    });

  it('without an id are read about each time that they come, also while an earlier one is being read about', async () => {
    const secretFile = join(kit.folder, 'secret-nameless');
    writeFileSync(secretFile, hmacSecret, { mode: 0o600 });
    const hmac = { header: 'X-Signature', signedPayload: '{body}' };
    const { lab } = await start(
      'standard',
      { readOrder: {} },
      {},
      {
        webhooks: { enabled: true, scheme: 'hmac', secretFiles: [secretFile], hmac },
      },
    );
    await lab.capture();
    await lab.deliver();
    const [bound] = await kit.rows("SELECT service_id FROM binding WHERE entity='order'");
    let rings = 0;
    const handler = webhookHandler(lab.context, { knownSecrets: new KnownSecrets(), onEvent: () => rings++ });
    const body = Buffer.from(JSON.stringify({ type: 'order.status_changed', data: { order_id: bound.service_id } }));
    const signature = createHmac('sha256', hmacSecret).update(body).digest('hex');
    const headers = { 'content-type': 'application/json', 'x-signature': signature };
    const arrives = () => handler.handle({ method: 'POST', url: '/webhooks', headers, body });
    const known = async () => (await kit.rows("SELECT service_status FROM binding WHERE entity='order'"))[0];
    for (const status of ['shipped', 'completed', 'cancelled']) {
      lab.sandbox.setOrder(bound.service_id, { status });
      expect(await arrives()).to.equal(204);
      await readNow(lab);
      expect(await known()).to.deep.equal({ service_status: status });
    }
    expect([...handler.takeCounts()]).to.deep.equal([['stored', 3]]);

    await arrives();
    const before = await kit.store.read('look', (tx) => pendingEvents(tx, 'order', 9));
    expect(await arrives(), 'it waits still').to.equal(204);
    expect([...handler.takeCounts()]).to.deep.equal([
      ['stored', 1],
      ['repeated', 1],
    ]);
    // The answer for the first one does not end the second one.
    await kit.store.transaction('end', (tx) => endEvents(tx, before, legacy('read: cancelled'), Date.now()));
    expect(await kit.store.read('look', (tx) => pendingEvents(tx, 'order', 9))).to.have.length(1);
    expect(rings).to.equal(5);
    expect(await kit.rows('SELECT event_id FROM webhook_event')).to.have.length(1);
  });

  it('without an id but with a time cost nothing when they are replayed, and are read about again at another time', async () => {
    const secretFile = join(kit.folder, 'secret-timed');
    writeFileSync(secretFile, hmacSecret, { mode: 0o600 });
    const hmac = { header: 'X-Signature', timestampHeader: 'X-Timestamp', signedPayload: '{timestamp}.{body}' };
    const webhooks = { enabled: true, scheme: 'hmac', secretFiles: [secretFile], hmac };
    const { lab } = await start('standard', { readOrder: {} }, {}, { webhooks });
    let rings = 0;
    const handler = () => webhookHandler(lab.context, { knownSecrets: new KnownSecrets(), onEvent: () => rings++ });
    const body = Buffer.from(JSON.stringify({ type: 'order.status_changed', data: { order_id: 'ord_1' } }));
    const now = Math.floor(Date.now() / 1000);
    const arrives = (at: number, by = handler()) => {
      const time = String(at);
      const signature = createHmac('sha256', hmacSecret).update(`${time}.`).update(body).digest('hex');
      const headers = { 'content-type': 'application/json', 'x-signature': signature, 'x-timestamp': time };
      return by.handle({ method: 'POST', url: '/webhooks', headers, body });
    };
    expect(await arrives(now)).to.equal(204);
    await kit.store.transaction('end', async (tx) =>
      endEvents(tx, await pendingEvents(tx, 'order', 9), { code: 'order_not_ours' }, Date.now()),
    );
    const transactions: string[] = [];
    const transaction = kit.store.transaction.bind(kit.store);
    const second = handler();
    kit.store.transaction = (action, work) => {
      transactions.push(action);
      return transaction(action, work);
    };
    try {
      for (let nth = 0; nth < 3; nth++) expect(await arrives(now, second)).to.equal(204);
    } finally {
      kit.store.transaction = transaction;
    }
    expect(transactions, 'a process asks the store once').to.deep.equal(['store an event']);
    expect([...second.takeCounts()]).to.deep.equal([['repeated', 3]]);
    expect(rings).to.equal(1);
    expect(await kit.store.read('look', (tx) => pendingEvents(tx, 'order', 9))).to.deep.equal([]);
    expect(await arrives(now + 1)).to.equal(204);
    expect(rings).to.equal(2);
    expect(await kit.store.read('look', (tx) => pendingEvents(tx, 'order', 9))).to.have.length(1);
  });

  it('change nothing by themselves: an invoice that the service says is due stays, whatever the event says', async () => {
    const { lab } = await start('standard');
    lab.sandbox.addInvoices([{ invoice_no: 'I-1', amount: 100 }]);
    await lab.pull();
    await listen(lab, 'standard', null);
    lab.sandbox.announce('payment.succeeded', { invoice_no: 'I-1', status: 'paid', amount: 0 });
    lab.sandbox.announce('payment.succeeded', { invoice_no: '../orders', status: 'paid' });
    lab.sandbox.announce('stock.arrived', { sku: 'A' });
    await lab.sandbox.webhooksSent();
    expect(lab.sandbox.webhooks().flatMap(({ answers }) => answers)).to.deep.equal([204, 204, 204]);
    await readNow(lab);
    expect(await listed()).to.deep.equal(['I-1']);
    expect(
      toldRows(
        await kit.rows(
          'SELECT type, state, outcome_code, outcome_data FROM webhook_event ORDER BY state, outcome_data',
        ),
      ),
    ).to.deep.equal([
      { type: 'payment.succeeded', state: 'done', outcome: 'nothing had changed' },
      { type: 'payment.succeeded', state: 'done', outcome: 'nothing had changed' },
    ]);
    expect(lab.sandbox.ledger().requests.map(({ path }) => path)).to.include('/v2/invoices/..%2Forders');
  });

  it('bring a pull where an invoice can not be read by its number', async () => {
    const { lab } = await start('standard', {});
    lab.sandbox.addInvoices([{ invoice_no: 'I-1', amount: 100 }]);
    await lab.pull();
    const bell = new EventEmitter();
    await listen(lab, 'standard', bell);
    daemon(lab, bell);
    await delivering(lab);
    lab.sandbox.payInvoice('I-1');
    await waitFor('the pull', async () => (await listed()).length === 0);
    const isOver = async () => {
      const rows = toldRows(await kit.rows("SELECT outcome_code, outcome_data FROM webhook_event WHERE state='done'"));
      return rows.length === 1 && rows[0];
    };
    // A pull that begins in the very millisecond of the event does not count; the next one comes half a minute later.
    const event = await waitFor('the end of the event', isOver, 45_000);
    expect(event.outcome).to.match(/^the list was pulled/);
  });

  it('that come to a daemon that stands by wake the one that delivers', async () => {
    const { lab } = await start('standard');
    lab.sandbox.addInvoices([{ invoice_no: 'I-1', amount: 100 }]);
    await lab.pull();
    daemon(lab);
    await delivering(lab);
    const standby = lab.another({ store: await kit.connect(), actor: 'standby' });
    await listen(standby, 'standard', new EventEmitter());
    lab.sandbox.payInvoice('I-1');
    await waitFor('the paid invoice', async () => (await listed()).length === 0);
  });

  it('that came while nobody delivered are read about at the next start', async () => {
    const { lab } = await start('standard');
    lab.sandbox.addInvoices([{ invoice_no: 'I-1', amount: 100 }]);
    await lab.pull();
    await listen(lab, 'standard', null);
    lab.sandbox.payInvoice('I-1');
    await lab.sandbox.webhooksSent();
    await kit.store.transaction('lose the wake-up', (tx) => tx.run('DELETE FROM wake_up'));
    expect(await listed()).to.deep.equal(['I-1']);
    daemon(lab);
    await waitFor('the paid invoice', async () => (await listed()).length === 0);
  });

  it('wait while the pull is paused, and read an order back where it can be read', async () => {
    const { lab } = await start('standard', { ...readInvoice, readOrder: { path: '/v1/orders/{order_id}' } });
    await lab.capture();
    await lab.deliver();
    await listen(lab, 'standard', null);
    const [order] = lab.sandbox.ledger().orders;
    lab.sandbox.setOrder(order?.order_id as string, { status: 'shipped' });
    await lab.sandbox.webhooksSent();
    const pause = (sql: string) => kit.store.transaction('pause', (tx) => tx.run(sql, [Date.now()]));
    await pause(
      "INSERT INTO lane_pause (lane, cause, reason_code, actor, since_at) VALUES ('pull','operator','stopping','me',?)",
    );
    expect(await readNow(lab)).to.deep.equal({ read: 0, needsPull: false, waits: true });
    await pause('DELETE FROM lane_pause WHERE since_at<=?');
    expect(await readNow(lab)).to.deep.equal({ read: 1, needsPull: false, waits: false });
    expect(toldRows(await kit.rows('SELECT outcome_code, outcome_data FROM webhook_event'))[0]?.outcome).to.equal(
      'read: shipped',
    );
  });

  it('leave an invoice that may not be read by its number to the list, and stop no pull', async () => {
    const { lab } = await start('standard');
    lab.sandbox.addInvoices([{ invoice_no: 'I-1', amount: 100 }]);
    await lab.pull();
    lab.sandbox.setFaults([{ kind: 'redirect', match: { path: '/v2/invoices/I-1' } }]);
    await announced('I-1');
    expect(await readNow(lab)).to.deep.equal({ read: 0, needsPull: true, waits: false });
    expect(await kit.rows('SELECT lane FROM lane_pause')).to.deep.equal([]);
    expect(await kit.rows('SELECT cause FROM alert WHERE over_at IS NULL')).to.deep.equal([
      { cause: 'read_invoice.forbidden' },
    ]);
    expect((await lab.pull()).outcome).to.equal('proven');
  });

  // The files are looked at once a second, whatever the store.
  if (kit.dialect === 'sqlite')
    it('follow a secret that is changed, and keep it when its file becomes no secret', async () => {
      const { lab, secretFile } = await start('standard');
      const receiver = await listen(lab, 'standard', null);
      const url = `http://127.0.0.1:${receiver.port}/webhooks`;
      const answer = async (secret: string) => {
        lab.sandbox.change({ webhooks: { url, secret } });
        const id = lab.sandbox.announce('stock.arrived', {});
        await lab.sandbox.webhooksSent();
        return lab.sandbox.webhooks().find((one) => one.id === id)?.answers[0];
      };
      expect(await answer(standardSecret)).to.equal(204);
      expect(await answer(otherSecret)).to.equal(401);
      writeFileSync(secretFile, otherSecret);
      await waitFor('the new secret', async () => (await answer(otherSecret)) === 204);
      expect(await answer(standardSecret)).to.equal(401);
      writeFileSync(secretFile, 'no secret at all');
      await waitFor('the warning', async () => {
        await answer(otherSecret);
        return lab.log.some((line) => line.includes('can not be used'));
      });
      expect(await answer(otherSecret)).to.equal(204);
    });

  it('are counted, also those that are refused, when the listener ends, and status says when they seem to have stopped', async () => {
    const { lab } = await start('standard');
    const receiver = await listen(lab, 'standard', null);
    lab.sandbox.announce('stock.arrived', {});
    lab.sandbox.announce('order.status_changed', { order_id: 'ord_none' });
    await lab.sandbox.webhooksSent();
    const url = `http://127.0.0.1:${receiver.port}/webhooks`;
    for (let i = 0; i < 25; i++)
      await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    await receiver.close();
    const status = async () =>
      kit.store.read('status', (tx) => readStatus(tx, lab.settings, lab.reader.identity(), Date.now()));
    const { webhooks, alerts } = await status();
    expect(webhooks?.tally.map(({ name, number }) => [name, number])).to.deep.equal([
      ['forged', 25],
      ['stored', 1],
      ['unread', 1],
    ]);
    expect(webhooks?.stopped).to.equal(null);
    expect(alerts.map(({ cause }) => cause)).to.deep.equal(['webhooks.forged']);
    expect(lab.log.filter((line) => line.includes('signature'))).to.deep.equal([]);
    await endForgeries(lab.context);
    expect((await status()).alerts).to.deep.equal([]);
    // Orders are still announced.
    await announced('any', 'order', Date.now() + 10_000);
    await kit.store.transaction('pulls find what was paid', async (tx) => {
      for (let i = 1; i < 4; i++)
        await tx.run(
          "INSERT INTO invoice_pull (states, outcome, started_at, unlisted) VALUES ('unpaid','proven',?,2)",
          [Date.now() + i * 1_000],
        );
    });
    const stopped = (await status()).webhooks?.stopped;
    expect(stopped).to.deep.equal({ code: 'webhooks_stopped', pulls: 3, invoices: 6 });
    // The remedy: once the proxy lets events through again, the next one ends it.
    expect(stopped && remedyFor(stopped)).to.match(/^Check the reverse proxy/);
    await announced('I-1', 'invoice', Date.now() + 10_000);
    expect((await status()).webhooks?.stopped).to.equal(null);
  });
});
