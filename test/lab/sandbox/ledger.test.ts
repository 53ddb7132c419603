import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { addCustomer, anOrder, ask } from './ask.js';

describe('sandbox: ledger', () => {
  let sandbox: Sandbox;

  beforeEach(async () => {
    sandbox = await startSandbox();
    await addCustomer(sandbox);
  });
  afterEach(() => sandbox.close());

  const admin = async (path: string) => (await fetch(sandbox.url + path)).text();

  it('holds every request and every record, and needs no token', async () => {
    const beforeMs = Date.now();
    const body = JSON.stringify(anOrder('N1'));
    const reply = await ask(sandbox, 'POST', '/v1/orders', { key: 'k', body });
    const ledger = JSON.parse(await admin('/_ledger'));
    expect(ledger.requests).to.have.length(2);
    expect(ledger.requests[1]).to.deep.include({
      request_id: reply.headers.get('x-request-id'),
      method: 'POST',
      path: '/v1/orders',
      idempotency_key: 'k',
      body_sha256: createHash('sha256').update(body).digest('hex'),
      status: 201,
      throttled: false,
      replayed: false,
      fault: null,
    });
    const { received_at_ms, at_ms, answered_at_ms, monotonic_ms } = ledger.requests[1];
    expect(received_at_ms).to.be.within(beforeMs, Date.now());
    expect(at_ms).to.be.within(received_at_ms, answered_at_ms);
    expect(monotonic_ms).to.be.a('number');
    expect(ledger.customers).to.have.length(1);
    expect(ledger.customers[0]).to.deep.include({
      customer_code: 'C1',
      key: 'customer-C1',
      record: { customer_code: 'C1', name: 'Name of C1' },
    });
    expect(ledger.orders[0]).to.deep.include({
      order_id: reply.json.order_id,
      key: 'k',
      reference: 'N1',
      status: 'confirmed',
      total: 1300,
      record: anOrder('N1'),
      requests: [reply.headers.get('x-request-id')],
    });
    expect(ledger.duplicates).to.eql([]);
    expect(ledger.counts).to.eql({
      customers: 1,
      orders: 1,
      invoices: 1,
      requests: 2,
      throttled: 0,
      replayed: 0,
      duplicateReferences: 0,
    });
    expect(ledger).to.eql(JSON.parse(JSON.stringify(sandbox.ledger())));
  });

  it('gives the counts alone', async () => {
    expect(JSON.parse(await admin('/_ledger?only=counts'))).to.eql(sandbox.counts());
  });

  it('streams its parts as lines', async () => {
    for (let i = 0; i < 20; i++) await ask(sandbox, 'POST', '/v1/orders', { key: `k${i}`, body: anOrder(`N${i}`) });
    const lines = async (path: string) =>
      (await admin(path))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    expect((await lines('/_ledger/orders')).map((order) => order.reference)).to.eql(
      Array.from({ length: 20 }, (_, i) => `N${i}`),
    );
    expect(await lines('/_ledger/customers')).to.have.length(1);
    expect(await lines('/_ledger/requests')).to.have.length(21);
  });

  it('never holds a credential', async () => {
    await ask(sandbox, 'GET', '/v2/invoices', { token: 'canary-one' });
    sandbox.change({ token: 'canary-two' });
    await ask(sandbox, 'GET', '/v2/invoices', { token: 'canary-two' });
    expect(await admin('/_ledger')).not.to.match(/canary|sandbox-token|bearer/i);
  });

  it('gives every request an id of its own', async () => {
    const replies = await Promise.all(Array.from({ length: 50 }, () => ask(sandbox, 'GET', '/v2/invoices')));
    expect(new Set(replies.map((reply) => reply.headers.get('x-request-id'))).size).to.equal(50);
  });

  it('counts a reference as duplicate only while two orders carry it', async () => {
    const ids: string[] = [];
    for (const key of ['a', 'b', 'c']) {
      ids.push((await ask(sandbox, 'POST', '/v1/orders', { key, body: anOrder('N1') })).json.order_id);
    }
    expect(sandbox.counts().duplicateReferences).to.equal(1);
    await ask(sandbox, 'DELETE', `/v1/orders/${ids[0]}`, { key: 'd' });
    expect(sandbox.counts().duplicateReferences).to.equal(1);
    await ask(sandbox, 'PATCH', `/v1/orders/${ids[1]}`, { key: 'e', body: { note: 'N2' } });
    expect(sandbox.counts().duplicateReferences).to.equal(0);
    expect(sandbox.ledger().duplicates).to.eql([]);
  });
});
