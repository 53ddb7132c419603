import { expect } from 'chai';
import { rekeyRecord } from '../../../src/operator/actions/rekey-record.js';
import { insertSampleOrder } from '../../support/change-sample-erp.js';
import { type Lab, onAnyLab } from '../../support/jobs/job-lab.js';

const ids = {
  service: {
    acknowledgement: { customerId: 'id' },
    endpoints: { updateCustomer: { path: '/v1/customers/{id}' } },
  },
};

onAnyLab('a customer whose row gets another key', (kit) => {
  /** A service that gives ids of its own: it answers each create with another one. */
  const delivered = async (): Promise<Lab> => {
    const lab = await kit.start({ customers: 1, orders: 1, settings: ids });
    const match = { method: 'POST', path: '/v1/customers' };
    lab.sandbox.setFaults(
      ['cus_1', 'cus_2'].map((id) => ({ kind: 'status' as const, status: 201, body: { id }, match, times: 1 })),
    );
    await lab.capture({ sweep: true });
    await lab.deliver({ scope: { only: new Map([['customer', new Set(['1'])]]) } });
    return lab;
  };
  const moveRow = async (lab: Lab) => {
    await lab.changeErp('UPDATE customers SET id=905 WHERE id=1');
    await lab.changeErp('UPDATE sales_orders SET customer_id=905 WHERE customer_id=1');
  };
  const customers = () =>
    kit.rows(
      "SELECT source_key, state, park_class, reason_code, reason_data FROM outbox_message WHERE entity='customer'",
    );
  const made = (lab: Lab) =>
    lab.sandbox.ledger().requests.filter(({ method, path }) => method === 'POST' && path === '/v1/customers').length;

  it('is held at a service with ids of its own, and goes on under its new key when a person says so', async () => {
    const lab = await delivered();
    await moveRow(lab);
    await insertSampleOrder(lab.erp, { customerId: 905 });
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    expect(made(lab)).to.equal(1);
    const held = (await customers()).find(({ source_key }) => source_key === '905');
    expect(held).to.include({ state: 'parked', park_class: 'held' });
    expect(held?.reason).to.contain('renamed? 1 had this code');
    await rekeyRecord(lab.context, lab.reader, {
      entity: 'customer',
      from: '1',
      to: '905',
      reason: 'one row',
      dryRun: false,
    });
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    expect(made(lab)).to.equal(1);
    expect(await kit.rows("SELECT source_key, service_id FROM binding WHERE entity='customer'")).to.deep.equal([
      { source_key: '905', service_id: 'cus_1' },
    ]);
  });

  it('is another one while the ERP has the first as well', async () => {
    const lab = await delivered();
    const [{ customer_no: code }] = (await lab.readErp('SELECT customer_no FROM customers WHERE id=1')) as [
      Record<string, string>,
    ];
    await lab.changeErp("UPDATE customers SET customer_no='OTHER' WHERE id=1");
    const others = 'name, email, street, postcode, city, country, created_at, updated_at';
    const sql = `INSERT INTO customers (id, customer_no, ${others}) SELECT 905, ?, ${others} FROM customers WHERE id=1`;
    await lab.changeErp(sql, [code ?? '']);
    await insertSampleOrder(lab.erp, { customerId: 905 });
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 0 });
    expect((await customers()).map(({ reason }) => reason).join()).to.not.contain('renamed?');
    expect(made(lab)).to.equal(2);
  });
});
