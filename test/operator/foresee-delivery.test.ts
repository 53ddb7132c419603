import { expect } from 'chai';
import { foreseeDelivery } from '../../src/operator/foresee-delivery.js';
import { onAnyLab } from '../support/jobs/job-lab.js';

onAnyLab('what go-live shows', (kit) => {
  const shown = async (lab: Awaited<ReturnType<typeof kit.start>>) => {
    const { captured, open, ordersTotals, oldest, newest } = await foreseeDelivery(lab.context, lab.reader);
    return {
      customers: captured.customers + open.customers,
      orders: captured.orders + open.orders,
      ordersTotals,
      oldest,
      newest,
    };
  };

  it('is the same before and after capture: each customer once, each order once, however small the pages', async () => {
    const lab = await kit.start({ customers: 5, orders: 40, settings: { capture: { pageSize: 7 } } });
    const expected = [...(await lab.expectedOrders()).values()] as { items: { qty: number; price: number }[] }[];
    const total = expected.flatMap((order) => order.items).reduce((sum, { qty, price }) => sum + qty * price, 0);
    const before = await shown(lab);
    expect(before).to.include({ customers: 5, orders: 40 });
    expect(before.ordersTotals).to.deep.equal({ EUR: String(total) });
    await lab.capture();
    expect(await shown(lab)).to.deep.equal(before);
  });

  it('counts an order that was edited after its capture once, as it is now', async () => {
    const lab = await kit.start({ customers: 2, orders: 6 });
    await lab.capture();
    await lab.changeErp("UPDATE sales_orders SET order_no='A-2026-999999' WHERE id=3");
    expect(await shown(lab)).to.include({ customers: 2, orders: 6 });
  });

  it('counts a customer who can not be sent apart from the orders', async () => {
    const lab = await kit.start({ customers: 2, orders: 6 });
    await lab
      .changeErp('UPDATE customers SET name=NULL WHERE id=1')
      .catch(() => lab.changeErp("UPDATE customers SET name='' WHERE id=1"));
    const { captured, parked } = await foreseeDelivery(lab.context, lab.reader);
    expect(captured.orders).to.equal(6);
    expect(captured.customers).to.equal(1);
    expect(parked).to.equal(1);
  });

  it('counts an order that waits though its content was erased', async () => {
    const lab = await kit.start({ customers: 2, orders: 6 });
    await lab.capture();
    await kit.store.transaction('erase one', async (tx) => {
      const [order] = await tx.rows("SELECT id FROM outbox_message WHERE entity='order' ORDER BY id LIMIT 1");
      await tx.run('DELETE FROM message_body WHERE message_id=?', [order.id]);
    });
    expect(await shown(lab)).to.include({ customers: 2, orders: 6 });
  });
});
