import { expect } from 'chai';
import type { SandboxOptions } from '../../../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { anOrder, ask } from './ask.js';

describe('sandbox: customers that somebody else made', () => {
  let sandbox: Sandbox;
  const begin = async (options: Partial<SandboxOptions> = {}) => {
    sandbox = await startSandbox({ customers: [{ customer_code: 'C1', name: 'Ann' }], ...options });
  };
  const create = () =>
    ask(sandbox, 'POST', '/v1/customers', { key: 'mine', body: { customer_code: 'C1', name: 'Anna' } });
  afterEach(() => sandbox.close());

  it('are there from the start, can be read and ordered for, and are made no second time', async () => {
    await begin();
    expect((await ask(sandbox, 'GET', '/v1/customers/C1')).json).to.include({ customer_code: 'C1', name: 'Ann' });
    expect((await ask(sandbox, 'POST', '/v1/orders', { key: 'order', body: anOrder('N1') })).status).to.equal(201);
    const again = await create();
    expect(again.status).to.equal(409);
    expect(again.json).to.deep.equal({
      error: { code: 'already_exists', message: 'Customer C1 exists already' },
    });
    expect(sandbox.ledger().customers.map(({ record }) => record.name)).to.deep.equal(['Ann']);
  });

  it('are refused in the words and with the record that the service is configured for', async () => {
    await begin({ alreadyExists: { status: 422, code: 'duplicate_customer' }, showExisting: true });
    const again = await create();
    expect(again.status).to.equal(422);
    expect(again.json.error).to.deep.include({ code: 'duplicate_customer' });
    expect(again.json.error.customer).to.include({ customer_code: 'C1', name: 'Ann' });
  });

  it('can come in while it runs, but not twice', async () => {
    await begin();
    sandbox.addCustomers([{ customer_code: 'C2' }]);
    expect(sandbox.counts()).to.include({ customers: 2, requests: 0 });
    expect(() => sandbox.addCustomers([{ customer_code: 'C2' }])).to.throw(TypeError, 'C2');
  });
});
