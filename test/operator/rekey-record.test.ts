import { expect } from 'chai';
import { confirmMessages } from '../../src/operator/actions/held-changes.js';
import { RekeyRefused } from '../../src/operator/actions/rekey.js';
import { rekeyRecord } from '../../src/operator/actions/rekey-record.js';
import { recover } from '../../src/operator/recover.js';
import { editSampleLine, insertSampleOrder } from '../support/change-sample-erp.js';
import { forged } from '../support/forged.js';
import { type Lab, onAnyLab } from '../support/jobs/job-lab.js';
import { exportOf, exportRows, holdAsLost, loseEverything } from '../support/jobs/lost-store.js';
import { say } from '../support/jobs/say.js';
import { refusalOf } from '../support/told.js';

onAnyLab('a record whose key changed in the ERP', (kit) => {
  const rename = async (lab: Lab, from: string, to: string) => {
    await lab.changeErp('UPDATE sales_orders SET id=? WHERE id=?', [to, from]);
    await lab.changeErp('UPDATE sales_order_lines SET order_id=? WHERE order_id=?', [to, from]);
  };
  const works = async (lab: Lab) => {
    const captured = await lab.capture({ sweep: true });
    await lab.deliver();
    return captured;
  };
  const start = async (settings = {}) => {
    const lab = await kit.start({
      customers: 1,
      orders: 4,
      settings: { orders: { onDeleted: 'delete', ...settings } },
    });
    await works(lab);
    const [bound] = await kit.rows(
      "SELECT source_key, service_id FROM binding WHERE entity='order' ORDER BY source_key",
    );
    return { lab, from: bound.source_key as string, serviceId: bound.service_id as string, to: '9001' };
  };
  const keyed = (lab: Lab, from: string, to: string, entity: 'order' | 'customer' = 'order') => {
    return rekeyRecord(lab.context, lab.reader, { entity, from, to, reason: 'a test', dryRun: false });
  };
  const confirm = async (key: string) => {
    const [{ id }] = await kit.rows("SELECT id FROM outbox_message WHERE source_key=? AND park_class='held'", [key]);
    const done = await kit.store.transaction('confirm', (tx) =>
      confirmMessages(
        tx,
        [Number(id)],
        { records: [{ entity: 'order', sourceKey: key }] },
        { confirmation: 'send', reason: 'a person looked' },
        Date.now(),
      ),
    );
    expect(done).to.have.length(1);
  };
  const open = () =>
    kit.rows(
      "SELECT source_key, operation, state, park_class, reason_code, reason_data FROM outbox_message WHERE state NOT IN ('delivered','superseded')",
    );

  it('is held with "renamed?", and neither sent a second time nor removed', async () => {
    const { lab, from, to } = await start();
    const before = lab.sandbox.ledger();
    await rename(lab, from, to);
    for (let sweep = 0; sweep < 3; sweep++) await works(lab);
    const held = await open();
    expect(held.map(({ source_key: key, operation, park_class }) => [key, operation, park_class])).to.have.deep.members(
      [
        [to, 'create', 'held'],
        [from, 'delete', 'held'],
      ],
    );
    for (const { reason } of held) expect(reason).to.contain(`waybill rekey orders ${from} ${to}`);
    expect(lab.sandbox.ledger().orders).to.deep.equal(before.orders);
    // An edit of the row in the meantime is no word of a person.
    await editSampleLine(lab.erp, Number(to), 1, 7);
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.deep.equal(before.orders);
    // Nor is a row that could not be mapped in between, or one that a person did not want to send.
    await lab.changeErp('UPDATE sales_order_lines SET qty=-1 WHERE order_id=?', [to]);
    await works(lab);
    await lab.changeErp('UPDATE sales_order_lines SET qty=3 WHERE order_id=?', [to]);
    await works(lab);
    await say(kit, 'discard', { keys: [to] });
    await lab.changeErp('UPDATE sales_order_lines SET qty=4 WHERE order_id=?', [to]);
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.deep.equal(before.orders);
  });

  it('is still held, and finds its way by `rekey`, after a recovery of the lost store', async () => {
    const { lab, from, to, serviceId } = await start();
    const exported = exportOf(await exportRows(kit));
    const before = lab.sandbox.ledger().orders;
    await rename(lab, from, to);
    for (let sweep = 0; sweep < 2; sweep++) await works(lab);
    await loseEverything(kit);
    await holdAsLost(kit);
    await recover(lab.context, lab.reader, { fate: { to: 'parked' }, bindings: exported, reason: 'a test' });
    for (let sweep = 0; sweep < 3; sweep++) await works(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(before.length);
    const created = (await open()).find(({ source_key: key }) => key === to);
    expect(created).to.include({ operation: 'create', state: 'parked', park_class: 'unproven' });
    expect(created?.reason).to.contain(`waybill rekey orders ${from} ${to}`);
    expect(await keyed(lab, from, to)).to.include({ serviceId });
    for (let sweep = 0; sweep < 2; sweep++) await works(lab);
    expect(await open()).to.deep.equal([]);
    expect(lab.sandbox.ledger().deleted).to.deep.equal([]);
    expect(lab.sandbox.ledger().orders).to.have.length(before.length);
  });

  it('is not removed at the service while its row under the new key can not be sent', async () => {
    const { lab, from, to } = await start();
    const before = lab.sandbox.ledger();
    await rename(lab, from, to);
    await lab.changeErp('UPDATE sales_order_lines SET qty=-qty WHERE order_id=?', [to]);
    for (let sweep = 0; sweep < 3; sweep++) await works(lab);
    expect((await open()).map(({ source_key: key, park_class }) => [key, park_class])).to.have.deep.members([
      [to, 'unmapped'],
      [from, 'held'],
    ]);
    await lab.changeErp('UPDATE sales_order_lines SET qty=-qty WHERE order_id=?', [to]);
    for (let sweep = 0; sweep < 3; sweep++) await works(lab);
    expect(lab.sandbox.ledger()).to.deep.equal(before);
    await keyed(lab, from, to);
    await works(lab);
    expect(await open()).to.deep.equal([]);
    expect(lab.sandbox.ledger().deleted).to.deep.equal([]);
  });

  it('is not removed at the service while its row under the new key may not be sent', async () => {
    const { lab, from, to, serviceId } = await start();
    const before = lab.sandbox.ledger();
    await rename(lab, from, to);
    await lab.changeErp("UPDATE sales_orders SET status='draft' WHERE id=?", [to]);
    for (let sweep = 0; sweep < 3; sweep++) await works(lab);
    const [held, ...others] = await open();
    expect(others).to.deep.equal([]);
    expect(held).to.include({ source_key: from, operation: 'delete', park_class: 'held' });
    expect(held?.reason).to.contain(`waybill rekey orders ${from} ${to}`);
    expect(lab.sandbox.ledger()).to.deep.equal(before);
    expect(await keyed(lab, from, to)).to.include({ serviceId });
    await lab.changeErp("UPDATE sales_orders SET status='confirmed' WHERE id=?", [to]);
    await works(lab);
    expect(await open()).to.deep.equal([]);
    expect(lab.sandbox.ledger().orders).to.deep.equal(before.orders);
  });

  it('is not removed either where its new row comes while the removal waits, unless a person says that it is another', async () => {
    const { lab, from, to } = await start();
    const before = lab.sandbox.ledger();
    await lab.changeErp('CREATE TABLE kept AS SELECT * FROM sales_orders WHERE id=?', [from]);
    await lab.changeErp('DELETE FROM sales_order_lines WHERE order_id=?', [from]);
    await lab.changeErp('DELETE FROM sales_orders WHERE id=?', [from]);
    for (let sweep = 0; sweep < 2; sweep++) await lab.capture({ sweep: true });
    expect((await open()).map(({ state, operation }) => [state, operation])).to.deep.equal([['pending', 'delete']]);
    await lab.changeErp("UPDATE kept SET id=?, status='draft'", [to]);
    await lab.changeErp('INSERT INTO sales_orders SELECT * FROM kept');
    await lab.changeErp('DROP TABLE kept');
    await lab.deliver();
    const [held] = await open();
    expect(held).to.include({ source_key: from, operation: 'delete', park_class: 'held' });
    expect(lab.sandbox.ledger()).to.deep.equal(before);
    await confirm(from);
    await works(lab);
    expect(lab.sandbox.ledger().deleted).to.have.length(1);
  });

  it('goes on under its new key after `rekey OLD NEW`, as the same record of the service', async () => {
    const { lab, from, to, serviceId } = await start();
    await rename(lab, from, to);
    await works(lab);
    await works(lab);
    expect(await keyed(lab, from, to)).to.include({ serviceId, closed: 2 });
    expect(await kit.rows('SELECT source_key FROM binding WHERE service_id=?', [serviceId])).to.deep.equal([
      { source_key: to },
    ]);
    await works(lab);
    expect(await open()).to.deep.equal([]);
    await editSampleLine(lab.erp, Number(to), 1, 9);
    await works(lab);
    const { orders, deleted } = lab.sandbox.ledger();
    expect(orders).to.have.length(4);
    expect(deleted).to.deep.equal([]);
    expect(orders.find(({ order_id: id }) => id === serviceId)?.record.items[0]?.qty).to.equal(9);
  });

  it('is still the same where its number changed with the key', async () => {
    const { lab, from, to, serviceId } = await start();
    await rename(lab, from, to);
    await lab.changeErp("UPDATE sales_orders SET order_no='A-2026-RENUMBERED' WHERE id=?", [to]);
    await keyed(lab, from, to);
    await works(lab);
    expect(await open()).to.deep.equal([]);
    const { orders } = lab.sandbox.ledger();
    expect(orders).to.have.length(4);
    expect(orders.find(({ order_id: id }) => id === serviceId)?.record.note).to.equal('A-2026-RENUMBERED');
  });

  it('leaves its old key to a record that is new, which goes out as one of its own', async () => {
    const { lab, from, to, serviceId } = await start();
    await rename(lab, from, to);
    await works(lab);
    await keyed(lab, from, to);
    const { id, orderNo } = await insertSampleOrder(lab.erp);
    await rename(lab, String(id), from);
    await works(lab);
    expect(await open()).to.deep.equal([]);
    const { orders } = lab.sandbox.ledger();
    expect(orders).to.have.length(5);
    expect(orders.find(({ reference }) => reference === orderNo)?.order_id).to.not.equal(serviceId);
    await editSampleLine(lab.erp, Number(from), 1, 8);
    await editSampleLine(lab.erp, Number(to), 1, 5);
    await works(lab);
    expect(await open()).to.deep.equal([]);
    const quantities = (one: string) => orders.find(({ order_id: order }) => order === one);
    expect(quantities(serviceId)).to.not.equal(undefined);
    expect(lab.sandbox.ledger().orders.map(({ record }) => record.items[0]?.qty)).to.include.members([8, 5]);
  });

  it('is sent as one of its own where a person says that it is another', async () => {
    const { lab, from, to } = await start();
    await rename(lab, from, to);
    await works(lab);
    await confirm(to);
    await lab.deliver();
    expect(lab.sandbox.ledger().orders).to.have.length(5);
  });

  /** Orders that were captured and not sent, of which the first then gets another key. */
  const renameUnsent = async (hold = false) => {
    const lab = await kit.start({ customers: 1, orders: 4 });
    await lab.capture({ sweep: true });
    const [{ id, source_key: from }] = await kit.rows(
      "SELECT id, source_key FROM outbox_message WHERE entity='order' ORDER BY source_key",
    );
    if (hold)
      await kit.rows(
        `UPDATE outbox_message SET ${forged.parked}, park_class='held', reason_code='legacy', reason_data='{"text":{"outside":"look at it"}}' WHERE id=?`,
        [id],
      );
    await rename(lab, from, '9001');
    const foreseen = await lab.capture({ sweep: true, dryRun: true });
    expect(foreseen.captured).to.deep.equal({ customers: 0, orders: 1 });
    await works(lab);
    const [{ state, reason }] = await kit.rows(
      'SELECT state, reason_code, reason_data FROM outbox_message WHERE id=?',
      [id],
    );
    expect(state).to.equal('superseded');
    expect(reason).to.contain('9001');
    return lab;
  };

  it('goes out once, under its new key, where its create still waited to be sent', async () => {
    const lab = await renameUnsent();
    expect(lab.sandbox.ledger().orders).to.have.length(4);
    expect(await open()).to.deep.equal([]);
  });

  it('is still held under its new key where its create was held unsent', async () => {
    const lab = await renameUnsent(true);
    expect(lab.sandbox.ledger().orders).to.have.length(3);
    expect((await open()).map(({ source_key: key, reason }) => [key, reason])).to.deep.equal([['9001', 'look at it']]);
  });

  it('is no other order that has its number while the first is still there', async () => {
    const { lab } = await start({ number: 'currency', identity: ['currency'], fields: { note: 'order_no' } });
    await insertSampleOrder(lab.erp);
    await works(lab);
    expect(lab.sandbox.ledger().orders).to.have.length(5);
  });

  const refusals: [string, (lab: Lab, from: string, to: string) => Promise<unknown>, string][] = [
    ['the ERP still has the old key', async () => undefined, 'still has'],
    ['the ERP has no row of the new key', (lab, from) => rename(lab, from, '9002'), 'no order 9001'],
    [
      'the new key is at the service already',
      async (lab, from, to) => {
        await rename(lab, from, to);
        await works(lab);
        await confirm(to);
        await lab.deliver();
      },
      'is at the service',
    ],
  ];
  for (const [name, arrange, words] of refusals)
    it(`stays as it is where ${name}`, async () => {
      const { lab, from, to } = await start({ onDeleted: 'nothing' });
      await arrange(lab, from, to);
      const before = await kit.rows('SELECT entity, source_key, service_id FROM binding ORDER BY service_id');
      const refused = await keyed(lab, from, to).catch((error: Error) => error);
      expect(refused).to.be.instanceOf(RekeyRefused);
      expect(refusalOf(refused as Error)).to.include(words);
      expect(await kit.rows('SELECT entity, source_key, service_id FROM binding ORDER BY service_id')).to.deep.equal(
        before,
      );
    });

  it('is not removed at the service where it is a customer whose code another row has', async () => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: { customers: { onDeleted: 'delete' } } });
    await works(lab);
    const [{ source_key: from }] = await kit.rows("SELECT source_key FROM binding WHERE entity='customer'");
    // No order that may be sent names the new row, so no pass reads it.
    await lab.changeErp("UPDATE sales_orders SET status='draft'");
    await lab.changeErp('UPDATE customers SET id=? WHERE id=?', ['777', from]);
    await lab.changeErp('UPDATE sales_orders SET customer_id=? WHERE customer_id=?', ['777', from]);
    for (let sweep = 0; sweep < 3; sweep++) await works(lab);
    const [held, ...others] = await open();
    expect(others).to.deep.equal([]);
    expect(held).to.include({ source_key: from, operation: 'delete', park_class: 'held' });
    expect(held?.reason).to.contain(`waybill rekey customers ${from} 777`);
    await keyed(lab, from as string, '777', 'customer');
    await works(lab);
    expect(await open()).to.deep.equal([]);
    expect(lab.sandbox.ledger().customers).to.have.length(1);
  });

  it('takes its orders along where it is a customer', async () => {
    const { lab } = await start();
    const [{ source_key: from, service_id: serviceId }] = await kit.rows(
      "SELECT source_key, service_id FROM binding WHERE entity='customer'",
    );
    await lab.changeErp('UPDATE customers SET id=? WHERE id=?', ['777', from]);
    await lab.changeErp('UPDATE sales_orders SET customer_id=? WHERE customer_id=?', ['777', from]);
    await keyed(lab, from, '777', 'customer');
    await insertSampleOrder(lab.erp, { customerId: 777 });
    await works(lab);
    expect(await open()).to.deep.equal([]);
    const { orders, customers } = lab.sandbox.ledger();
    expect([orders.length, customers.map((one) => one.customer_code)]).to.deep.equal([5, [serviceId]]);
  });
});
