import { expect } from 'chai';
import { confirmHeld, summariseHeld } from '../../src/operator/actions/held-changes.js';
import { actOnMessages } from '../../src/operator/actions/message-actions.js';
import { moveRecordBinding } from '../../src/operator/actions/move-binding.js';
import { recover } from '../../src/operator/recover.js';
import { adoptFile } from '../../src/outbound/adoption/adopt-file.js';
import { BindingHolders } from '../../src/outbound/outbox/binding-holders.js';
import { importBindings } from '../../src/outbound/outbox/bindings.js';
import type { BindingRow } from '../../src/outbound/outbox/exported-bindings.js';
import type { ExportedRow } from '../../src/outbound/recovery/take-over-bindings.js';
import type { Row } from '../../src/store/rows.js';
import { underWay } from '../store/stores.js';
import { editSampleLine, insertSampleOrder } from '../support/change-sample-erp.js';
import { forged } from '../support/forged.js';
import { type Lab, onSqliteLabAnd } from '../support/jobs/job-lab.js';
import { exportOf, exportRows, holdAsLost, loseEverything } from '../support/jobs/lost-store.js';
import { say } from '../support/jobs/say.js';
import { withMethod } from '../support/jobs/with-method.js';
import { sandboxLookUps } from '../support/sandbox-look-ups.js';
import { told } from '../support/told.js';
import { waitFor } from '../support/wait-for.js';

/** Without the total, so that the number alone is the proof. */
const { total: _total, ...lookUpOrder } = sandboxLookUps.lookUpOrder;

onSqliteLabAnd('postgres', 'one record of the ERP is one record of the service', (kit) => {
  const orders = () =>
    kit.rows(
      "SELECT source_key, state, park_class, reason_code, reason_data FROM outbox_message WHERE entity='order' ORDER BY id",
    );
  const bindings = () =>
    kit.rows("SELECT source_key, service_id FROM binding WHERE entity='order' ORDER BY source_key");
  const endOutage = () => kit.store.transaction('end the outage', (tx) => tx.run('DELETE FROM lane_pause'));
  /** The first order is delivered, and the second one comes after. */
  const firstOfTwo = async (settings = {}): Promise<Lab> => {
    const lab = await kit.start({ customers: 1, orders: 1, settings });
    await addSecond(lab);
    await lab.capture({ sweep: true });
    return lab;
  };
  const addSecond = async (lab: Lab) => {
    await lab.capture();
    await lab.deliver();
    await insertSampleOrder(lab.erp, {});
  };
  const loseSecond = async (lab: Lab, kind: 'reset-before' | 'reset-after-commit' = 'reset-before') => {
    lab.sandbox.setFaults([{ kind, match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.deliver({ retryHorizonMs: 200 });
    lab.sandbox.clearFaults();
    await endOutage();
  };

  it('a look-up by a number that two orders share binds the second to nothing', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: { orders: { number: 'remark' }, service: { endpoints: { lookUpOrder } } },
    });
    await lab.changeErp("UPDATE sales_orders SET remark='PO-77'");
    await addSecond(lab);
    await lab.changeErp("UPDATE sales_orders SET remark='PO-77'");
    await lab.capture({ sweep: true });
    await loseSecond(lab);
    await kit.store.transaction('let the key expire', (tx) =>
      tx.run("UPDATE outbox_message SET was_sent=1, first_sent_at=NULL, next_attempt_at=1 WHERE state='in_doubt'"),
    );
    const before = await bindings();
    await lab.deliver();
    const [first, waits] = await orders();
    expect(waits).to.deep.include({ state: 'parked', park_class: 'conflict' });
    expect(waits?.reason).to.contain(`the order with the key ${first?.source_key} already`);
    expect(await bindings()).to.deep.equal(before);
    // The advice works.
    await say(kit, 'not_delivered', { keys: [waits?.source_key as string], entity: 'order' });
    await lab.deliver();
    expect((await bindings()).map((row: Row) => row.service_id)).to.have.length(2);
    expect(lab.sandbox.counts().orders).to.equal(2);
  });

  it('an acknowledgement that names the id of another order waits for a person, and the others go on', async () => {
    const lab = await kit.start({ customers: 1, orders: 3 });
    const same = { order_id: 'ord_same', status: 'received', total: 1, created_at: '2026-11-23T10:00:00Z' };
    await lab.capture();
    lab.sandbox.setFaults([
      {
        kind: 'status',
        status: 201,
        body: same,
        match: { method: 'POST', path: '/v1/orders' },
        times: 2,
      },
    ]);
    const { parked, delivered } = await lab.deliver();
    expect({ parked, orders: delivered.orders }).to.deep.equal({ parked: 1, orders: 2 });
    const waits = (await orders()).filter(({ state }) => state === 'parked');
    expect(waits).to.have.length(1);
    expect(waits[0]).to.include({ park_class: 'conflict' });
    expect(waits[0]?.reason).to.contain('ord_same').and.contain('already');
    expect(await bindings()).to.have.length(2);
  });

  it('no person can say that a record is the one of another', async () => {
    const lab = await firstOfTwo();
    await loseSecond(lab);
    const [bound] = await bindings();
    const [, second] = await orders();
    const key = second?.source_key as string;
    await say(kit, 'delivered', { keys: [key], entity: 'order' }, bound?.service_id as string);
    expect(await bindings()).to.deep.equal([bound]);
    await say(kit, 'delivered', { keys: [key], entity: 'order' }, 'ord_by_hand');
    expect(await bindings()).to.have.length(2);
  });

  for (const [what, mapping] of [
    ['number', { number: 'remark' }],
    ['note', { fields: { note: 'remark' } }],
  ] as const)
    it(`what a look-up finds by a ${what} that two orders share is bound to neither while both are in doubt`, async () => {
      const lab = await kit.start({
        customers: 1,
        orders: 2,
        settings: { orders: mapping, service: { endpoints: { lookUpOrder } } },
      });
      // One line each, of one price: nothing but the key tells them apart.
      await lab.changeErp("UPDATE sales_orders SET remark='PO-77', total=19.99");
      await lab.changeErp('DELETE FROM sales_order_lines WHERE line_no>1');
      await lab.changeErp('UPDATE sales_order_lines SET qty=1, unit_price=19.99');
      await lab.capture({ sweep: true });
      lab.sandbox.setFaults([
        { kind: 'reset-before', match: { method: 'POST', path: '/v1/orders' }, times: 1 },
        { kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' }, times: 1 },
        // On a slow machine they are tried again at once.
        { kind: 'reset-before', match: { method: 'POST', path: '/v1/orders' } },
      ]);
      await lab.deliver({ retryHorizonMs: 0 });
      lab.sandbox.clearFaults();
      await endOutage();
      await kit.store.transaction('let the keys expire', (tx) =>
        tx.run("UPDATE outbox_message SET was_sent=1, first_sent_at=NULL, next_attempt_at=1 WHERE state='in_doubt'"),
      );
      await lab.deliver();
      expect(await bindings()).to.deep.equal([]);
      const both = await orders();
      expect(both).to.have.length(2);
      for (const [index, one] of both.entries()) {
        expect(one).to.deep.include({ state: 'parked', park_class: 'unproven' });
        expect(one.reason).to.contain(`the order with the key ${both[1 - index]?.source_key} has the same ${what}`);
      }
      // The advice works.
      const [found] = lab.sandbox.ledger().orders;
      await say(kit, 'delivered', { keys: [both[1]?.source_key], entity: 'order' }, found?.order_id);
      await say(kit, 'not_delivered', { keys: [both[0]?.source_key], entity: 'order' });
      await lab.deliver();
      expect(await bindings()).to.have.length(2);
      expect(lab.sandbox.counts().orders).to.equal(2);
    });

  it('two people who say of two records at the same moment that they are one are not both believed', async () => {
    const lab = await kit.start({ customers: 1, orders: 2 });
    await lab.capture();
    await loseSecond(lab);
    const ids = (await kit.rows("SELECT id FROM outbox_message WHERE entity='order' ORDER BY id")).map(({ id }) => id);
    const request = {
      action: 'delivered' as const,
      filter: {},
      serviceId: 'ord_by_hand',
      unchecked: true,
      reason: 'a person looked',
    };
    const neighbour = await kit.connect();
    const onlooker = await kit.connect();
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const second = begun.then(() => actOnMessages({ ...lab.context, store: neighbour }, request, [ids[1]]));
    const inLine = ['SELECT%FROM lease%FOR UPDATE', 'INSERT INTO binding%'].map((like) => underWay(kit, like));
    const slow = withMethod(kit.store, 'transaction', async (what, work) =>
      kit.store.transaction(what, async (tx) => {
        const result = await work(tx);
        begin();
        if (tx.dialect.name !== 'sqlite')
          await waitFor(
            'the other one stands in line',
            // A transaction of another connection: PostgreSQL shows for ever what it has shown once.
            () => onlooker.read('look', async (look) => (await look.select(inLine.join(' UNION '))).length > 0),
          );
        return result;
      }),
    );
    expect((await actOnMessages({ ...lab.context, store: slow }, request, [ids[0]])).done).to.equal(1);
    expect((await second).done).to.equal(0);
    expect(await bindings()).to.have.length(1);
  });

  it('an export that gives two records one id is believed of the first, and says so of the second', async () => {
    const lab = await kit.start({ customers: 1, orders: 2 });
    await lab.capture();
    await lab.deliver();
    const rows: ExportedRow[] = await exportRows(kit);
    const [one, other] = rows.filter(({ entity }) => entity === 'order') as [BindingRow, BindingRow];
    other.service_id = one.service_id;
    const adoption = { entity: 'order', source_key: other.source_key, service_id: one.service_id };
    const line = {
      ...adoption,
      adopted_from: 'file',
      adopted_at: 1,
      actor: 'somebody',
      differs: null,
      reviewed_at: null,
    };
    await loseEverything(kit);
    await holdAsLost(kit);
    const fate = { to: 'parked' } as const;
    const bindingsFile = exportOf([line, ...rows]);
    const result = await recover(lab.context, lab.reader, { fate, bindings: bindingsFile, reason: 'a test' });
    const claim = { entity: 'order', sourceKey: other.source_key, serviceId: one.service_id };
    expect(result.bindings).to.deep.include({
      taken: 1,
      refused: [{ ...claim, heldBy: one.source_key }],
    });
    expect(await kit.rows('SELECT source_key FROM adoption')).to.deep.equal([]);
    const [said] = await kit.rows("SELECT source_key, detail FROM audit_log WHERE outcome='binding_refused'");
    expect(said.source_key).to.equal(other.source_key);
    expect(said.detail).to.contain(`the order with the key ${one.source_key} already`);
    const waiting = (await orders()).filter(({ state }) => state === 'parked');
    expect(waiting.map(({ source_key: key }) => key)).to.deep.equal([other.source_key]);
  });

  it('an acknowledgement that names a second id of a record waits for a person, and the others go on', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: { service: { idempotency: { lifetimeHours: 24 } } },
    });
    await lab.capture();
    await lab.deliver();
    const [before] = await bindings();
    // The service loses its keys: sent again, the same create makes a second order there.
    lab.sandbox.forgetKeys();
    await lab.capture({ filter: { entity: 'order' }, force: true });
    await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    const { parked, delivered } = await lab.deliver();
    expect({ parked, orders: delivered.orders }).to.deep.equal({ parked: 1, orders: 1 });
    const [waits] = (await orders()).filter(({ state }) => state === 'parked');
    const key = before?.source_key as string;
    const made = lab.sandbox.ledger().orders;
    const { reference } = made.find((one) => one.order_id === before?.service_id) ?? {};
    const second = made.find((one) => one.reference === reference && one.order_id !== before?.service_id)?.order_id;
    expect(waits).to.include({ source_key: key, park_class: 'conflict' });
    expect(waits?.reason)
      .to.contain(before?.service_id as string)
      .and.to.contain(second as string)
      .and.to.contain(`waybill bindings move order ${key} --from ${before?.service_id} --to ${second}`);
    expect((await bindings()).find((row: Row) => row.source_key === key)).to.deep.equal(before);
    const [line] = await kit.rows("SELECT detail FROM audit_log WHERE event='parked' ORDER BY id DESC");
    expect(line.detail).to.contain(before?.service_id).and.to.contain(second);

    // A person names the other one: refused as a mere word, done where both ids are named.
    await say(kit, 'delivered', { keys: [key], entity: 'order' }, second);
    expect((await bindings()).find((row: Row) => row.source_key === key)).to.deep.equal(before);
    const move = { entity: 'order', sourceKey: key, from: before?.service_id as string, to: second as string } as const;
    const wrong = { ...move, from: 'ord_of_nobody' };
    expect(told(await moveRecordBinding(lab.context, wrong, 'a test'))).to.equal(
      `it is ${before?.service_id} at the service, not ord_of_nobody`,
    );
    const [, other] = await bindings();
    const taken = { ...move, to: other?.service_id as string };
    expect(told(await moveRecordBinding(lab.context, taken, 'a test'))).to.contain(
      `the key ${other?.source_key} already`,
    );
    expect(await moveRecordBinding(lab.context, move, 'the first was removed')).to.equal(null);
    expect((await bindings()).find((row: Row) => row.source_key === key)?.service_id).to.equal(second);
    const [moved] = await kit.rows("SELECT detail FROM audit_log WHERE outcome='move_binding'");
    expect(JSON.parse(moved.detail)).to.include({ from: before?.service_id, to: second });
    await say(kit, 'delivered', { keys: [key], entity: 'order' });
    expect((await orders()).map(({ state }) => state)).to.not.include('parked');
  });

  it('an update that went to the wrong record is not sent to the right one under the same key', async () => {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: { service: { idempotency: { lifetimeHours: 24 } } },
    });
    await lab.capture();
    await lab.deliver();
    const [before] = await bindings();
    const { source_key: sourceKey, service_id: from } = before as { source_key: string; service_id: string };
    // Made by hand, at the service.
    lab.sandbox.forgetKeys();
    await lab.capture({ filter: { entity: 'order' }, force: true });
    await lab.deliver();
    const to = lab.sandbox.ledger().orders.find(({ order_id: id }) => id !== from)?.order_id as string;
    await kit.store.transaction('that one is settled', (tx) =>
      tx.run(`UPDATE outbox_message SET ${forged.superseded}, park_class=NULL WHERE state='parked'`),
    );
    await editSampleLine(lab.erp, Number(sourceKey), 1, 77);
    await lab.capture({ sweep: true });
    lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { method: 'PATCH' }, times: 50 }]);
    await lab.deliver({ retryHorizonMs: 0 });
    lab.sandbox.clearFaults();
    expect((await orders()).at(-1)).to.include({ state: 'in_doubt' });

    const move = { entity: 'order', sourceKey, from, to } as const;
    expect(await moveRecordBinding(lab.context, move, 'a test')).to.equal(null);
    expect((await orders()).at(-1)).to.include({ state: 'superseded' });
    await endOutage();
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect((await orders()).filter(({ state }) => !['delivered', 'superseded'].includes(state))).to.deep.equal([]);
    const made = lab.sandbox.ledger().orders.find(({ order_id: id }) => id === to);
    expect(JSON.stringify(made)).to.contain('"qty":77');
  });

  it('an export that gives a record another id is not believed, unless the record was made anew since', async () => {
    const lab = await kit.start({ customers: 1, orders: 2 });
    await lab.capture();
    await lab.deliver();
    const before = await bindings();
    const rows: ExportedRow[] = await exportRows(kit);
    const [one, other] = rows.filter(({ entity }) => entity === 'order') as [BindingRow, BindingRow];
    Object.assign(one, { service_id: 'ord_other', revision: one.revision + 1 });
    Object.assign(other, { service_id: 'ord_anew', revision: other.revision + 2, generation: other.generation + 1 });
    await holdAsLost(kit);
    const fate = { to: 'parked' } as const;
    const bindingsFile = exportOf(rows);
    const result = await recover(lab.context, lab.reader, { fate, bindings: bindingsFile, reason: 'a test' });
    const was = (key: string) => before.find((row: Row) => row.source_key === key)?.service_id as string;
    const claim = { entity: 'order', sourceKey: one.source_key, serviceId: 'ord_other' };
    expect(result.bindings).to.deep.include({
      taken: 1,
      refused: [{ ...claim, heldBy: one.source_key, boundTo: was(one.source_key) }],
    });
    expect(new Map((await bindings()).map((row: Row) => [row.source_key, row.service_id]))).to.deep.equal(
      new Map([
        [one.source_key, was(one.source_key)],
        [other.source_key, 'ord_anew'],
      ]),
    );
    const [said] = await kit.rows("SELECT detail FROM audit_log WHERE outcome='binding_refused'");
    expect(said.detail).to.contain('ord_other').and.to.contain(was(one.source_key));
  });

  it('the writer of bindings has no statement that changes an id without both', async () => {
    const lab = await firstOfTwo();
    await lab.deliver();
    const [bound] = await bindings();
    const row = {
      ...(await kit.rows("SELECT * FROM binding WHERE entity='order' ORDER BY source_key"))[0],
    } as BindingRow;
    const claimed = { ...row, service_id: 'ord_other' };
    const claims = [{ entity: 'order', sourceKey: row.source_key, serviceId: 'ord_other' }];
    const refused = async (ask: 'asked' | 'asked before') =>
      kit.store
        .transaction('import', async (tx) => {
          const holders = await BindingHolders.of(tx, claims);
          // Whoever asked too early is told by the statement itself.
          if (ask === 'asked before') holders.problemOf = () => null;
          await importBindings(tx, [claimed], holders, { isSuccessor: false });
        })
        .then(
          () => 'it was written',
          (error: Error) => error.message,
        );
    expect(await refused('asked')).to.contain(`${bound?.service_id} at the service already`);
    expect(await refused('asked before')).to.contain('another id at the service');
    expect((await bindings())[0]).to.deep.equal(bound);
  });

  it('a customer whose code was changed and confirmed keeps its binding, which moves to the new code', async () => {
    const lab = await kit.start({ customers: 2, orders: 2 });
    await insertSampleOrder(lab.erp, { customerId: 1 });
    await lab.capture({ sweep: true });
    await lab.deliver();
    const customers = async () =>
      new Map(
        (await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='customer'")).map((row) => [
          row.source_key,
          row.service_id,
        ]),
      );
    const code = (await customers()).get('1') as string;
    await lab.changeErp("UPDATE customers SET customer_no='K99' WHERE id=1");
    await lab.capture({ sweep: true });
    const filter = { records: [{ entity: 'customer', sourceKey: '1' }] } as const;
    const { shown } = await summariseHeld(lab.context, filter);
    expect((await confirmHeld(lab.context, filter, 'send', shown, 'they have a new code')).done).to.equal(1);
    // The stand-in never changes the code of a customer; other services do.
    const match = { method: 'PATCH', path: '/v1/customers' };
    lab.sandbox.setFaults([{ kind: 'status', status: 200, body: { customer_code: 'K99' }, match }]);
    await lab.deliver();
    expect((await customers()).get('1')).to.equal('K99');
    expect(await kit.rows('SELECT lane FROM lane_pause')).to.deep.equal([]);
    const [line] = await kit.rows("SELECT detail FROM audit_log WHERE event='delivered' ORDER BY id DESC");
    expect(JSON.parse(line.detail)).to.include({ serviceId: 'K99', renamedFrom: code });
    // The next edit goes to the same record under its new code.
    await lab.changeErp("UPDATE customers SET name='A new name' WHERE id=1");
    await lab.capture({ sweep: true });
    await lab.deliver();
    const patched = lab.sandbox
      .ledger()
      .requests.filter(({ method, path }) => method === 'PATCH' && path.includes('customers'));
    expect(patched.map(({ path }) => path)).to.deep.equal([`/v1/customers/${code}`, '/v1/customers/K99']);
    expect(
      await kit.rows(
        "SELECT reason_code, reason_data FROM outbox_message WHERE entity='customer' AND state<>'delivered'",
      ),
    ).to.deep.equal([]);
  });

  it('an order that the service knows by its number has its binding move to a new number that a person confirmed', async () => {
    const service = { acknowledgement: { orderId: 'note' }, checkTotal: 'off' };
    const lab = await kit.start({ customers: 1, orders: 1, settings: { service } });
    const [number = ''] = [...(await lab.expectedOrders()).keys()];
    const answers = (method: string, status: number, note: string) =>
      lab.sandbox.setFaults([{ kind: 'status', status, body: { note }, match: { method, path: '/v1/orders' } }]);
    const order = async () => (await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='order'"))[0];
    answers('POST', 201, number);
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(await order()).to.include({ service_id: number });
    await lab.changeErp("UPDATE sales_orders SET order_no='N-9' WHERE order_no=?", [number]);
    await lab.capture({ sweep: true });
    const filter = { records: [{ entity: 'order', sourceKey: String((await order())?.source_key) }] } as const;
    const { shown } = await summariseHeld(lab.context, filter);
    expect((await confirmHeld(lab.context, filter, 'send', shown, 'it has a new number')).done).to.equal(1);
    answers('PATCH', 200, 'N-9');
    await lab.deliver();
    expect(await order()).to.include({ service_id: 'N-9' });
    expect(await kit.rows("SELECT state FROM outbox_message WHERE state='parked'")).to.deep.equal([]);
  });

  for (const answer of ['that the second exists', 'that it made the second'] as const)
    it(`of two customers with one code, at a service that says ${answer}, one waits for a person`, async () => {
      const query =
        "SELECT id, 'K10001' AS customer_no, name, email, street, postcode, city, country, updated_at FROM customers";
      const lab = await kit.start({ customers: 2, orders: 4, settings: { customers: { query } } });
      await insertSampleOrder(lab.erp, { customerId: 1 });
      await insertSampleOrder(lab.erp, { customerId: 2 });
      await lab.capture({ sweep: true });
      const match = { method: 'POST', path: '/v1/customers' };
      await lab.deliver({ scope: { only: new Map([['customer', new Set(['1'])]]) } });
      if (answer !== 'that the second exists')
        lab.sandbox.setFaults([{ kind: 'status', status: 201, body: { customer_code: 'K10001' }, match }]);
      await lab.deliver({ retryHorizonMs: 0 });
      const customers = await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='customer'");
      expect(customers).to.have.length(1);
      const waits = await kit.rows(
        "SELECT park_class, reason_code, reason_data FROM outbox_message WHERE entity='customer' AND state='parked'",
      );
      expect(waits).to.have.length(1);
      // The record at the service is the other one: with a code of its own, this one goes out.
      expect(waits[0]).to.include({ park_class: 'refused' });
      expect(waits[0].reason).to.contain(`the key ${customers[0].source_key}`);
    });

  it('a new customer with a code that another one has given up is told to confirm that change, and goes out then', async () => {
    const lab = await kit.start({ customers: 3, orders: 6 });
    await insertSampleOrder(lab.erp, { customerId: 1 });
    await insertSampleOrder(lab.erp, { customerId: 2 });
    await lab.changeErp('UPDATE sales_orders SET customer_id=2 WHERE customer_id=3');
    await lab.capture({ sweep: true });
    await lab.deliver();
    await lab.changeErp("UPDATE customers SET customer_no='K99' WHERE id=1");
    await lab.changeErp("UPDATE customers SET customer_no='K10001' WHERE id=3");
    await insertSampleOrder(lab.erp, { customerId: 3 });
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    const stateOf = async (key: string) =>
      (await kit.rows("SELECT * FROM outbox_message WHERE entity='customer' AND source_key=? ORDER BY id", [key])).at(
        -1,
      );
    const told = (await stateOf('3'))?.reason as string;
    expect(told).to.match(
      /K10001 as the customer with the key 1 .*confirm that change first: .*confirm customers --key 1/,
    );
    const filter = { records: [{ entity: 'customer', sourceKey: '1' }] } as const;
    const { shown } = await summariseHeld(lab.context, filter);
    await confirmHeld(lab.context, filter, 'send', shown, 'they have a new code');
    const match = { method: 'PATCH', path: '/v1/customers' };
    lab.sandbox.setFaults([{ kind: 'status', status: 200, body: { customer_code: 'K99' }, match }]);
    await lab.deliver();
    expect(await stateOf('1')).to.include({ state: 'delivered' });
    lab.sandbox.setFaults([
      {
        kind: 'status',
        status: 201,
        body: { customer_code: 'K10001' },
        match: { method: 'POST', path: '/v1/customers' },
      },
    ]);
    await say(kit, 'retry', { keys: ['3'], entity: 'customer' });
    await lab.deliver();
    expect(await stateOf('3')).to.include({ state: 'delivered' });
  });

  it('what a person said is delivered is never created again', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    await loseSecond(lab);
    await say(kit, 'delivered', { entity: 'order' }, 'ord_by_hand');
    const { skipped } = await lab.capture({ filter: { entity: 'order' }, force: true });
    expect(skipped.map(({ reason }) => reason.code)).to.include('found_without_key');
    await lab.deliver();
    expect(lab.sandbox.counts().orders).to.equal(0);
  });

  it('what a person found behind a conflict may hold anything, so the next sweep brings its fields up to date', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    await kit.rows(
      `UPDATE outbox_message SET ${forged.parked}, park_class='conflict', was_sent=1, first_sent_at=NULL, attempts=1 WHERE entity='order'`,
    );
    await say(kit, 'delivered', { entity: 'order' }, 'ord_by_hand');
    await lab.capture({ sweep: true });
    const messages = await kit.rows("SELECT operation, state FROM outbox_message WHERE entity='order' ORDER BY id");
    expect(messages).to.deep.equal([
      { operation: 'create', state: 'delivered' },
      { operation: 'update', state: 'pending' },
    ]);
  });

  /** An order was removed at the service, which goes on showing it, and is wanted again. */
  const takenBack = async (kind: 'reset-before' | 'reset-after-commit') => {
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: {
        orders: { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete' },
        service: { endpoints: { lookUpOrder } },
      },
    });
    const { id } = await insertSampleOrder(lab.erp, {});
    await lab.capture({ sweep: true });
    await lab.deliver();
    const key = String(id);
    const [removed] = (await bindings()).filter(({ source_key }) => source_key === key);
    const shown = lab.sandbox.ledger().orders.find(({ order_id }) => order_id === removed?.service_id);
    const change = async (status: string) => {
      await lab.changeErp('UPDATE sales_orders SET status=? WHERE id=?', [status, id]);
      await lab.capture({ sweep: true });
    };
    await change('cancelled');
    await lab.deliver();
    await change('confirmed');
    lab.sandbox.setFaults([{ kind, match: { method: 'POST', path: '/v1/orders' } }]);
    await lab.deliver({ retryHorizonMs: 0 });
    await endOutage();
    await kit.rows(
      "UPDATE outbox_message SET was_sent=1, first_sent_at=NULL, next_attempt_at=1 WHERE state='in_doubt'",
    );
    const { order_id, total, record } = shown as NonNullable<typeof shown>;
    const body = { data: [{ ...record, order_id, total, status: 'cancelled' }] };
    lab.sandbox.setFaults([{ kind: 'status', status: 200, body, match: { method: 'GET', path: '/v1/orders' } }]);
    return { lab, key, removedId: removed?.service_id as string };
  };
  const newest = async (key: string) => (await orders()).filter(({ source_key }) => source_key === key).at(-1);

  it('a look-up that finds the record which was removed proves nothing, and the live one is made', async () => {
    const { lab, key, removedId } = await takenBack('reset-before');
    await lab.deliver();
    const waits = await newest(key);
    expect(waits).to.include({ state: 'parked', park_class: 'conflict' });
    expect(waits?.reason).to.contain(removedId).and.contain('removed').and.contain('--not-delivered');
    expect((await bindings()).map(({ source_key }) => source_key)).to.not.include(key);
    lab.sandbox.clearFaults();
    await kit.rows('UPDATE outbox_message SET ended_at=1, ended_boot_ms=0 WHERE ended_at IS NOT NULL');
    await say(kit, 'not_delivered', { keys: [key], entity: 'order' });
    await lab.deliver();
    const [bound] = (await bindings()).filter(({ source_key }) => source_key === key);
    expect(bound?.service_id).to.be.a('string').and.not.equal(removedId);
    expect(lab.sandbox.ledger().orders.map(({ order_id }) => order_id)).to.include(bound?.service_id);
  });

  it('a list can not say that a record is one that was removed, and a person who vouches for it can', async () => {
    const { lab, key, removedId } = await takenBack('reset-before');
    const adopted = await adoptFile(lab.context, lab.reader, {
      entity: 'order',
      lines: async function* () {
        yield { line: 1, sourceKey: key, serviceId: removedId };
      },
      dryRun: false,
      reason: 'a test',
    });
    expect(adopted.problems.map(({ why }) => why.code)).to.deep.equal(['id_was_removed']);
    await say(kit, 'delivered', { keys: [key], entity: 'order' }, removedId);
    expect((await bindings()).filter(({ source_key }) => source_key === key)).to.have.length(1);
  });

  it('the schema has no room for two records with one id', async () => {
    const lab = await firstOfTwo();
    await lab.deliver();
    const refused = await kit.store
      .transaction('bind twice', (tx) => tx.run("UPDATE binding SET service_id='same' WHERE entity='order'"))
      .catch((error: Error) => error);
    expect(refused).to.be.instanceOf(Error);
  });
});
