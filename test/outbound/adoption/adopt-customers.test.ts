import { expect } from 'chai';
import type { SandboxOptions } from '../../../src/lab/sandbox/options.js';
import { confirmHeld, summariseHeld } from '../../../src/operator/actions/held-changes.js';
import { insertRows } from '../../../src/store/rows.js';
import { wallTimeNow } from '../../support/change-sample-erp.js';
import { type Lab, onSqliteLabAnd } from '../../support/jobs/job-lab.js';
import { expectAllAtService } from '../../support/jobs/service-of.js';

onSqliteLabAnd('postgres', 'a customer that is at the service already is adopted by its exact code', (kit) => {
  const begin = async (
    options: {
      sandbox?: Partial<SandboxOptions>;
      service?: object;
      settings?: object;
      customers?: number;
      orders?: number;
    } = {},
  ): Promise<Lab> =>
    kit.start({
      customers: options.customers ?? 2,
      orders: options.orders ?? 4,
      ...(options.sandbox ? { sandbox: options.sandbox } : {}),
      // A successor waits for as long as a limit's window: not for a second, test by test.
      settings: { service: { limits: [{ requests: 100, perSeconds: 0.05 }], ...options.service }, ...options.settings },
    });
  const oneCode = { customers: { fields: { customer_code: { constant: 'ONE' } } } };
  const codes = async (lab: Lab) =>
    (await lab.readErp('SELECT customer_no FROM customers ORDER BY id')).map((row) => row.customer_no as string);
  /** The body that Waybill would send for the first customer. */
  const ours = async (): Promise<Record<string, string>> => {
    const [row] = await kit.rows(
      `SELECT b.record FROM message_body b JOIN outbox_message m ON m.id=b.message_id
        WHERE m.entity='customer' ORDER BY m.id LIMIT 1`,
    );
    return JSON.parse(row.record);
  };
  const messages = () =>
    kit.rows(
      "SELECT operation, state, park_class, revision FROM outbox_message WHERE entity='customer' ORDER BY source_key, revision",
    );
  const adoptions = () => kit.rows('SELECT source_key, adopted_from, differs, reviewed_at FROM adoption');
  const writes = (lab: Lab, method: string) =>
    lab.sandbox.ledger().requests.filter((request) => request.method === method && request.path.includes('customers'));

  it('is bound, its orders go on, and what differs is held until somebody has looked', async () => {
    const lab = await begin();
    const [code] = await codes(lab);
    lab.sandbox.addCustomers([{ customer_code: code as string, name: 'Another Name', loyalty: 'gold' }]);
    await lab.capture();
    const result = await lab.deliver();
    expect(result.adopted).to.deep.equal({ customers: 1, differing: 1 });
    expect(result).to.include({ parked: 0, flagged: 0 });
    await expectAllAtService(lab);
    expect(lab.sandbox.counts()).to.include({ customers: 2, duplicateReferences: 0 });
    expect((await messages()).slice(0, 2)).to.deep.equal([
      { operation: 'create', state: 'superseded', park_class: null, revision: 1 },
      { operation: 'update', state: 'parked', park_class: 'held', revision: 2 },
    ]);
    const record = await ours();
    const differing = Object.keys(record)
      .filter((name) => name !== 'customer_code')
      .sort();
    const [adoption] = await adoptions();
    expect(JSON.parse(adoption.differs)).to.deep.equal(differing);
    expect(adoption).to.include({ adopted_from: 'look_up', reviewed_at: null });
    const [line] = await kit.rows("SELECT outcome, source_key, detail FROM audit_log WHERE event='adopted'");
    expect(line).to.include({ outcome: 'look_up', source_key: adoption.source_key });
    expect(JSON.parse(line.detail)).to.deep.equal({ serviceId: code, differs: differing, differing: differing.length });

    const { summary: held, shown } = await summariseHeld(lab.context, { entity: 'customer' });
    expect(held.first.map(({ fields }) => fields)).to.deep.equal([differing]);
    expect(writes(lab, 'PATCH')).to.deep.equal([]);
    await confirmHeld(lab.context, { entity: 'customer' }, 'send', shown, 'the ERP is right');
    await lab.deliver();
    const there = lab.sandbox.ledger().customers.find(({ customer_code }) => customer_code === code);
    expect(there?.record, 'what is not ours stays').to.deep.equal({ ...record, loyalty: 'gold' });
    expect((await adoptions())[0].reviewed_at).to.be.greaterThan(0);
    expect(writes(lab, 'POST')).to.have.length(2);
  });

  it('says nothing where nothing differs, and goes on with edits as with any other', async () => {
    const lab = await begin({ customers: 1, orders: 1 });
    await lab.capture();
    const record = await ours();
    lab.sandbox.addCustomers([record as never]);
    const result = await lab.deliver();
    expect(result.adopted).to.deep.equal({ customers: 1, differing: 0 });
    expect(await messages()).to.deep.equal([
      { operation: 'create', state: 'superseded', park_class: null, revision: 1 },
    ]);
    await lab.capture({ sweep: true });
    expect(await messages(), 'an unchanged row is known').to.have.length(1);
    await lab.changeErp("UPDATE customers SET name='Renamed'");
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(writes(lab, 'PATCH')).to.have.length(1);
    expect(lab.sandbox.ledger().customers[0]?.record).to.deep.equal({ ...record, name: 'Renamed' });
  });

  const boundAs = async () => (await kit.rows("SELECT service_id FROM binding WHERE entity='customer'"))[0]?.service_id;

  it('is adopted where a creation is answered in an envelope and a reading is not', async () => {
    const service = { acknowledgement: { customerId: 'data.customer_code' } };
    const lab = await begin({ customers: 1, orders: 1, service });
    await lab.capture();
    const record = await ours();
    lab.sandbox.addCustomers([{ ...record, id: 'cus_7' } as never]);
    expect((await lab.deliver()).adopted).to.deep.equal({ customers: 1, differing: 0 });
    expect(await boundAs()).to.equal(record.customer_code);
    await expectAllAtService(lab);
    await lab.changeErp("UPDATE customers SET name='Renamed'");
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(writes(lab, 'PATCH').map(({ path }) => path)).to.deep.equal([`/v1/customers/${record.customer_code}`]);
  });

  it('is adopted by the id that the service gives, wherever a reading shows that', async () => {
    const acknowledgement = { customerId: 'data.id' };
    const lab = await begin({ customers: 1, orders: 1, service: { acknowledgement } });
    const [code] = await codes(lab);
    await lab.capture();
    lab.sandbox.addCustomers([{ ...(await ours()), id: 'cus_7' } as never]);
    expect(await lab.deliver()).to.include({ parked: 1 });
    const [parked] = await kit.rows("SELECT reason_code, reason_data FROM outbox_message WHERE state='parked'");
    expect(parked.reason).to.include('no data.id that is an id. Check service.adoption.idField');
    // The advice.
    await kit.store.transaction('as if it had not been asked', (tx) =>
      tx.run("DELETE FROM attempt WHERE purpose='look_up'"),
    );
    await kit.store.transaction('now', (tx) =>
      tx.run("UPDATE outbox_message SET next_attempt_at=0, waits_for=NULL WHERE state='parked'"),
    );
    const advised = lab.another({ settings: { service: { adoption: { idField: 'id' } } } });
    expect((await advised.deliver()).adopted).to.deep.equal({ customers: 1, differing: 0 });
    expect(await boundAs()).to.equal('cus_7');
    expect(lab.sandbox.ledger().customers.map(({ customer_code }) => customer_code)).to.deep.equal([code]);
  });

  const replacing = {
    idempotency: { in: 'body', field: 'external_reference' },
    endpoints: { updateCustomer: { method: 'PUT' } },
  };
  const keyInBody: Partial<SandboxOptions> = { keyIn: 'body', keyField: 'external_reference' };

  it('is equal whatever id, state and key the service shows, also where updates replace the whole record', async () => {
    const lab = await begin({ customers: 1, orders: 1, sandbox: keyInBody, service: replacing });
    await lab.capture();
    const record = await ours();
    lab.sandbox.addCustomers([{ ...record, id: 'cus_7', external_reference: 'theirs' } as never]);
    const { adopted, parked } = await lab.deliver();
    expect((await adoptions()).map(({ differs }) => differs)).to.deep.equal(['[]']);
    expect({ adopted, parked }).to.deep.equal({ adopted: { customers: 1, differing: 0 }, parked: 0 });
    await lab.changeErp("UPDATE customers SET name='Renamed'");
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(writes(lab, 'PUT')).to.have.length(1);
  });

  for (const ownFields of [undefined, ['created_at', 'loyalty']])
    it(`is ${ownFields ? 'equal' : 'held'} where a PUT would clear what ${ownFields ? 'the service fills itself' : 'only the service has'}`, async () => {
      const service = { ...replacing, ...(ownFields && { adoption: { ownFields } }) };
      const lab = await begin({ customers: 1, orders: 1, sandbox: keyInBody, service });
      await lab.capture();
      lab.sandbox.addCustomers([{ ...(await ours()), loyalty: 'gold' } as never]);
      expect((await lab.deliver()).adopted).to.deep.equal({ customers: 1, differing: ownFields ? 0 : 1 });
      expect((await adoptions()).map(({ differs }) => JSON.parse(differs))).to.deep.equal([
        ownFields ? [] : ['loyalty'],
      ]);
      const held = await kit.rows("SELECT reason_code, reason_data FROM outbox_message WHERE state='parked'");
      expect(held.map(({ reason }) => reason.includes('service.adoption.ownFields'))).to.deep.equal(
        ownFields ? [] : [true],
      );
      expect(writes(lab, 'PUT')).to.deep.equal([]);

      // Once a person has said that these fields may go, or where none would, edits are sent like any other.
      const { shown } = await summariseHeld(lab.context, {});
      if (!ownFields) await confirmHeld(lab.context, {}, 'adopt', shown, 'the service fills it itself');
      await lab.changeErp("UPDATE customers SET name='Renamed'");
      await lab.capture({ sweep: true });
      await lab.deliver();
      expect(writes(lab, 'PUT')).to.have.length(1);
    });

  it('lets no later edit write over what nobody has looked at', async () => {
    const lab = await begin({ customers: 1, orders: 1 });
    const [code] = await codes(lab);
    lab.sandbox.addCustomers([{ customer_code: code as string, name: 'Another Name' }]);
    await lab.capture();
    await lab.deliver();
    await lab.changeErp("UPDATE customers SET name='Renamed'");
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(writes(lab, 'PATCH')).to.deep.equal([]);
    expect((await messages()).at(-1)).to.include({ operation: 'update', state: 'parked', park_class: 'held' });

    // The ERP is the baseline from here on, and the service keeps what it has.
    const { shown } = await summariseHeld(lab.context, {});
    await confirmHeld(lab.context, {}, 'adopt', shown, 'the service is right');
    await lab.deliver();
    expect(writes(lab, 'PATCH')).to.deep.equal([]);
    await lab.changeErp("UPDATE customers SET name='Renamed again'");
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(writes(lab, 'PATCH')).to.have.length(1);
    expect(lab.sandbox.ledger().customers[0]?.record.name).to.equal('Renamed again');
  });

  it('holds an edit that came while the create was under way', async () => {
    const lab = await begin({ customers: 1, orders: 1, service: { adoption: { customers: 'off' } } });
    const [code] = await codes(lab);
    lab.sandbox.addCustomers([{ customer_code: code as string, name: 'Another Name' }]);
    await lab.capture();
    expect(await lab.deliver()).to.include({ parked: 1 });
    await lab.changeErp("UPDATE customers SET name='Renamed'");
    await lab.capture({ sweep: true });
    const on = await lab.another({ settings: { service: { adoption: { customers: 'exact' } } } });
    await on.deliver();
    expect(await messages()).to.deep.equal([
      { operation: 'create', state: 'superseded', park_class: null, revision: 1 },
      { operation: 'update', state: 'parked', park_class: 'held', revision: 2 },
    ]);
    expect(writes(lab, 'PATCH')).to.deep.equal([]);
    await expectAllAtService(lab);
  });

  it('is taken from the answer itself where that carries the customer', async () => {
    const lab = await begin({
      sandbox: { alreadyExists: { status: 422, code: 'duplicate_customer' }, showExisting: true },
      service: {
        answers: { alreadyExists: [{ status: 422, code: 'duplicate_customer' }] },
        adoption: { answerRecord: 'error.customer' },
      },
    });
    const [code] = await codes(lab);
    lab.sandbox.addCustomers([{ customer_code: code as string, name: 'Another Name' }]);
    await lab.capture();
    const result = await lab.deliver();
    expect(result.adopted).to.deep.equal({ customers: 1, differing: 1 });
    expect(result.parked).to.equal(0);
    expect((await adoptions())[0]).to.include({ adopted_from: 'answer' });
    expect(writes(lab, 'GET')).to.deep.equal([]);
    await expectAllAtService(lab);
  });

  for (const [what, fault, verdict] of [
    ['shows another code', { kind: 'invalid-json-shape', body: { customer_code: 'k10001', name: 'x' } }, 'odd'],
    ['does not know it after all', { kind: 'status', status: 404 }, 'none'],
    ['lets nobody read customers', { kind: 'status', status: 403 }, 'odd'],
    ['has no such question', { kind: 'status', status: 405 }, 'odd'],
  ] as const)
    it(`is left to a person when the service ${what}`, async () => {
      const lab = await begin({ customers: 1, orders: 1 });
      const [code] = await codes(lab);
      lab.sandbox.addCustomers([{ customer_code: code as string, name: 'Another Name' }]);
      lab.sandbox.setFaults([{ ...fault, match: { method: 'GET' } } as never]);
      await lab.capture();
      const result = await lab.deliver();
      expect(result).to.include({ parked: 1, stopped: null });
      expect(await messages()).to.deep.equal([
        { operation: 'create', state: 'parked', park_class: 'conflict', revision: 1 },
      ]);
      expect(await adoptions()).to.deep.equal([]);
      const looked = await kit.rows("SELECT verdict FROM attempt WHERE purpose='look_up'");
      expect(looked).to.deep.equal([{ verdict }]);
      await lab.deliver();
      expect(writes(lab, 'GET'), 'it is asked once').to.have.length(1);
      expect(lab.sandbox.counts()).to.include({ orders: 0 });
    });

  it('says what the ERP says after all, when it was bound before and nobody knew what it says', async () => {
    const lab = await begin({ customers: 1, orders: 1 });
    await lab.capture();
    await lab.deliver();
    const [binding] = await kit.rows("SELECT * FROM binding WHERE entity='customer'");
    await kit.store.transaction('capture as if it were new', async (tx) => {
      for (const table of ['outbox_message', 'binding', 'capture_cursor']) await tx.run(`DELETE FROM ${table}`);
    });
    await lab.changeErp("UPDATE customers SET name='A New Name', updated_at=?", [wallTimeNow()]);
    await lab.capture();
    await kit.store.transaction('bind it as after a recovery', (tx) =>
      insertRows(tx, 'binding', [{ ...binding, revision: 2, content_hash: null, acknowledged: null }]),
    );
    await lab.deliver();
    await lab.capture();
    await lab.deliver();
    expect(lab.sandbox.ledger().customers.map(({ record }) => record.name)).to.deep.equal(['A New Name']);
    const [after] = await kit.rows("SELECT revision FROM binding WHERE entity='customer'");
    expect(after.revision).to.equal(3);
  });

  it('is asked for again when the service does not answer', async () => {
    const lab = await begin({ customers: 1, orders: 1 });
    const [code] = await codes(lab);
    lab.sandbox.addCustomers([{ customer_code: code as string, name: 'Another Name' }]);
    lab.sandbox.setFaults([{ kind: 'status', status: 500, match: { method: 'GET' }, times: 1 }]);
    await lab.capture();
    expect((await lab.deliver()).adopted).to.deep.equal({ customers: 1, differing: 1 });
    await expectAllAtService(lab);
  });

  it('is never bound to two customers of the ERP that have one code', async () => {
    const lab = await begin({ orders: 2, settings: oneCode });
    lab.sandbox.addCustomers([{ customer_code: 'ONE', name: 'Another Name' }]);
    await lab.capture();
    const result = await lab.deliver();
    expect(result.adopted.customers).to.equal(1);
    expect(result.parked).to.equal(1);
    const [parked] = await kit.rows(
      "SELECT park_class, reason_code, reason_data FROM outbox_message WHERE state='parked' AND operation='create'",
    );
    // It made nothing: what the service has is another record of ours.
    expect(parked.park_class).to.equal('refused');
    expect(parked.reason).to.contain('two customers would have one code');
    expect(await kit.rows("SELECT source_key FROM binding WHERE entity='customer'")).to.have.length(1);
  });

  for (const replaysRefusals of [true, false])
    it(`is sent when it has a code of its own (the service replays refusals: ${replaysRefusals})`, async () => {
      const lab = await begin({
        orders: 2,
        sandbox: { replayRefusals: replaysRefusals },
        service: { idempotency: { replaysRefusals } },
        settings: { customers: { fields: { customer_code: 'street' } } },
      });
      await lab.changeErp("UPDATE customers SET street='ONE'");
      await lab.capture();
      expect(await lab.deliver()).to.include({ parked: 1 });
      const [parked] = await kit.rows("SELECT source_key FROM outbox_message WHERE state='parked'");
      const now = wallTimeNow();
      await lab.changeErp('UPDATE customers SET street=?, updated_at=? WHERE id=?', ['TWO', now, parked.source_key]);
      await lab.changeErp('UPDATE sales_orders SET updated_at=?', [now]);
      await lab.capture();
      expect(await lab.deliver()).to.include({ parked: 0 });
      const { customers, orders } = lab.sandbox.ledger();
      expect(customers.map((one) => one.customer_code).sort()).to.deep.equal(['ONE', 'TWO']);
      expect(orders.map(({ record }) => record.customer_code).sort()).to.deep.equal(['ONE', 'TWO']);
    });

  it('is sent when it got a code of its own while nobody knew what became of it', async () => {
    const lab = await begin({ orders: 2, settings: { customers: { fields: { customer_code: 'street' } } } });
    await lab.changeErp("UPDATE customers SET street='ONE'");
    await lab.changeErp("UPDATE customers SET name='The Second' WHERE id=2");
    await lab.capture();
    lab.sandbox.setFaults([{ kind: 'reset-before', match: { method: 'POST', bodyIncludes: 'The Second' } }]);
    await lab.deliver({ retryHorizonMs: 200 });
    lab.sandbox.clearFaults();
    await kit.store.transaction('end the outage', (tx) => tx.run('DELETE FROM lane_pause'));
    const now = wallTimeNow();
    await lab.changeErp("UPDATE customers SET street='TWO', updated_at=? WHERE id=2", [now]);
    await lab.changeErp('UPDATE sales_orders SET updated_at=?', [now]);
    await lab.capture();
    expect((await messages()).at(-1)).to.include({ operation: 'update', state: 'parked', park_class: 'conflict' });
    await lab.deliver();
    await lab.deliver();
    const { customers, orders } = lab.sandbox.ledger();
    expect(customers.map((one) => one.customer_code).sort()).to.deep.equal(['ONE', 'TWO']);
    expect(orders.map(({ record }) => record.customer_code).sort()).to.deep.equal(['ONE', 'TWO']);
    expect(await lab.capture({ sweep: true }), 'it is known as it stands').to.deep.include({
      captured: { customers: 0, orders: 0 },
    });
  });

  it('is not taken for the one that another create with its code may just have made', async () => {
    const lab = await begin({ orders: 2, settings: oneCode });
    await lab.capture();
    // The first create takes effect, and nobody learns of it until its resend.
    lab.sandbox.setFaults([
      { kind: 'status', status: 500, effect: 'done', match: { method: 'POST' }, times: 1 } as never,
    ]);
    const result = await lab.deliver();
    expect(result.delivered.customers + result.adopted.customers).to.equal(1);
    expect(result.parked).to.equal(1);
    expect(await kit.rows("SELECT source_key FROM binding WHERE entity='customer'")).to.have.length(1);
    expect(await adoptions()).to.deep.equal([]);
  });

  it('gets no create by `resync --force`, and updates only', async () => {
    const lab = await begin({ customers: 1, orders: 1 });
    await lab.capture();
    lab.sandbox.addCustomers([(await ours()) as never]);
    await lab.deliver();
    const forced = await lab.capture({ filter: { entity: 'customer' }, force: true });
    expect(forced.skipped.map(({ reason }) => reason.code)).to.deep.equal(['adopted_takes_changes_only']);
    await lab.deliver();
    expect(writes(lab, 'POST')).to.have.length(1);
  });
});
