import { expect } from 'chai';
import { checkCustomerCode, type OrderForCustomer } from '../../../src/outbound/deliver/claim-messages.js';
import { insertSampleOrder } from '../../support/change-sample-erp.js';
import { forged } from '../../support/forged.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';
import { say } from '../../support/jobs/say.js';
import { told } from '../../support/told.js';

describe('the customer code of an order', () => {
  const body = JSON.stringify({ customer_code: 'K1', items: [] });
  const order: OrderForCustomer = {
    entity: 'order',
    operation: 'create',
    customerKey: '1',
    customerIdentity: JSON.stringify({ customer_code: 'K1' }),
    customerAcknowledged: null,
    customerServiceId: 'c-1',
    customerIsOpen: 0,
  };
  const other = { customerIdentity: JSON.stringify({ customer_code: 'K2' }) };

  it('is the one that its customer is bound under', () => {
    expect(checkCustomerCode(order, body)).to.equal('send');
    for (const [mayBeThere, way] of [
      [false, 'waybill confirm orders'],
      [true, 'outbox resolve'],
    ] as const)
      expect(told(checkCustomerCode({ ...order, ...other }, body, mayBeThere)))
        .to.have.property('reason')
        .that.includes('as K2')
        .and.includes(way);
  });

  it('waits for an update of the customer that is on its way', () => {
    expect(checkCustomerCode({ ...order, ...other, customerIsOpen: 1 }, body)).to.equal('wait');
  });

  it('is compared with what the service acknowledged, or with the id, where the identity is not known', () => {
    const unknown = { ...order, customerIdentity: null };
    expect(checkCustomerCode({ ...unknown, customerAcknowledged: body }, body)).to.equal('send');
    expect(checkCustomerCode({ ...unknown, customerServiceId: 'K1' }, body)).to.equal('send');
    expect(checkCustomerCode(unknown, body)).to.have.property('reason');
  });

  it('matters only where the body names it', () => {
    expect(checkCustomerCode({ ...order, ...other }, '{"items":[]}')).to.equal('send');
    expect(checkCustomerCode({ ...order, ...other, operation: 'delete' }, '')).to.equal('send');
    expect(checkCustomerCode({ ...order, ...other, customerKey: null }, body)).to.equal('send');
  });
});

onAnyLab('a customer takes over the code of another', (kit) => {
  const ordersAtService = (lab: Lab) =>
    lab.sandbox.ledger().orders.map(({ reference, record }) => `${reference}: ${record.customer_code}`);
  const takeOver = async () => {
    const lab = await kit.start({ customers: 2, orders: 4 });
    await insertSampleOrder(lab.erp, { customerId: 2 });
    await lab.capture();
    await lab.deliver();
    const before = ordersAtService(lab);
    await lab.changeErp("UPDATE sales_orders SET status='done' WHERE customer_id=1");
    await lab.changeErp('DELETE FROM customers WHERE id=1');
    await lab.changeErp("UPDATE customers SET customer_no='K10001', updated_at='2026-12-01 10:00:00' WHERE id=2");
    return { lab, before };
  };
  const heldOrders = () =>
    kit.rows(
      "SELECT m.operation FROM outbox_message m WHERE m.entity='order' AND m.state='parked' AND m.park_class='held' ORDER BY m.id",
    );

  it('neither its orders nor new ones go to the other record', async () => {
    const { lab, before } = await takeOver();
    await insertSampleOrder(lab.erp, { customerId: 2 });
    await lab.capture({ sweep: true });
    const { parked } = await lab.deliver();
    expect(ordersAtService(lab)).to.deep.equal(before);
    const held = await heldOrders();
    expect(held.map(({ operation }) => operation)).to.include.members(['create', 'update']);
    expect(parked).to.equal(held.length);
    const audit = await kit.rows("SELECT outcome FROM audit_log WHERE event='parked' AND entity='order'");
    expect(audit).to.have.length(held.length);
  });

  it('when the code is put back, the orders go to their own customer', async () => {
    const { lab, before } = await takeOver();
    const { orderNo } = await insertSampleOrder(lab.erp, { customerId: 2 });
    await lab.capture({ sweep: true });
    await lab.deliver();
    await lab.changeErp("UPDATE customers SET customer_no='K10002', updated_at='2026-12-02 10:00:00' WHERE id=2");
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(await heldOrders()).to.deep.equal([]);
    expect(ordersAtService(lab)).to.deep.equal([...before, `${orderNo}: K10002`]);
  });
});

onAnyLab('an order that waits, and that another customer takes over together with its code', (kit) => {
  for (const isTried of [false, true])
    it(`waits for that customer${isTried ? ', also after the service put it off' : ''}`, async () => {
      const lab = await kit.start({ customers: 2, orders: 4 });
      await lab.capture();
      if (isTried) {
        lab.sandbox.setFaults([
          { kind: 'status', status: 429, body: {}, match: { method: 'POST', path: '/v1/orders' } },
        ]);
        await lab.deliver({ retryHorizonMs: 0 });
        lab.sandbox.clearFaults();
      }
      const moved = await kit.rows("SELECT source_key FROM outbox_message WHERE customer_key='1' AND entity='order'");
      expect(moved).to.not.deep.equal([]);
      for (const [id, code] of [
        [1, 'K-'],
        [2, 'K10001'],
        [1, 'K10002'],
      ] as const)
        await lab.changeErp("UPDATE customers SET customer_no=?, updated_at='2026-12-01 10:00:00' WHERE id=?", [
          code,
          String(id),
        ]);
      await lab.changeErp("UPDATE sales_orders SET customer_id=3-customer_id, updated_at='2026-12-01 10:00:00'");
      await lab.capture({ sweep: true });
      const now = await kit.rows(
        `SELECT DISTINCT customer_key FROM outbox_message WHERE entity='order' AND source_key IN (${moved.map(() => '?').join(',')})`,
        moved.map(({ source_key }) => source_key as string),
      );
      expect(now).to.deep.equal([{ customer_key: '2' }]);
      await lab.deliver();
      const ordered = lab.sandbox.ledger().orders.map(({ record }) => record.customer_code);
      // A code that the service knows waits for a person to confirm it.
      expect(ordered).to.have.length(isTried ? 0 : 4);
    });
});

onAnyLab('an order that may have been sent under a code that its customer has no longer', (kit) => {
  it('goes out once as its row has it, when a person says that it is not at the service', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    await lab.capture();
    // As after a recovery, which knows of nothing that was sent.
    await kit.store.transaction('recover', async (tx) => {
      await tx.run(
        `UPDATE outbox_message SET ${forged.parked}, park_class='unproven', was_sent=1, first_sent_at=NULL WHERE entity='order'`,
      );
      await tx.run("DELETE FROM outbox_message WHERE entity='customer'");
    });
    const [{ source_key: key, customer_key: customer }] = await kit.rows(
      "SELECT source_key, customer_key FROM outbox_message WHERE entity='order'",
    );
    await lab.changeErp("UPDATE customers SET customer_no='K-NEW', updated_at='2026-12-01 10:00:00' WHERE id=?", [
      customer as string,
    ]);
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(lab.sandbox.ledger().orders).to.deep.equal([]);

    await say(kit, 'not_delivered', { keys: [key as string] });
    await lab.deliver();
    expect(lab.sandbox.ledger().orders.map(({ record }) => record.customer_code)).to.deep.equal(['K-NEW']);
    const messages = await kit.rows(
      "SELECT operation, state, generation FROM outbox_message WHERE entity='order' ORDER BY revision",
    );
    expect(messages).to.deep.equal([
      { operation: 'create', state: 'superseded', generation: 1 },
      { operation: 'create', state: 'delivered', generation: 1 },
    ]);
    await lab.capture({ sweep: true });
    await lab.deliver();
    expect(lab.sandbox.ledger().orders).to.have.length(1);
  });
});
