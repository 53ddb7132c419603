import { expect } from 'chai';
import { readOrder } from '../../../src/inbound/orders/read-order.js';
import { alertsInWords } from '../../support/alerts.js';
import { type Lab, onAnyLab, withServiceLease } from '../../support/jobs/job-lab.js';
import { messageOf, orderNumbers } from '../../support/jobs/service-of.js';
import { told } from '../../support/told.js';

onAnyLab('the profile of a service', (kit) => {
  // Behaviour that depends on no database is proven once.
  if (kit.dialect !== 'sqlite') return;
  const paths = (lab: Lab) => lab.sandbox.ledger().requests.map(({ path }) => path);

  it('says where invoices are listed, and by which status', async () => {
    const endpoints = { listInvoices: { path: '/v3/bills', successStatus: 206 } };
    const lab = await kit.start({ settings: { service: { endpoints } } });
    const page = { data: [], page: 1, total: 0 };
    lab.sandbox.setFaults([{ kind: 'status', status: 206, body: page }]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', pages: 2 });
    expect(paths(lab)[0]).to.equal('/v3/bills?status=unpaid&limit=100&page=1');
    lab.sandbox.setFaults([{ kind: 'status', status: 200, body: page }]);
    expect(told((await lab.pull()).reason)).to.include('HTTP 200');
  });

  it('says where one invoice is read, and by which answers', async () => {
    const endpoints = {
      readInvoice: { path: '/v3/bill/{invoice_no}', successStatus: 203, absentStatus: 410, field: 'bill' },
    };
    const lab = await kit.start({ settings: { service: { endpoints } } });
    lab.sandbox.addInvoices([{ amount: 1 }, { amount: 2 }, { amount: 3 }]);
    expect(await lab.pull()).to.deep.include({ unpaid: 3 });
    const paid = lab.sandbox.payInvoice('INV-000001');
    lab.sandbox.removeInvoice('INV-000002');
    const asked = (number: string) => ({ match: { path: `/v3/bill/${number}` } });
    lab.sandbox.setFaults([
      { kind: 'status', status: 203, body: { bill: paid }, ...asked('INV-000001') },
      { kind: 'status', status: 410, ...asked('INV-000002') },
    ]);
    expect(await lab.pull()).to.deep.include({ outcome: 'proven', unlisted: 2, asked: 2 });
    const left = await kit.rows('SELECT left_status FROM invoice WHERE unlisted_at IS NOT NULL ORDER BY invoice_no');
    expect(left.map((row) => row.left_status)).to.deep.equal(['paid', null]);
  });

  it('names the parameter of the customer', async () => {
    const invoices = { scope: 'per-customer', paging: { customer: 'code' } };
    const lab = await kit.start({ customers: 1, orders: 1, settings: { invoices } });
    await lab.capture();
    await lab.deliver();
    await lab.pull();
    expect(paths(lab).at(-1)).to.match(/[?&]code=K10001(&|$)/);
  });

  it('says where one order is read, and by which answers', async () => {
    const endpoints = { readOrder: { path: '/v3/order/{order_id}', successStatus: 203, absentStatus: 410 } };
    const lab = await kit.start({ customers: 1, orders: 1, settings: { service: { endpoints } } });
    await lab.capture();
    await lab.deliver();
    const [order] = lab.sandbox.ledger().orders;
    const orderId = order?.order_id ?? '';
    const read = () => withServiceLease(lab.context, (lease) => readOrder(lab.context, lab.client, lease, { orderId }));
    const shown = { order_id: orderId, status: 'shipped', total: order?.total, created_at: order?.created_at };
    lab.sandbox.setFaults([{ kind: 'status', status: 203, body: shown }]);
    expect(await read()).to.include({ kind: 'read', status: 'shipped' });
    expect(paths(lab).at(-1)).to.equal(`/v3/order/${orderId}`);
    lab.sandbox.setFaults([{ kind: 'status', status: 410 }]);
    expect((await read()).kind).to.equal('gone');
  });

  it('says how long a key is remembered', async () => {
    const doubtAfter3Hours = async (lifetimeHours: number) => {
      const lab = await kit.start({
        customers: 1,
        orders: 1,
        settings: { service: { idempotency: { lifetimeHours } } },
      });
      await lab.capture();
      lab.sandbox.setFaults([{ kind: 'reset-after-commit', match: { path: '/v1/orders' } }]);
      await lab.deliver({ retryHorizonMs: 0 });
      lab.sandbox.clearFaults();
      lab.context.nowMs = () => Date.now() + 3 * 3_600_000;
      await lab.deliver();
      const [number] = (await orderNumbers(lab)) as [string];
      return (await messageOf(kit, number)).state;
    };
    expect(await doubtAfter3Hours(2)).to.equal('parked');
  });

  it('names the states of a customer that are known', async () => {
    const service = { acknowledgement: { customerState: 'state' }, states: { customer: ['active'] } };
    const lab = await kit.start({ customers: 1, orders: 1, settings: { service } });
    lab.sandbox.setFaults([{ kind: 'invalid-json-shape', body: { state: 'new' }, match: { path: '/v1/customers' } }]);
    await lab.capture();
    await lab.deliver();
    const [alert] = await alertsInWords(kit, "cause='states.customer'");
    expect(alert?.message).to.include('service.states.customer does not name');
  });
});
