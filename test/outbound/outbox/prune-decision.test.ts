import { expect } from 'chai';
import fc from 'fast-check';
import { type OldMessage, pruneDecision } from '../../../src/operator/prune.js';
import { messageStates } from '../../../src/outbound/outbox/message.js';
import type { Horizon } from '../../../src/store/elapsed-time.js';

const horizons = { messagesBefore: 100 as Horizon, bodiesBefore: 200 as Horizon };
const old: OldMessage = {
  id: 1,
  state: 'delivered',
  revision: 1,
  contentHash: 'a',
  capturedAt: 1,
  closedAt: 50,
  newer: false,
  binding: { revision: 1, contentHash: 'a' },
  hasBody: true,
};

describe('what is pruned of an old message', () => {
  const decisions: [string, Partial<OldMessage>, string][] = [
    ['all of a delivered one that its binding remembers', {}, 'message'],
    ['only the body of a younger one', { closedAt: 150 }, 'body'],
    ['nothing of a young one', { closedAt: 200 }, 'keep'],
    ['nothing more of a younger one without a body', { closedAt: 150, hasBody: false }, 'keep'],
    ['all of a superseded one', { state: 'superseded', newer: true, binding: null }, 'message'],
    ['only the body of the newest of a record without a binding', { state: 'discarded', binding: null }, 'body'],
    ['only the body of one that the binding is older than', { revision: 2, state: 'discarded' }, 'body'],
    [
      'only the body of the newest when the binding holds something else',
      { binding: { revision: 1, contentHash: 'b' } },
      'body',
    ],
    ['all of an older one, whatever the binding says', { newer: true, binding: null, state: 'discarded' }, 'message'],
  ];
  for (const [title, changes, decision] of decisions)
    it(`is ${title}`, () => {
      expect(pruneDecision({ ...old, ...changes }, horizons)).to.equal(decision);
    });

  it('is never anything of what is open or parked, nor the only memory of a record', () => {
    const message = fc.record({
      id: fc.nat(),
      state: fc.constantFrom(...messageStates),
      revision: fc.integer({ min: 1, max: 4 }),
      contentHash: fc.constantFrom('a', 'b'),
      capturedAt: fc.constant(1),
      closedAt: fc.option(fc.integer({ min: 1, max: 300 })),
      newer: fc.boolean(),
      binding: fc.option(
        fc.record({ revision: fc.integer({ min: 1, max: 4 }), contentHash: fc.constantFrom('a', 'b') }),
      ),
      hasBody: fc.boolean(),
    });
    fc.assert(
      fc.property(message, (one) => {
        const decision = pruneDecision(one, horizons);
        if (['pending', 'sending', 'in_doubt', 'parked'].includes(one.state)) expect(decision).to.equal('keep');
        if (decision === 'message' && !one.newer) {
          expect(one.binding?.contentHash).to.equal(one.contentHash);
          expect(one.binding?.revision).to.be.at.least(one.revision);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
