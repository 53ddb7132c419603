import { expect } from 'chai';
import { legacy } from '../../../src/model/facts/fact.js';
import type { Verdict } from '../../../src/model/verdict.js';
import { type ForbiddenCandidate, judgeForbidden } from '../../../src/outbound/deliver/lane-effects.js';
import { onAnyLab } from '../../support/jobs/job-lab.js';
import { pausesOf, statesOf } from '../../support/jobs/service-of.js';
import { told } from '../../support/told.js';

const forbidden: Verdict = { kind: 'misconfigured', reason: legacy('HTTP 403') };
const ok: Verdict = { kind: 'delivered', serviceId: '1', flag: null };
const of = (verdict: Verdict, over: Partial<ForbiddenCandidate> = {}): ForbiddenCandidate => ({
  entity: 'order',
  operation: 'create',
  verdict,
  status: verdict.kind === 'delivered' ? 201 : 403,
  wasForbidden: false,
  ...over,
});
const others = (outcomes: ForbiddenCandidate[], passed: string[] = []) =>
  judgeForbidden(outcomes, new Set(passed)).map((one) =>
    one.kind === 'misconfigured' ? (one.others ?? 'none') : 'ok',
  );

describe('whether a 403 is about one record or about us', () => {
  it('is about us where nothing has passed since the last one', () => {
    expect(others([of(forbidden)])).to.deep.equal(['none']);
    expect(others([of(forbidden, { wasForbidden: true })])).to.deep.equal(['none']);
    expect(others([of(forbidden), of(forbidden)], ['create order'])).to.deep.equal(['passed', 'none']);
  });

  it('is about the record when others passed before it was forbidden, and when it was forbidden again', () => {
    expect(others([of(ok), of(forbidden)])).to.deep.equal(['ok', 'passed']);
    expect(others([of(forbidden, { wasForbidden: true })], ['create order'])).to.deep.equal(['pass still']);
  });

  it('goes by what passed at the same endpoint, and takes no redirect or proxy for it', () => {
    expect(others([of(ok, { entity: 'customer' }), of(ok, { operation: 'update' }), of(forbidden)])).to.deep.equal([
      'ok',
      'ok',
      'none',
    ]);
    for (const status of [302, 407]) expect(others([of(ok), of(forbidden, { status })])).to.deep.equal(['ok', 'none']);
  });
});

onAnyLab('one record that the service forbids', (kit) => {
  const start = async () => {
    const lab = await kit.start({ customers: 1, orders: 10, settings: { service: { concurrency: 1 } } });
    await lab.capture();
    return lab;
  };

  it('is parked with its reason, and the others go through', async () => {
    const lab = await start();
    const [, , poison] = await kit.rows("SELECT number FROM outbox_message WHERE entity='order' ORDER BY id");
    lab.sandbox.setFaults([{ kind: 'status', status: 403, match: { bodyIncludes: `"${poison.number}"` } }]);
    const { stopped } = await lab.deliver();
    expect(stopped).to.equal(null);
    expect(await statesOf(kit)).to.deep.equal({ delivered: 10, parked: 1 });
    const [parked] = await kit.rows(
      "SELECT number, park_class, reason_code, reason_data FROM outbox_message WHERE state='parked'",
    );
    expect(parked).to.include({ number: poison.number, park_class: 'refused' });
    expect(parked.reason).to.contain('HTTP 403');
    expect(await pausesOf(kit)).to.deep.equal([]);
  });

  it('parks nothing when our permission ends in between: that pauses the lane', async () => {
    const lab = await start();
    lab.sandbox.setFaults([
      { kind: 'status', status: 403, match: { path: '/v1/orders', nth: [4, 5, 6, 7, 8, 9, 10] } },
    ]);
    const { stopped } = await lab.deliver();
    expect(told(stopped)).to.contain('deliver is paused (misconfigured)');
    expect(await statesOf(kit)).to.have.all.keys('delivered', 'pending');
  });
});
