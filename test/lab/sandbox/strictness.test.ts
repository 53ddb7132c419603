import { expect } from 'chai';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { addCustomer, anOrder, ask } from './ask.js';

describe('sandbox: strictness', () => {
  let sandbox: Sandbox;
  let keys = 0;

  before(async () => {
    sandbox = await startSandbox({ maxBodyBytes: 20_000, maxStringLength: 100, maxItems: 50 });
    await addCustomer(sandbox);
  });
  after(() => sandbox.close());

  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    ask(sandbox, 'POST', path, { key: `key-${++keys}`, body, headers });

  it('needs its token', async () => {
    for (const token of [null, 'wrong', 'sandbox-token2', '']) {
      const reply = await ask(sandbox, 'GET', '/v2/invoices', { token });
      expect(reply.status).to.equal(401);
      expect(reply.json.error.code).to.equal('unauthorized');
      expect(reply.headers.get('www-authenticate')).to.equal('Bearer');
    }
    const basic = await ask(sandbox, 'GET', '/v2/invoices', {
      token: null,
      headers: { authorization: 'Basic sandbox-token' },
    });
    expect(basic.status).to.equal(401);
  });

  it('can be told to forbid, and to take another token', async () => {
    sandbox.change({ forbidden: true });
    expect((await ask(sandbox, 'GET', '/v2/invoices')).status).to.equal(403);
    sandbox.change({ forbidden: false, token: 'second' });
    expect((await ask(sandbox, 'GET', '/v2/invoices')).status).to.equal(401);
    expect((await ask(sandbox, 'GET', '/v2/invoices', { token: 'second' })).status).to.equal(200);
    sandbox.change({ token: 'sandbox-token' });
  });

  const nowhere: [string, string][] = [
    ['POST', '/v2/orders'],
    ['POST', '/orders'],
    ['GET', '/v1/invoices'],
    ['GET', '/v1/customers'],
    ['POST', '/v1/orders/'],
    ['POST', '/v1/orders/1'],
    ['PATCH', '/v1/orders'],
    ['DELETE', '/v2/invoices/1'],
    ['GET', '/v1/orders/1/items'],
    ['POST', '//v1/orders'],
    ['OPTIONS', '/v1/orders'],
    ['PROPFIND', '/v1/orders'],
    ['GET', '/'],
  ];
  for (const [method, path] of nowhere) {
    it(`serves nothing at ${method} ${path}`, async () => {
      const body = method === 'POST' || method === 'PATCH' ? anOrder('N') : undefined;
      const reply = await ask(sandbox, method, path, { key: `key-${++keys}`, body });
      expect(reply.status).to.equal(404);
      expect(sandbox.ledger().requests.at(-1)).to.include({ method, path, status: 404 });
    });
  }

  const badOrders: Record<string, unknown> = {
    'no JSON': '{"customer_code":',
    'a list': [],
    'a null': 'null',
    'a byte order mark': `\ufeff${JSON.stringify(anOrder('N'))}`,
    'an unknown field': anOrder('N', { currency: 'VND' }),
    'a field of the service': anOrder('N', { status: 'paid' }),
    'no customer': { items: anOrder('N').items },
    'an empty customer': anOrder('N', { customer_code: '' }),
    'a number for a customer': anOrder('N', { customer_code: 1 }),
    'no items': { customer_code: 'C1' },
    'empty items': anOrder('N', { items: [] }),
    'items that are no list': anOrder('N', { items: {} }),
    'too many items': anOrder('N', { items: Array(51).fill({ sku: 'A', qty: 1, price: 1 }) }),
    'an item without sku': anOrder('N', { items: [{ qty: 1, price: 1 }] }),
    'an item without price': anOrder('N', { items: [{ sku: 'A', qty: 1 }] }),
    'a quantity of 0': anOrder('N', { items: [{ sku: 'A', qty: 0, price: 1 }] }),
    'a negative quantity': anOrder('N', { items: [{ sku: 'A', qty: -1, price: 1 }] }),
    'half a piece': anOrder('N', { items: [{ sku: 'A', qty: 0.5, price: 1 }] }),
    'a quantity as text': anOrder('N', { items: [{ sku: 'A', qty: '1', price: 1 }] }),
    'a fractional price': anOrder('N', { items: [{ sku: 'A', qty: 1, price: 1.5 }] }),
    'a price beyond safe integers': anOrder('N', { items: [{ sku: 'A', qty: 1, price: 2 ** 53 }] }),
    'a total beyond safe integers': anOrder('N', { items: [{ sku: 'A', qty: 1000, price: 2 ** 50 }] }),
    'an unknown field in an item': anOrder('N', { items: [{ sku: 'A', qty: 1, price: 1, unit: 'kg' }] }),
    'a note that is a number': anOrder('N', { note: 1 }),
    'a note of null': anOrder('N', { note: null }),
    'a long note': anOrder('x'.repeat(101)),
  };
  for (const [what, body] of Object.entries(badOrders)) {
    it(`refuses an order with ${what}`, async () => {
      const reply = await post('/v1/orders', body);
      expect(reply.status).to.equal(400);
      expect(reply.json.error.code).to.be.oneOf(['invalid_request', 'invalid_json']);
      expect(reply.json.error.message).to.be.a('string').and.not.equal('');
      expect(sandbox.counts().orders).to.equal(0);
    });
  }

  const badCustomers: Record<string, unknown> = {
    'no code': { name: 'Ann' },
    'an object in a field': { customer_code: 'C2', address: {} },
    'a boolean': { customer_code: 'C2', active: true },
    'a null': { customer_code: 'C2', name: null },
    'a rounded number': '{"customer_code":"C2","tax_id":9007199254740993}',
    'a field of the service': { customer_code: 'C2', created_at: 'x' },
    'a name that is none': { customer_code: 'C2', 'a b': 'x' },
  };
  for (const [what, body] of Object.entries(badCustomers)) {
    it(`refuses a customer with ${what}`, async () => {
      expect((await post('/v1/customers', body)).status).to.equal(400);
      expect(sandbox.counts().customers).to.equal(1);
    });
  }

  it('refuses to move a customer to another code', async () => {
    const question = { key: `key-${++keys}`, body: { customer_code: 'C7' } };
    expect((await ask(sandbox, 'PATCH', '/v1/customers/C1', question)).status).to.equal(400);
  });

  it('takes JSON only', async () => {
    for (const type of ['text/plain', 'application/jsonp', 'application/json; charset=latin1', 'nonsense', 'a/b;;=']) {
      const reply = await post('/v1/orders', anOrder('N'), { 'content-type': type });
      expect(reply.status, type).to.equal(400);
      expect(reply.json.error.code, type).to.equal('unsupported_content_type');
    }
    const customer = { customer_code: 'C-type' };
    expect(
      (await post('/v1/customers', customer, { 'content-type': 'application/json; charset=UTF-8' })).status,
    ).to.equal(201);
    expect((await ask(sandbox, 'DELETE', '/v1/customers/C-type', { key: `key-${++keys}` })).status).to.equal(204);
  });

  it('bounds the body, and says so in the ledger', async () => {
    const reply = await post('/v1/orders', 'x'.repeat(20_001));
    expect(reply.status).to.equal(413);
    expect(reply.json.error.code).to.equal('body_too_large');
    expect(sandbox.ledger().requests.at(-1)?.status).to.equal(413);
  });

  it('refuses broken UTF-8', async () => {
    const body = Buffer.from('{"customer_code":"C\xff"}', 'latin1');
    const response = await fetch(`${sandbox.url}/v1/customers`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer sandbox-token',
        'content-type': 'application/json',
        'idempotency-key': `u${++keys}`,
      },
      body,
    });
    expect(response.status).to.equal(400);
  });

  it('takes more where it is so set', async () => {
    const lenient = await startSandbox({ unknownFields: 'accept', nulls: 'always', orderReferenceField: 'po_number' });
    await addCustomer(lenient);
    const body = anOrder('N', { currency: 'VND', po_number: 'PO-1', contact: null });
    expect((await ask(lenient, 'POST', '/v1/orders', { key: 'k', body })).status).to.equal(201);
    expect(lenient.ledger().orders[0]).to.include({ reference: 'PO-1' });
    expect((await ask(lenient, 'GET', '/v1/orders?po_number=PO-1')).json.total).to.equal(1);
    await lenient.close();
  });
});
