import { expect } from 'chai';
import { claimLookUps } from '../../../src/outbound/deliver/claim-look-ups.js';
import { ServiceLease } from '../../../src/outbound/deliver/service-lease.js';
import { readClock } from '../../../src/store/clock.js';
import { explained } from '../../support/explained.js';
import { onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { withMethod } from '../../support/jobs/with-method.js';
import { sandboxLookUps } from '../../support/sandbox-look-ups.js';

onAnyLab('what can not be resent is looked up at the service', (kit) => {
  const states = () =>
    kit.rows('SELECT entity, state, park_class, COUNT(*) AS n FROM outbox_message GROUP BY 1, 2, 3 ORDER BY 1, 2');
  const expire = () =>
    kit.store.transaction('let the keys expire', (tx) =>
      tx.run("UPDATE outbox_message SET was_sent=1, first_sent_at=NULL, next_attempt_at=1 WHERE state='in_doubt'"),
    );
  const endpoints = sandboxLookUps;

  it('binds what it finds, flagged, and makes nothing twice', async () => {
    const lab = await kit.start({ customers: 3, orders: 6, settings: { service: { endpoints } } });
    await lab.capture();
    // Everything takes effect, and no answer arrives.
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST' } }]);
    await lab.deliver({ retryHorizonMs: 200 });
    lab.sandbox.clearFaults();
    await kit.store.transaction('end the outage', (tx) => tx.run('DELETE FROM lane_pause'));
    await expire();
    lab.sandbox.forgetKeys();
    await lab.deliver();
    await expire();
    await lab.deliver();

    const { orders, customers, duplicateReferences } = lab.sandbox.counts();
    expect({ orders, customers, duplicateReferences }).to.deep.equal({
      orders: 6,
      customers: 3,
      duplicateReferences: 0,
    });
    for (const row of await states()) expect(row.state).to.equal('delivered');
    const ids = await kit.rows("SELECT service_id FROM binding WHERE entity='customer'");
    expect(ids).to.have.length(3);
    const looked = await kit.rows("SELECT message_id, verdict, status FROM attempt WHERE purpose='look_up'");
    expect(looked).to.have.length.at.least(1);
    for (const attempt of looked) expect(attempt).to.deep.include({ verdict: 'found', status: 200 });
    const requests = lab.sandbox.ledger().requests.filter(({ method }) => method === 'GET');
    expect(requests).to.have.length(looked.length);
    // A service that searches loosely shows other customers too, and nothing would find them there that has to be forgotten.
    const kept = await kit.rows("SELECT excerpt FROM attempt WHERE purpose='look_up' AND excerpt IS NOT NULL");
    expect(kept).to.deep.equal([]);
    const flags = await kit.rows("SELECT flag_code, flag_data FROM outbox_message WHERE flag_code='found_by_look_up'");
    expect(flags).to.have.length(looked.length);
    const totals = await kit.rows("SELECT service_id AS id, service_total AS total FROM binding WHERE entity='order'");
    const atService = lab.sandbox.ledger().orders.map(({ order_id: id, total }) => ({ id, total }));
    expect(totals).to.have.deep.members(atService);
  });

  for (const absenceProves of [false, true])
    it(`${absenceProves ? 'sends again' : 'leaves to a person'} what it does not find${absenceProves ? ', where absence proves something' : ''}`, async () => {
      const lab = await kit.start({
        customers: 1,
        orders: 1,
        settings: { service: { endpoints: { lookUpCustomer: { ...sandboxLookUps.lookUpCustomer, absenceProves } } } },
      });
      await lab.capture();
      lab.sandbox.setFaults([{ kind: 'reset-before', match: { method: 'POST' } }]);
      await lab.deliver({ retryHorizonMs: 200 });
      lab.sandbox.clearFaults();
      await kit.store.transaction('end the outage', (tx) => tx.run('DELETE FROM lane_pause'));
      await expire();
      await lab.deliver();
      expect(lab.sandbox.counts()).to.include(
        absenceProves ? { customers: 1, orders: 1 } : { customers: 0, orders: 0 },
      );
      const [customer] = await states();
      expect(customer).to.deep.include(
        absenceProves ? { state: 'delivered' } : { state: 'parked', park_class: 'unproven' },
      );
    });

  it('leaves to a person, unasked, what was erased meanwhile, and delivery comes to its end', async () => {
    const lab = await kit.start({ customers: 1, orders: 2, settings: { service: { endpoints } } });
    await lab.capture();
    const orders = (await kit.rows("SELECT id FROM outbox_message WHERE entity='order' ORDER BY id")).map(
      ({ id }) => id,
    );
    await kit.store.transaction('as they were sent once', async (tx) => {
      await tx.run(
        "UPDATE outbox_message SET state='in_doubt', was_sent=1, first_sent_at=NULL, next_attempt_at=1 WHERE id=?",
        [orders[0]],
      );
      const conflict =
        "state='parked', park_class='conflict', was_sent=1, first_sent_at=?, attempts=1, next_attempt_at=1";
      await tx.run(`UPDATE outbox_message SET ${conflict} WHERE id=?`, [Date.now(), orders[1]]);
      await tx.run('DELETE FROM message_body WHERE message_id IN (?, ?)', orders);
    });
    const { stopped } = await lab.deliver({ retryHorizonMs: 1_000 });
    expect(stopped).to.equal(null);
    const left = await kit.rows(
      "SELECT state, park_class, reason_code, reason_data FROM outbox_message WHERE entity='order' ORDER BY id",
    );
    expect(left.map(({ state, park_class }) => [state, park_class])).to.deep.equal([
      ['parked', 'unproven'],
      ['parked', 'conflict'],
    ]);
    for (const { reason } of left) expect(reason).to.equal('A look-up proves nothing: its content was erased.');
    expect(await kit.rows("SELECT DISTINCT verdict FROM attempt WHERE purpose='look_up'")).to.deep.equal([
      { verdict: 'odd' },
    ]);
    expect(lab.sandbox.ledger().requests.map(({ method, path }) => [method, path])).to.deep.equal([
      ['POST', '/v1/customers'],
    ]);
  });

  it('is named as the way out of a conflict that shows no record, and settles it once it is set up', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    const exists = { error: { code: 'already_exists', message: 'Duplicate request' } };
    const match = { method: 'POST', path: '/v1/orders' };
    // The first try takes effect without an answer, and the service says of the second only that it is one.
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match }]);
    await lab.deliver({ retryHorizonMs: 1 });
    lab.sandbox.setFaults([{ kind: 'status', status: 409, body: exists, match }]);
    await kit.rows("UPDATE outbox_message SET next_attempt_at=1 WHERE state='in_doubt'");
    await lab.deliver();
    lab.sandbox.clearFaults();
    const [order] = await kit.rows("SELECT source_key, state, park_class FROM outbox_message WHERE entity='order'");
    expect(order).to.include({ state: 'parked', park_class: 'conflict' });
    const about = { entity: 'order', sourceKey: String(order?.source_key), erpIdentity: '' } as const;
    const advice = async ({ context } = lab) => {
      const { words } = await explained(context, about, String);
      return words.todo.map(({ text }) => text).join(' ');
    };
    expect(await advice()).to.include('service.endpoints.lookUpOrder');

    const asking = lab.another({ settings: { service: { endpoints } } });
    expect(await advice(asking)).not.to.include('service.endpoints.lookUpOrder');
    await asking.deliver();
    expect(await kit.rows("SELECT state FROM outbox_message WHERE entity='order'")).to.deep.equal([
      { state: 'delivered' },
    ]);
    expect(lab.sandbox.counts()).to.include({ orders: 1 });
  });

  it('asks again later when the service does not answer, and heeds its "slow down"', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: { service: { endpoints } } });
    await lab.capture();
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'POST' } }]);
    await lab.deliver({ retryHorizonMs: 200 });
    await kit.store.transaction('end the outage', (tx) => tx.run('DELETE FROM lane_pause'));
    await expire();
    lab.sandbox.setFaults([
      { kind: 'status', status: 429, headers: { 'retry-after': '1' }, match: { method: 'GET' }, times: 1 },
      { kind: 'status', status: 500, match: { method: 'GET' }, times: 1 },
    ]);
    await lab.deliver();
    const verdicts = await kit.rows(
      "SELECT verdict FROM attempt WHERE purpose='look_up' AND verdict<>'not_sent' ORDER BY id",
    );
    expect(verdicts.map((row) => row.verdict)).to.deep.equal(['throttled', 'in_doubt', 'found']);
    expect(lab.sandbox.counts()).to.include({ customers: 1, orders: 1, duplicateReferences: 0 });
  });

  it('leaves a conflict a conflict when the process that looked it up was killed', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: { service: { endpoints } } });
    await lab.capture();
    await kit.store.transaction('a conflict', (tx) =>
      tx.run(
        `UPDATE outbox_message SET state='parked', park_class='conflict', was_sent=1, first_sent_at=?, attempts=1, reason_code='legacy', reason_data='{"text":{"outside":"HTTP 409"}}' WHERE entity='order'`,
        [Date.now()],
      ),
    );
    const lease = (await ServiceLease.acquire(lab.context)) as ServiceLease;
    const entities = { in_doubt: [], conflict: ['order' as const] };
    const claimed = await lease.write('claim', (tx) =>
      claimLookUps(tx, { entities, only: null, sentBeforeMs: 0, limit: 10 }, lease.epoch, readClock(lab.context)),
    );
    expect(claimed).to.have.length(1);
    lease.markLost();
    await kit.store.transaction('let the lease run out', (tx) =>
      tx.run('UPDATE lease SET holder=NULL, expires_at=NULL'),
    );
    await withServiceLease(lab.another({}).context, async () => {
      const [order] = await kit.rows(
        "SELECT state, park_class, reason_code, reason_data FROM outbox_message WHERE entity='order'",
      );
      expect(order).to.deep.equal({ state: 'parked', park_class: 'conflict', reason: 'HTTP 409' });
    });
    await lab.deliver();
    expect(lab.sandbox.counts().orders).to.equal(0);
  });

  it('puts on record what it found once the store takes it again', async () => {
    const lab = await kit.start({ customers: 1, orders: 2 });
    const [row] = await lab.readErp('SELECT customer_no FROM customers');
    lab.sandbox.addCustomers([{ customer_code: row?.customer_no as string, name: 'Old' }]);
    await lab.capture();
    const { store } = lab.context;
    let lookUps = 0;
    let failed = 0;
    const transaction: typeof store.transaction = async (action, work) => {
      if (action === 'put outcomes on record' && lookUps > 0 && failed++ === 0)
        throw new Error('Connection lost: The server closed the connection.');
      const result = await store.transaction(action, work);
      if (action === 'take what is to be looked up') lookUps += (result as unknown[]).length;
      return result;
    };
    lab.context.store = withMethod(store, 'transaction', transaction);
    await lab.deliver();
    expect(failed, 'as it failed, and again').to.be.at.least(2);
    // Adopted; what differs is held for a person.
    const [{ n } = { n: -1 }] = await kit.rows("SELECT COUNT(*) AS n FROM outbox_message WHERE state='sending'");
    expect(Number(n)).to.equal(0);
    expect(await kit.rows("SELECT source_key FROM binding WHERE entity='customer'")).to.have.length(1);
    expect(lab.sandbox.counts().orders).to.equal(2);
  });
});
