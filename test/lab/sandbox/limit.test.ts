import { expect } from 'chai';
import { type Sandbox, startSandbox } from '../../../src/lab/sandbox/start-sandbox.js';
import { addCustomer, anOrder, ask } from './ask.js';

describe('sandbox: rate limit over HTTP', () => {
  let sandbox: Sandbox;
  let nowMs = 0;

  async function start(options: Parameters<typeof startSandbox>[0]): Promise<void> {
    nowMs = Date.UTC(2026, 0, 5, 12, 0, 0);
    sandbox = await startSandbox({ nowMs: () => nowMs, ...options });
  }
  const list = () => ask(sandbox, 'GET', '/v2/invoices');

  afterEach(() => sandbox.close());

  it('answers 429 above the limit and says when to come back', async () => {
    await start({ limits: [{ requests: 2, windowMs: 10_000 }] });
    expect((await list()).status).to.equal(200);
    nowMs += 2500;
    expect((await list()).status).to.equal(200);
    const refused = await list();
    expect(refused.status).to.equal(429);
    expect(refused.json.error.code).to.equal('too_many_requests');
    expect(refused.headers.get('retry-after')).to.equal('8');
    nowMs += 7499;
    expect((await list()).status).to.equal(429);
    nowMs += 1;
    expect((await list()).status).to.equal(200);
    expect((await list()).status).to.equal(429);
    expect(sandbox.counts()).to.include({ requests: 6, throttled: 3 });
    expect(sandbox.ledger().requests.map((request) => request.throttled)).to.eql([
      false,
      false,
      true,
      true,
      false,
      true,
    ]);
  });

  it('is decided before the idempotency layer: a throttled key is still unused', async () => {
    await start({ replayRefusals: true });
    await addCustomer(sandbox);
    sandbox.setLimit({ requests: 1, windowMs: 1000 });
    await list();
    expect((await ask(sandbox, 'POST', '/v1/orders', { key: 'k', body: anOrder('N1') })).status).to.equal(429);
    nowMs += 1000;
    expect((await ask(sandbox, 'POST', '/v1/orders', { key: 'k', body: anOrder('N2') })).status).to.equal(201);
  });

  it('holds several limits at once, and lets them be changed and lifted', async () => {
    await start({
      limits: [
        { requests: 2, windowMs: 1000 },
        { requests: 3, windowMs: 60_000 },
      ],
    });
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await list()).status);
    nowMs += 1000;
    for (let i = 0; i < 2; i++) statuses.push((await list()).status);
    expect(statuses).to.eql([200, 200, 429, 200, 429]);
    sandbox.setLimit(null);
    expect((await list()).status).to.equal(200);
    const set = await fetch(`${sandbox.url}/_limit`, { method: 'POST', body: '{"requests":1,"windowMs":1000}' });
    expect(set.status).to.equal(204);
    expect([(await list()).status, (await list()).status]).to.eql([200, 429]);
  });

  const forms = {
    'http-date': 'Mon, 05 Jan 2026 12:00:10 GMT',
    absent: null,
    junk: 'in a little while',
    past: 'Mon, 05 Jan 2026 11:00:00 GMT',
    absurd: '3153600000',
  } as const;
  for (const [form, value] of Object.entries(forms)) {
    it(`writes Retry-After as ${form}`, async () => {
      await start({ limits: [{ requests: 1, windowMs: 9500 }], retryAfter: form as keyof typeof forms });
      await list();
      expect((await list()).headers.get('retry-after')).to.equal(value);
    });
  }
});
