import { expect } from 'chai';
import type { SandboxOptions } from '../../../src/lab/sandbox/options.js';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { addCustomer, anOrder, ask } from './ask.js';

describe('sandbox: idempotency key', () => {
  let sandbox: Sandbox;
  let nowMs = Date.UTC(2026, 0, 5);

  async function start(options: Partial<SandboxOptions> = {}): Promise<void> {
    sandbox = await startSandbox({ nowMs: () => nowMs, ...options });
    await addCustomer(sandbox);
  }
  const post = (key: string | undefined, body: unknown) =>
    ask(sandbox, 'POST', '/v1/orders', key === undefined ? { body } : { key, body });

  afterEach(() => sandbox.close());

  it('replays the first answer to the same key and body', async () => {
    await start();
    const first = await post('k', anOrder('N1'));
    nowMs += 5000;
    const second = await post('k', anOrder('N1'));
    expect(first.status).to.equal(201);
    expect(second.status).to.equal(201);
    expect(second.json).to.eql(first.json);
    expect(second.headers.get('x-request-id')).not.to.equal(first.headers.get('x-request-id'));
    const ledger = sandbox.ledger();
    expect(ledger.counts).to.include({ orders: 1, replayed: 1, duplicateReferences: 0 });
    expect(ledger.requests.at(-1)).to.include({ replayed: true, status: 201, idempotency_key: 'k' });
    expect(ledger.orders[0]?.requests).to.eql([first, second].map((reply) => reply.headers.get('x-request-id')));
  });

  it('refuses the same key with another body, even by a byte, or for another address', async () => {
    await start();
    await post('k', anOrder('N1'));
    const other = await post('k', `${JSON.stringify(anOrder('N1'))} `);
    expect(other.status).to.equal(422);
    expect(other.json.error.code).to.equal('idempotency_key_reused');
    const elsewhere = await ask(sandbox, 'POST', '/v1/customers', { key: 'k', body: { customer_code: 'C2' } });
    expect(elsewhere.status).to.equal(422);
    expect(sandbox.counts()).to.include({ orders: 1, customers: 1 });
  });

  it('replays whatever the body where bodies are not compared', async () => {
    await start({ compareBodies: false });
    const first = await post('k', anOrder('N1'));
    expect((await post('k', anOrder('N2'))).json).to.eql(first.json);
  });

  it('answers 409 while the first request is in progress', async () => {
    await start();
    sandbox.setFaults([{ kind: 'delay', ms: 300, match: { key: 'k', nth: 1 } }]);
    const first = post('k', anOrder('N1'));
    await until(() => sandbox.counts().orders === 1);
    const second = await post('k', anOrder('N1'));
    expect(second.status).to.equal(409);
    expect(second.json.error.code).to.equal('request_in_progress');
    expect((await first).status).to.equal(201);
    expect((await post('k', anOrder('N1'))).json).to.eql((await first).json);
    expect(sandbox.counts().orders).to.equal(1);
  });

  it('forgets a key after its lifetime: the same key makes a second record', async () => {
    await start({ keyLifetimeMs: 60_000 });
    const first = await post('k', anOrder('N1'));
    nowMs += 59_999;
    expect((await post('k', anOrder('N1'))).json.order_id).to.equal(first.json.order_id);
    nowMs += 1;
    const late = await post('k', anOrder('N1'));
    expect(late.status).to.equal(201);
    expect(late.json.order_id).not.to.equal(first.json.order_id);
    const ledger = sandbox.ledger();
    expect(ledger.counts).to.include({ orders: 2, duplicateReferences: 1 });
    expect(ledger.duplicates).to.eql([{ reference: 'N1', order_ids: [first.json.order_id, late.json.order_id] }]);
  });

  it('forgets all keys when told to', async () => {
    await start();
    await post('k', anOrder('N1'));
    expect((await fetch(`${sandbox.url}/_keys`, { method: 'DELETE' })).status).to.equal(204);
    await post('k', anOrder('N1'));
    expect(sandbox.counts().duplicateReferences).to.equal(1);
  });

  it('lets a refused key be used again with a corrected body', async () => {
    await start();
    expect((await post('k', anOrder('N1', { items: [] }))).status).to.equal(400);
    expect((await post('k', anOrder('N1'))).status).to.equal(201);
  });

  it('replays refusals where it is so set, and then takes no corrected body', async () => {
    await start({ replayRefusals: true });
    const order = anOrder('N1', { customer_code: 'C2' });
    expect((await post('k', order)).status).to.equal(404);
    await addCustomer(sandbox, 'C2');
    const again = await post('k', order);
    expect(again.status).to.equal(404);
    expect(again.json.error.code).to.equal('unknown_customer');
    expect((await post('k', anOrder('N1'))).status).to.equal(422);
    expect((await post('k2', order)).status).to.equal(201);
  });

  it('needs a key on every write, in a form that is accepted', async () => {
    await start();
    expect((await post(undefined, anOrder('N1'))).json.error.code).to.equal('idempotency_key_missing');
    for (const [method, body] of [
      ['PUT', {}],
      ['PATCH', { name: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      const reply = await ask(sandbox, method, '/v1/customers/C1', { body });
      expect(reply.status, method).to.equal(400);
    }
    for (const key of ['has space', 'x'.repeat(256), '""', 'in"side']) {
      expect((await post(key, anOrder('N1'))).json.error.code, key).to.equal('idempotency_key_invalid');
    }
    expect(sandbox.counts().orders).to.equal(0);
  });

  it('takes the quoted and the bare form for the same key', async () => {
    await start();
    const first = await post('"k"', anOrder('N1'));
    expect((await post('k', anOrder('N1'))).json).to.eql(first.json);
  });

  it('can insist on one form', async () => {
    await start();
    sandbox.change({ keyForm: 'quoted' });
    expect((await post('k', anOrder('N1'))).status).to.equal(400);
    expect((await post('"k"', anOrder('N1'))).status).to.equal(201);
    sandbox.change({ keyForm: 'bare' });
    expect((await post('"k2"', anOrder('N2'))).status).to.equal(400);
    expect((await post('k2', anOrder('N2'))).status).to.equal(201);
  });

  it('reads the key from another header where it is so set', async () => {
    sandbox = await startSandbox({ keyHeader: 'X-Request-Key' });
    const body = { customer_code: 'C1' };
    expect((await ask(sandbox, 'POST', '/v1/customers', { key: 'k', body })).status).to.equal(400);
    const reply = await ask(sandbox, 'POST', '/v1/customers', { headers: { 'x-request-key': 'k' }, body });
    expect(reply.status).to.equal(201);
    expect(sandbox.ledger().customers[0]?.key).to.equal('k');
  });

  it('makes changes and removals happen once, too', async () => {
    await start();
    const change = () => ask(sandbox, 'PATCH', '/v1/customers/C1', { key: 'p', body: { name: 'new' } });
    const first = await change();
    await ask(sandbox, 'PATCH', '/v1/customers/C1', { key: 'q', body: { name: 'newer' } });
    expect((await change()).json).to.eql(first.json);
    expect(sandbox.ledger().customers[0]?.record.name).to.equal('newer');
    const remove = () => ask(sandbox, 'DELETE', '/v1/customers/C1', { key: 'd' });
    expect([(await remove()).status, (await remove()).status]).to.eql([204, 204]);
    expect((await ask(sandbox, 'DELETE', '/v1/customers/C1', { key: 'd2' })).status).to.equal(404);
  });
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}
