import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { useTempDir } from '../support/temp-dir.js';
import { canary, Installation } from './installation.js';

describe('"Where is order 4711?"', function () {
  this.timeout(300_000);
  const dir = useTempDir();
  let sandbox: Sandbox;
  let waybill: Installation;

  before(async () => {
    await createSampleErp({ target: { type: 'sqlite', file: dir.file('erp.sqlite') }, customers: 3, orders: 10 });
    sandbox = await startSandbox({ token: canary.token });
    sandbox.setFaults([{ kind: 'status', status: 503, match: { path: '/v1/orders' }, times: 1 }]);
    waybill = new Installation({
      folder: dir.path,
      serviceUrl: sandbox.url,
      erp: { type: 'sqlite', file: dir.file('erp.sqlite') },
      store: { type: 'sqlite' },
      settings: { delivery: { backoffBaseSeconds: 0.2 } },
    });
    expect((await waybill.run('sync', '--json')).code).to.equal(0);
  });
  after(() => sandbox.close());

  it('is answered by explain, from capture to acknowledgement, with every attempt', async () => {
    const faulty = sandbox.ledger().requests.find((request) => request.status === 503);
    const order = sandbox.ledger().orders.find((one) => one.key === faulty?.idempotency_key);
    const run = await waybill.run('explain', 'order', order?.reference as string);
    expect(run.code).to.equal(0);
    const story = run.stdout;
    const parts = ['captured', 'attempt 1', 'HTTP 503', 'attempt 2', 'HTTP 201', order?.order_id as string];
    let position = -1;
    for (const part of parts.slice(0, -1)) {
      const next = story.indexOf(part, position + 1);
      expect(next, `${part} in:\n${story}`).to.be.greaterThan(position);
      position = next;
    }
    expect(story).to.contain(order?.order_id);
    for (const request of order?.requests ?? []) expect(story).to.contain(request);
  });

  it('is answered by the audit log, also by the number that people know', async () => {
    const order = sandbox.ledger().orders[3];
    const run = await waybill.run('audit', '--key', order?.reference as string, '--json');
    expect(run.code).to.equal(0);
    const events = JSON.parse(run.stdout).map((line: { event: string }) => line.event);
    expect(events).to.deep.equal(['captured', 'delivered']);
  });

  it('has one line of the audit for every request that the service saw', async () => {
    const run = await waybill.run('audit', '--limit', '1000', '--json');
    const audited = JSON.parse(run.stdout)
      .filter(({ detail }: { detail: { startedAt?: number } }) => detail.startedAt !== undefined)
      .map((line: { detail: { requestId: string } }) => line.detail.requestId);
    const seen = sandbox.ledger().requests.map((request) => request.request_id);
    expect(audited.sort()).to.deep.equal([...seen].sort());
  });
});
