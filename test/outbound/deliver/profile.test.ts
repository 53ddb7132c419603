import { expect } from 'chai';
import { checkStatus } from '../../../src/daemon/check-status.js';
import { readStatus } from '../../../src/daemon/read-status.js';
import { alertChanges, writeAlertChanges } from '../../../src/daemon/watch-alerts.js';
import { bindEnvironment } from '../../../src/outbound/deliver/go-live.js';
import { noteEndpoint } from '../../../src/outbound/deliver/profile-notices.js';
import { openAlerts } from '../../../src/store/alerts.js';
import { onAnyStore } from '../../store/stores.js';
import { alertsInWords } from '../../support/alerts.js';
import { everyAttempt } from '../../support/every-attempt.js';
import { type Lab, onAnyLab, useLab } from '../../support/jobs/job-lab.js';
import {
  expectAllAtService,
  expectOneBodyPerKey,
  messageOf,
  orderNumbers,
  statesOf,
} from '../../support/jobs/service-of.js';
import { sandboxLookUps } from '../../support/sandbox-look-ups.js';
import { refusalOf } from '../../support/told.js';

const { lookUpOrder } = sandboxLookUps;

onAnyLab('the profile of a service', (kit) => {
  describe('that wants the key in the body', () => {
    const settings = { service: { idempotency: { in: 'body', field: 'code' } } };
    const sandbox = { keyIn: 'body', keyField: 'code' } as const;

    it('gets it with every create and every change, in the bytes that are on record', async () => {
      const lab = await kit.start({ customers: 3, orders: 12, settings, sandbox });
      lab.sandbox.setFaults([{ kind: 'reset-after-commit', probability: 0.3 }]);
      await lab.capture();
      await lab.deliver();
      await lab.changeErp("UPDATE customers SET name='New & Sons'");
      await lab.capture({ sweep: true });
      await lab.deliver();
      await expectAllAtService(lab);
      expectOneBodyPerKey(lab);
      const { requests } = lab.sandbox.ledger();
      expect(requests.some(({ method }) => method === 'PATCH')).to.equal(true);
      const attempts = await kit.rows(`SELECT idempotency_key, body_hash FROM ${everyAttempt}`);
      const sent = new Map(attempts.map((row) => [row.idempotency_key, row.body_hash]));
      for (const { idempotency_key: key, body_sha256: hash } of requests) expect(hash).to.equal(sent.get(key));
    });

    it('gets what may have been sent in a header once more as it was', async () => {
      const lab = await kit.start({ customers: 1, orders: 2 });
      await lab.capture();
      lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { path: '/v1/orders' } }]);
      await lab.deliver({ retryHorizonMs: 0 });
      expect(await statesOf(kit)).to.have.property('in_doubt');
      lab.sandbox.clearFaults();
      const changed = lab.another({ settings });
      await kit.rows('UPDATE outbox_message SET next_attempt_at=0 WHERE next_attempt_at IS NOT NULL');
      await changed.deliver();
      await expectAllAtService(lab);
      expectOneBodyPerKey(lab);
      expect(
        await kit.rows("SELECT DISTINCT key_in, key_field FROM outbox_message WHERE entity='order'"),
      ).to.deep.equal([{ key_in: 'header', key_field: null }]);
    });

    for (const [how, more] of [
      ['the settings say so', { idempotency: { keptInRecord: true } }],
      [
        'a look-up compares it',
        { endpoints: { lookUpOrder: { ...lookUpOrder, match: { 'data.code': '{idempotency_key}' } } } },
      ],
    ] as const)
      it(`and keeps it in the record gets no key with a change, where ${how}`, async () => {
        const kept = { service: { ...more, idempotency: { ...settings.service.idempotency, ...more.idempotency } } };
        const lab = await kit.start({
          customers: 2,
          orders: 3,
          settings: kept,
          sandbox: { ...sandbox, needsKey: false },
        });
        await lab.capture();
        await lab.deliver();
        await lab.changeErp("UPDATE customers SET name='New & Sons'");
        await lab.capture({ sweep: true });
        await lab.deliver();
        await expectAllAtService(lab);
        const { requests } = lab.sandbox.ledger();
        const keyed = (method: string) =>
          requests.filter((one) => one.method === method).map((one) => one.idempotency_key !== null);
        expect(new Set(keyed('POST'))).to.deep.equal(new Set([true]));
        expect(keyed('PATCH')).to.have.length(2);
        expect(new Set(keyed('PATCH'))).to.deep.equal(new Set([false]));
      });

    it('gets in the body what it refused while the settings were wrong', async () => {
      const lab = await kit.start({ customers: 1, orders: 1, sandbox });
      await lab.capture();
      await lab.deliver();
      expect(await statesOf(kit)).to.have.property('parked');
      await kit.rows(
        "UPDATE outbox_message SET state='pending', park_class=NULL, was_sent=0, first_sent_at=NULL, next_attempt_at=0, waits_for=NULL WHERE state='parked'",
      );
      await lab.another({ settings }).deliver();
      await expectAllAtService(lab);
    });
  });

  describe('that recognises keys by how they are shown', () => {
    const timedOut = async (more: object = {}) => {
      const lab = await kit.start({
        customers: 1,
        orders: 1,
        settings: { service: { idempotency: { lifetimeHours: 24 }, ...more } },
      });
      await lab.capture();
      await lab.deliver({ scope: { only: new Map([['customer', new Set(['1'])]]) } });
      lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { path: '/v1/orders' } }]);
      await lab.deliver({ retryHorizonMs: 0 });
      lab.sandbox.clearFaults();
      // Another form of the key is another key there.
      lab.sandbox.forgetKeys();
      const goOn = async (service: object) => {
        await kit.rows('UPDATE outbox_message SET next_attempt_at=0 WHERE next_attempt_at IS NOT NULL');
        await lab.another({ settings: { service } }).deliver();
        return kit.rows("SELECT state, park_class, reason_code FROM outbox_message WHERE entity='order'");
      };
      return { lab, goOn };
    };

    it('is not sent a create again whose key the settings would show in another way', async () => {
      const { lab, goOn } = await timedOut();
      const waits = { state: 'parked', park_class: 'unproven', reason_code: 'key_shown_otherwise' };
      expect(await goOn({ idempotency: { quoted: true } })).to.deep.equal([waits]);
      expect(lab.sandbox.counts().orders).to.equal(1);
      // The setting put back is no proof either: nobody knows what was sent meanwhile.
      expect(await goOn({ idempotency: { quoted: false } })).to.deep.equal([waits]);
      const lines = await kit.rows("SELECT outcome, detail FROM audit_log WHERE event='parked'");
      expect(lines).to.have.length(1);
      expect(lines[0].detail).to.contain('key_shown_otherwise');
      expect(lab.sandbox.counts().orders).to.equal(1);
    });

    it('is asked for it where it can be', async () => {
      const { lab, goOn } = await timedOut({ endpoints: { lookUpOrder } });
      const [order] = await goOn({ idempotency: { quoted: true } });
      expect(order).to.include({ state: 'delivered' });
      expect(lab.sandbox.counts().orders).to.equal(1);
    });

    it('gets nothing again by force that it knows under the other form', async () => {
      const lab = await kit.start({
        customers: 1,
        orders: 1,
        settings: { service: { idempotency: { lifetimeHours: 24 } } },
      });
      await lab.capture();
      await lab.deliver();
      const other = lab.another({ settings: { service: { idempotency: { quoted: true } } } });
      const { skipped } = await other.capture({ filter: { entity: 'order' }, force: true });
      expect(skipped.map(({ reason }) => reason.code)).to.include('key_may_be_forgotten');
      const again = await lab.capture({ filter: { entity: 'order' }, force: true });
      expect(again.captured.orders).to.equal(1);
      lab.sandbox.forgetKeys();
      await other.deliver();
      expect(lab.sandbox.counts().orders).to.equal(1);
    });
  });

  it('parks what the service would refuse, unsent, and sends it when the rule has changed', async () => {
    const fields = { order: { note: { maxLength: 3 } }, customer: { customer_code: { required: true } } };
    const lab = await kit.start({ customers: 1, orders: 2, settings: { service: { fields } } });
    await lab.capture();
    await lab.deliver();
    const [number] = (await orderNumbers(lab)) as [string];
    const message = await messageOf(kit, number);
    expect(message).to.include({ state: 'parked', park_class: 'unmapped', first_sent_at: null, attempts: 0 });
    expect(message.reason).to.match(/^note has \d+ characters, more than the 3 that the service takes/);
    expect(lab.sandbox.ledger().requests.filter(({ path }) => path.includes('orders'))).to.deep.equal([]);
    expect(await lab.capture({ sweep: true })).to.deep.include({ captured: { customers: 0, orders: 0 } });

    const wider = lab.another({ settings: { service: { fields: { order: { note: { maxLength: 100 } } } } } });
    await wider.capture({ sweep: true });
    await wider.deliver();
    await expectAllAtService(lab);
  });

  it('parks a record that is larger than the service takes', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: { service: { maxRequestBytes: 60 } } });
    const { parked } = await lab.capture();
    expect(parked).to.be.at.least(1);
    const [number] = (await orderNumbers(lab)) as [string];
    expect((await messageOf(kit, number)).reason).to.match(/it is \d+ bytes large, and the service takes 60/);
  });

  it('warns once of a state that it does not name, keeps it, and forgets the warning when it is named', async () => {
    const lab = await kit.start({ customers: 1, orders: 3, settings: { service: { states: { order: ['new'] } } } });
    await lab.changeErp("UPDATE sales_orders SET status='draft' WHERE id>1");
    await lab.capture();
    await lab.deliver();
    await lab.changeErp("UPDATE sales_orders SET status='confirmed'");
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(await alertsInWords(kit)).to.have.length(1);
    const [alert] = await alertsInWords(kit);
    expect(alert).to.include({ cause: 'states.order' });
    expect(alert?.message).to.contain('service.states.order does not name: "confirmed"');
    expect(lab.log.filter((line) => line.includes('a state that the settings do not name'))).to.have.length(1);
    const details = await kit.rows("SELECT detail FROM audit_log WHERE event='delivered' AND entity='order'");
    expect(details.map(({ detail }) => JSON.parse(detail).serviceState)).to.include('confirmed');

    const named = lab.another({ settings: { service: { states: { order: ['new', 'confirmed'] } } } });
    const status = await kit.store.read('status', (tx) => readStatus(tx, named.settings, 'erp', Date.now()));
    expect(status.alerts).to.deep.equal([]);
    await kit.store.transaction('look', async (tx) => {
      const changes = await alertChanges(tx, named.settings, Date.now(), await openAlerts(tx));
      if (changes) await writeAlertChanges(tx, changes, Date.now());
    });
    expect(await alertsInWords(kit)).to.deep.equal([]);
  });

  it('keeps one warning of the end of an endpoint, until the endpoint is another one', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    const sunsetAt = Date.UTC(2027, 2, 31);
    const notice = { endpoint: 'createOrder', address: 'POST /v1/orders' } as const;
    await noteEndpoint(lab.context, { ...notice, lifecycle: { deprecatedAt: true, sunsetAt: null } });
    await noteEndpoint(lab.context, { ...notice, lifecycle: { deprecatedAt: Date.UTC(2026, 8, 1), sunsetAt } });
    expect(await alertsInWords(kit)).to.deep.equal([
      {
        cause: 'endpoint.createOrder',
        isOver: false,
        message:
          'The service says that POST /v1/orders is deprecated from 2026-09-01 and ends on 2027-03-31. ' +
          'Move service.endpoints.createOrder to its newer version before then.',
      },
    ]);
    expect(lab.log.filter((line) => line.includes('is deprecated'))).to.have.length(1);
    const statusWith = (settings: Lab['settings']) =>
      kit.store.read('status', (tx) => readStatus(tx, settings, 'erp', Date.now()));
    const status = await statusWith(lab.settings);
    expect(status.alerts.map(({ details }) => details.sunsetAt)).to.deep.equal(['2027-03-31T00:00:00.000Z']);
    expect(checkStatus(status).text).to.contain('ends on 2027-03-31');
    const moved = lab.another({ settings: { service: { endpoints: { createOrder: { path: '/v2/orders' } } } } });
    expect((await statusWith(moved.settings)).alerts).to.deep.equal([]);
    const elsewhere = lab.another({ settings: { service: { baseUrl: 'http://127.0.0.1:9' } } });
    expect((await statusWith(elsewhere.settings)).alerts).to.deep.equal([]);
  });

  it('belongs to one environment from the first time that the service is asked', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    await lab.deliver();
    let refusal = '';
    await kit.store
      .transaction('bind', (tx) => bindEnvironment(tx, 'production'))
      .catch((error: Error) => {
        refusal = refusalOf(error);
      });
    expect(refusal).to.equal(
      'the store belongs to the sandbox environment; give production a store of its own (settings under `store`)',
    );
  });
});

onAnyStore('a text of the ERP that is too large for the service and for the store', (store) => {
  const kit = useLab(store, 'sqlite');

  it('parks its own record, leaves no copy of it, and stops no other', async () => {
    const lab = await kit.start({ customers: 4, orders: 8 });
    const long = "printf('%.*c', 20000000, 'x')";
    await lab.changeErp(`UPDATE customers SET name=${long} WHERE id=(SELECT MIN(customer_id) FROM sales_orders)`);
    await lab.changeErp(`UPDATE sales_orders SET order_no=${long} WHERE id=(SELECT MAX(id) FROM sales_orders)`);
    expect(await lab.capture()).to.deep.include({ parked: 2 });
    for (const [column, table] of [
      ['record', 'message_body'],
      ['detail', 'audit_log'],
    ]) {
      const [found] = await kit.rows(`SELECT MAX(LENGTH(${column})) AS most FROM ${table}`);
      expect(found?.most, `${table}.${column}`).to.be.below(5_000);
    }
    await lab.deliver();
    const [bound] = await kit.rows("SELECT COUNT(*) AS orders FROM binding WHERE entity='order'");
    expect(bound?.orders).to.be.above(0);
  });
});
