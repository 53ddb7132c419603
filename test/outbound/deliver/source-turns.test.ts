import { expect } from 'chai';
import fc from 'fast-check';
import { takeTurns } from '../../../src/outbound/deliver/source-turns.js';

const queue = fc.record({ priority: fc.integer({ min: 1, max: 100 }), count: fc.nat(60) });
const dice = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('the turns of the sources', () => {
  it('leave one source as it is', () => {
    const order = takeTurns([{ priority: 3, waiting: [5, 1, 4] }], 2, () => expect.fail('no dice'));
    expect(order).to.deep.equal([5, 1]);
  });

  it('come in the proportion of the priorities', () => {
    const many = (of: string) => Array.from({ length: 100 }, () => of);
    const queues = [
      { priority: 1, waiting: many('a') },
      { priority: 2, waiting: many('b') },
    ];
    expect(takeTurns(queues, 9, () => 0.5).filter((of) => of === 'b')).to.have.length(6);
  });

  it('keep the order of each, fill the room, and give each that waits its share of any stretch', () => {
    fc.assert(
      fc.property(fc.array(queue, { maxLength: 6 }), fc.nat(120), dice, (queues, room, drawn) => {
        const made = queues.map(({ priority, count }, at) => {
          return { priority, waiting: Array.from({ length: count }, (_, nth) => ({ at, nth })) };
        });
        const order = takeTurns(made, room, () => drawn);
        const all = queues.reduce((sum, { count }) => sum + count, 0);
        expect(order).to.have.length(Math.min(room, all));
        const weights = queues.reduce((sum, { priority }) => sum + priority, 0);
        for (const [at, { priority, count }] of queues.entries()) {
          const own = order.filter((one) => one.at === at).map(({ nth }) => nth);
          expect(own).to.deep.equal(own.map((_, nth) => nth));
          // As long as it waits, it has its share, give or take a turn.
          if (own.length < count)
            expect(own.length).to.be.at.least(Math.floor((order.length * priority) / weights) - 1);
        }
      }),
    );
  });

  it('begin with any of them, so that a claim of one message starves none', () => {
    const queues = [1, 1, 1].map((priority, at) => ({ priority, waiting: [at, at] }));
    const first = new Set([0.1, 0.4, 0.9].flatMap((_, at) => takeTurns(queues, 1, inOrder(at))));
    expect([...first].sort()).to.deep.equal([0, 1, 2]);
  });
});

/** Dice that let this queue begin. */
function inOrder(at: number): () => number {
  let nth = 0;
  return () => (nth++ === at ? 0 : 0.5);
}
