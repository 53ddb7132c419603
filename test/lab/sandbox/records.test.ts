import { expect } from 'chai';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { addCustomer, anOrder, ask } from './ask.js';

describe('sandbox: customers and orders', () => {
  let sandbox: Sandbox;
  let keys = 0;
  const nowMs = Date.UTC(2026, 0, 5, 20, 30, 15);

  beforeEach(async () => {
    sandbox = await startSandbox({ nowMs: () => nowMs, utcOffsetMinutes: 7 * 60 });
  });
  afterEach(() => sandbox.close());

  const write = (method: string, path: string, body?: unknown) =>
    ask(sandbox, method, path, { key: `key-${++keys}`, body });

  it('makes a customer and an order and acknowledges them', async () => {
    const customer = await write('POST', '/v1/customers', { customer_code: 'C1', name: 'Ann', credit: 10.5 });
    expect(customer.status).to.equal(201);
    expect(customer.json).to.eql({
      customer_code: 'C1',
      status: 'active',
      created_at: '2026-01-06T03:30:15+07:00',
    });
    const order = await write('POST', '/v1/orders', anOrder('N1'));
    expect(order.status).to.equal(201);
    expect(order.json.order_id).to.be.a('string').and.not.equal('');
    expect(order.json).to.include({ status: 'confirmed', total: 1300, created_at: '2026-01-06T03:30:15+07:00' });
    expect(order.headers.get('content-type')).to.match(/^application\/json/);
  });

  it('shows an order as somebody at the service left it, until they take it away', async () => {
    await addCustomer(sandbox);
    const { order_id: id } = (await write('POST', '/v1/orders', anOrder('N1'))).json;
    const at = `${sandbox.url}/_orders/${id}`;
    const set = await fetch(at, { method: 'POST', body: '{"status":"shipped","total":7}' });
    expect(await set.json()).to.eql({ status: 'shipped', total: 7 });
    expect((await ask(sandbox, 'GET', `/v1/orders/${id}`)).json).to.include({ status: 'shipped', total: 7 });
    expect(sandbox.ledger().orders[0]).to.include({ status: 'shipped', total: 7 });
    expect((await fetch(at, { method: 'POST', body: '{"note":"x"}' })).status).to.equal(400);
    expect((await fetch(at, { method: 'DELETE' })).status).to.equal(204);
    expect((await ask(sandbox, 'GET', `/v1/orders/${id}`)).status).to.equal(404);
    expect((await fetch(at, { method: 'DELETE' })).status).to.equal(400);
  });

  it('refuses an order of an unknown customer', async () => {
    const reply = await write('POST', '/v1/orders', anOrder('N1'));
    expect(reply.status).to.equal(404);
    expect(reply.json.error.code).to.equal('unknown_customer');
  });

  it('refuses a customer that exists already, but makes a second order under another key', async () => {
    await addCustomer(sandbox);
    const again = await write('POST', '/v1/customers', { customer_code: 'C1', name: 'other' });
    expect(again.status).to.equal(409);
    expect(again.json.error.code).to.equal('already_exists');
    await write('POST', '/v1/orders', anOrder('N1'));
    await write('POST', '/v1/orders', anOrder('N1'));
    await write('POST', '/v1/orders', anOrder('N2'));
    expect(sandbox.counts()).to.include({ customers: 1, orders: 3, duplicateReferences: 1 });
  });

  it('changes only what PATCH names, and clears what PUT leaves out', async () => {
    await write('POST', '/v1/customers', { customer_code: 'C1', name: 'Ann', city: 'Hue', phone: '1' });
    const patched = await write('PATCH', '/v1/customers/C1', { city: 'Vinh', phone: null });
    expect(patched.status).to.equal(200);
    expect(patched.json).to.include({ customer_code: 'C1', name: 'Ann', city: 'Vinh', status: 'active' });
    expect(patched.json).not.to.have.property('phone');
    const put = await write('PUT', '/v1/customers/C1', { customer_code: 'C1', city: 'Hanoi' });
    expect(put.status).to.equal(200);
    expect(sandbox.ledger().customers[0]?.record).to.eql({ customer_code: 'C1', city: 'Hanoi' });
    expect((await ask(sandbox, 'GET', '/v1/customers/C1')).json).to.eql(put.json);
  });

  it('changes an order, its total, its reference and its unpaid invoice', async () => {
    sandbox.change({ paidShare: 0 });
    await addCustomer(sandbox);
    const id = (await write('POST', '/v1/orders', anOrder('N1'))).json.order_id;
    const patched = await write('PATCH', `/v1/orders/${id}`, { items: [{ sku: 'Z', qty: 3, price: 7 }] });
    expect(patched.json).to.include({ order_id: id, total: 21, note: 'N1' });
    const put = await write('PUT', `/v1/orders/${id}`, {
      customer_code: 'C1',
      items: [{ sku: 'Z', qty: 1, price: 7 }],
    });
    expect(put.json).to.include({ total: 7 }).and.not.have.property('note');
    expect(sandbox.ledger().orders[0]).to.include({ reference: null, total: 7 });
    expect((await ask(sandbox, 'GET', '/v2/invoices')).json.data[0].amount).to.equal(7);
    expect((await write('PATCH', `/v1/orders/${id}`, { customer_code: 'C9' })).json.error.code).to.equal(
      'unknown_customer',
    );
    expect((await write('PATCH', `/v1/orders/${id}`, {})).status).to.equal(400);
  });

  it('deletes once, and keeps the deleted in the ledger', async () => {
    sandbox.change({ paidShare: 0 });
    await addCustomer(sandbox);
    const id = (await write('POST', '/v1/orders', anOrder('N1'))).json.order_id;
    const gone = await write('DELETE', `/v1/orders/${id}`);
    expect(gone.status).to.equal(204);
    expect(gone.text).to.equal('');
    expect((await write('DELETE', `/v1/orders/${id}`)).status).to.equal(404);
    expect((await ask(sandbox, 'GET', `/v1/orders/${id}`)).status).to.equal(404);
    expect((await write('PATCH', `/v1/orders/${id}`, { note: 'x' })).status).to.equal(404);
    expect((await write('DELETE', '/v1/customers/C1')).status).to.equal(204);
    expect(sandbox.counts()).to.include({ customers: 0, orders: 0, invoices: 0 });
    expect(sandbox.ledger().deleted.map((record) => record.reference)).to.eql(['N1', 'C1']);
  });

  it('finds orders by reference and by key, also after the key is forgotten', async () => {
    await addCustomer(sandbox);
    const id = (await ask(sandbox, 'POST', '/v1/orders', { key: 'k', body: anOrder('N 1') })).json.order_id;
    sandbox.forgetKeys();
    for (const query of ['note=N%201', 'idempotency_key=k', 'note=N+1&idempotency_key=k']) {
      const { json } = await ask(sandbox, 'GET', `/v1/orders?${query}`);
      expect(json.total, query).to.equal(1);
      expect(json.data[0], query).to.include({ order_id: id, note: 'N 1' });
    }
    expect((await ask(sandbox, 'GET', '/v1/orders?note=N2')).json).to.eql({ data: [], total: 0 });
    expect((await ask(sandbox, 'GET', '/v1/orders')).status).to.equal(400);
    expect((await ask(sandbox, 'GET', '/v1/orders?page=1')).status).to.equal(400);
  });

  it('keeps an address with a slash or umlaut apart', async () => {
    const code = 'Ä/1 %';
    await write('POST', '/v1/customers', { customer_code: code });
    const reply = await ask(sandbox, 'GET', `/v1/customers/${encodeURIComponent(code)}`);
    expect(reply.json.customer_code).to.equal(code);
    expect((await ask(sandbox, 'GET', '/v1/customers/Ä/1')).status).to.equal(404);
    expect((await ask(sandbox, 'GET', '/v1/customers/%zz')).status).to.equal(400);
  });
});
