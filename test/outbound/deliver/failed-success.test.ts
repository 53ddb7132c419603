import { expect } from 'chai';
import { useStore } from '../../store/stores.js';
import { insertSampleOrder } from '../../support/change-sample-erp.js';
import { useLab } from '../../support/jobs/job-lab.js';
import { pausesOf } from '../../support/jobs/service-of.js';
import { told } from '../../support/told.js';

const no = { success: false, error: { code: 'E17', message: 'period closed' } };
const reason = 'HTTP 200, but it says that it failed (success is false) E17: period closed';

describe('a service that says no with a success status', () => {
  const kit = useLab(useStore('sqlite'));
  /** Each request to a path is answered so, without effect. */
  const refuse = (method: string, path: string, body: unknown = no, status = 200) =>
    ({ kind: 'status', status, body, match: { method, path } }) as const;
  const parked = () =>
    kit.rows(
      "SELECT entity, operation, park_class, reason_code, reason_data FROM outbox_message WHERE state='parked' ORDER BY entity, operation",
    );

  it('has acknowledged no customer: its order waits, and the others go out', async () => {
    const lab = await kit.start({ customers: 3, orders: 9 });
    const match = { method: 'POST', path: '/v1/customers', bodyIncludes: '"K10001"' };
    lab.sandbox.setFaults([{ kind: 'status', status: 201, body: no, match }]);
    await lab.capture();
    await lab.deliver({ retryHorizonMs: 20_000 });
    expect(await parked()).to.deep.equal([
      { entity: 'customer', operation: 'create', park_class: 'unproven', reason: reason.replace('200', '201') },
    ]);
    expect(await kit.rows("SELECT source_key FROM binding WHERE entity='customer'")).to.have.length(2);
    const orders = lab.sandbox.ledger().orders.map(({ record }) => record.customer_code);
    expect(orders).to.not.be.empty.and.to.not.include('K10001');
    expect(await pausesOf(kit)).to.deep.equal([]);
    expect(lab.sandbox.counts().duplicateReferences).to.equal(0);
  });

  it('has acknowledged no change and no removal: what it has is kept as it was', async () => {
    const orders = { cancelled: { column: 'status', values: ['cancelled'] }, onCancelled: 'delete' };
    const lab = await kit.start({ customers: 1, orders: 1, settings: { orders } });
    const { id } = await insertSampleOrder(lab.erp, { lines: [{ qty: 1 }] });
    await lab.capture();
    await lab.deliver();
    const bindings = () => kit.rows('SELECT entity, source_key, acknowledged FROM binding ORDER BY entity, source_key');
    const before = await bindings();
    lab.sandbox.setFaults([refuse('PATCH', '/v1/'), refuse('DELETE', '/v1/orders')]);
    await lab.changeErp("UPDATE customers SET name='Another name'");
    await lab.changeErp("UPDATE sales_orders SET status='cancelled' WHERE id=?", [id]);
    await lab.capture({ sweep: true });
    await lab.deliver({ retryHorizonMs: 20_000 });
    expect(await parked()).to.deep.equal([
      { entity: 'customer', operation: 'update', park_class: 'unproven', reason },
      { entity: 'order', operation: 'delete', park_class: 'unproven', reason },
    ]);
    expect(await bindings()).to.deep.equal(before);
    expect(await pausesOf(kit)).to.deep.equal([]);
  });

  it('has not said that there is no invoice: the list stays, and the pull says why', async () => {
    const lab = await kit.start({ customers: 1, orders: 1 });
    lab.sandbox.addInvoices([{ amount: 101 }, { amount: 102 }]);
    await lab.pull();
    for (const body of [
      { ...no, data: [], total: 0 },
      { data: [], total: 0, page: 1, errors: ['index is being built'] },
    ]) {
      lab.sandbox.setFaults([refuse('GET', '/v2/invoices', body)]);
      const pulled = await lab.pull();
      expect(pulled).to.include({ outcome: 'failed', unlisted: 0 });
      expect(told(pulled.reason)).to.contain('it says that it failed');
      const listed = await kit.rows('SELECT amount FROM invoice WHERE unlisted_at IS NULL ORDER BY amount');
      expect(listed).to.deep.equal([{ amount: 101 }, { amount: 102 }]);
    }
  });

  it('has not said that there is no such record: a create whose key is forgotten is not sent again', async () => {
    const lookUpOrder = {
      path: '/v1/orders',
      query: { note: '{note}' },
      list: 'data',
      id: 'order_id',
      match: { note: '{note}' },
      absenceProves: true,
    };
    const lab = await kit.start({
      customers: 1,
      orders: 1,
      settings: { service: { idempotency: { lifetimeHours: 0.000001 }, endpoints: { lookUpOrder } } },
    });
    lab.sandbox.setFaults([
      { kind: 'reset-after-commit', match: { method: 'POST', path: '/v1/orders' }, times: 1 },
      refuse('GET', '/v1/orders', { ...no, data: [] }),
    ]);
    await lab.capture();
    await lab.deliver({ retryHorizonMs: 10_000 });
    const [order] = await kit.rows("SELECT state FROM outbox_message WHERE entity='order'");
    expect(order).to.deep.equal({ state: 'in_doubt' });
    expect(
      lab.sandbox.ledger().requests.filter(({ method, path }) => method === 'GET' && path.startsWith('/v1/orders')),
    ).to.not.be.empty;
    expect(lab.sandbox.counts().orders).to.equal(1);
  });
});

describe('a list of invoices with an amount that is not in the smallest unit', () => {
  const kit = useLab(useStore('sqlite'));
  const row = (no: string, amount: string) =>
    `{"invoice_no":"${no}","customer_code":null,"amount":${amount},"due_date":"2026-12-01","status":"unpaid"}`;

  for (const [title, amounts] of [
    ['whole ones among decimals', ['1200', '15.5', '99']],
    ['decimals that are whole', ['1200.0', '15.0', '99.0']],
    ['exponents', ['12e2', '99']],
  ] as const)
    it(`is left unread, and swaps nothing in: ${title}`, async () => {
      const lab = await kit.start({ customers: 1, orders: 1 });
      lab.sandbox.addInvoices([{ amount: 101 }, { amount: 102 }]);
      await lab.pull();
      const body = `{"data":[${amounts.map((amount, nth) => row(`T-${nth}`, amount))}],"total":${amounts.length},"page":1}`;
      lab.sandbox.setFaults([{ kind: 'status', status: 200, body, match: { path: '/v2/invoices' } }]);
      const pulled = await lab.pull();
      expect(pulled).to.include({ outcome: 'failed', added: 0, unlisted: 0 });
      expect(told(pulled.reason)).to.match(/the amount of T-\d is [\d.e]+\. .*invoices\.enabled: false/);
      const listed = await kit.rows('SELECT amount FROM invoice ORDER BY amount');
      expect(listed).to.deep.equal([{ amount: 101 }, { amount: 102 }]);
      expect(await kit.rows('SELECT * FROM invoice_malformed')).to.deep.equal([]);
    });
});
