import { expect } from 'chai';
import type { ErrorShape, SandboxOptions } from '../../../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { addCustomer, anOrder, ask } from './ask.js';

describe('sandbox: flavours of the service', () => {
  let sandbox: Sandbox;
  afterEach(() => sandbox.close());
  const start = async (options: Partial<SandboxOptions>) => {
    sandbox = await startSandbox(options);
  };

  describe('with the key in the body', () => {
    const customer = { customer_code: 'C1', name: 'One' };
    const post = (path: string, body: unknown) => ask(sandbox, 'POST', path, { body });

    it('makes one effect of one key, and keeps the key out of the record', async () => {
      await start({ keyIn: 'body', keyField: 'code' });
      await post('/v1/customers', { code: 'k1', ...customer });
      const order = { code: 'k2', ...anOrder('N1') };
      const [first, again] = [await post('/v1/orders', order), await post('/v1/orders', order)];
      expect([first.status, again.status]).to.deep.equal([201, 201]);
      expect(again.json).to.deep.equal(first.json);
      expect((await post('/v1/orders', { ...order, note: 'N2' })).status).to.equal(422);
      const { customers, orders, requests } = sandbox.ledger();
      expect(customers[0]?.record).to.deep.equal(customer);
      expect(orders.map(({ record, key }) => [record, key])).to.deep.equal([[anOrder('N1'), 'k2']]);
      expect(requests.map((one) => one.idempotency_key)).to.deep.equal(['k1', 'k2', 'k2', 'k2']);
    });

    it('refuses a body without it, and does not look into headers', async () => {
      await start({ keyIn: 'body' });
      const refused = await ask(sandbox, 'POST', '/v1/customers', { key: 'k', body: customer });
      expect(refused.status).to.equal(400);
      expect(refused.json.error.code).to.equal('idempotency_key_missing');
      expect((await ask(sandbox, 'POST', '/v1/customers', { body: 'no JSON' })).json.error.code).to.equal(
        'invalid_json',
      );
    });

    it('changes a record by a body with a key, and deletes one without any', async () => {
      await start({ keyIn: 'body' });
      await post('/v1/customers', { idempotency_key: 'k1', ...customer });
      const changed = await ask(sandbox, 'PATCH', '/v1/customers/C1', { body: { idempotency_key: 'k2', name: 'Two' } });
      expect(changed.json).to.include({ name: 'Two' }).and.not.have.property('idempotency_key');
      expect((await ask(sandbox, 'DELETE', '/v1/customers/C1')).status).to.equal(204);
    });
  });

  const shapes: [ErrorShape, string, (text: string) => void][] = [
    ['nested', 'application/json', (text) => expect(JSON.parse(text).error.message).to.include('C9')],
    [
      'problem',
      'application/problem+json',
      (text) => expect(JSON.parse(text)).to.include({ status: 404, code: 'unknown_customer' }),
    ],
    ['message', 'application/json', (text) => expect(Object.keys(JSON.parse(text))).to.deep.equal(['message'])],
    [
      'errors',
      'application/json',
      (text) => expect(JSON.parse(text).errors[0]).to.include({ code: 'unknown_customer' }),
    ],
    ['text', 'text/plain', (text) => expect(text).to.match(/^There is no customer C9\r\n$/)],
    ['html', 'text/html', (text) => expect(text).to.include('<p>There is no customer C9</p>')],
  ];
  for (const [errorShape, type, check] of shapes)
    it(`writes errors as ${errorShape}`, async () => {
      await start({ errorShape });
      const refused = await ask(sandbox, 'POST', '/v1/orders', {
        key: 'k',
        body: anOrder('N', { customer_code: 'C9' }),
      });
      expect(refused.status).to.equal(404);
      expect(refused.headers.get('content-type')).to.include(type);
      check(refused.text);
    });

  it('demands fields and their lengths', async () => {
    await start({ requiredFields: { customer: ['name'], order: ['note'] }, maxLengths: { note: 5, sku: 3 } });
    await addCustomer(sandbox);
    const { note: _, ...bare } = anOrder('N');
    const create = (key: string, body: unknown) => ask(sandbox, 'POST', '/v1/orders', { key, body });
    expect((await create('a', bare)).text).to.include('note is missing');
    expect((await create('b', anOrder('123456'))).text).to.include('note is longer than 5');
    expect((await create('c', anOrder('N', { items: [{ sku: 'A-11', qty: 1, price: 1 }] }))).text).to.include(
      'sku is longer',
    );
    expect((await create('d', anOrder('12345'))).status).to.equal(201);
    const clear = await ask(sandbox, 'PATCH', '/v1/customers/C1', { key: 'e', body: { name: null } });
    expect(clear.text).to.include('name is missing');
  });

  it('announces the end of an address', async () => {
    await start({ headersOf: { 'POST /v1/orders': { sunset: 'x' }, 'PATCH /v1/customers': { deprecation: '@1' } } });
    await addCustomer(sandbox);
    expect((await ask(sandbox, 'POST', '/v1/orders', { key: 'a', body: anOrder('N') })).headers.get('sunset')).to.equal(
      'x',
    );
    const patched = await ask(sandbox, 'PATCH', '/v1/customers/C1', { key: 'b', body: { name: 'x' } });
    expect(patched.headers.get('deprecation')).to.equal('@1');
    expect((await ask(sandbox, 'GET', '/v1/customers/C1')).headers.get('deprecation')).to.equal(null);
  });
});
