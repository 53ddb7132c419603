import { expect } from 'chai';
import fc from 'fast-check';
import { ordersToRead } from '../../../src/inbound/orders/read-back.js';

const never = Number.NEGATIVE_INFINITY;
const order = fc.record({
  sourceKey: fc.string({ minLength: 1, maxLength: 4 }),
  state: fc.constantFrom('open' as const, 'final' as const, 'gone' as const),
  askedAt: fc.option(fc.integer({ min: 1, max: 1_000 })),
});
const orders = fc.uniqueArray(order, { selector: ({ sourceKey }) => sourceKey, maxLength: 30 });
const turn = fc.record({
  nowMs: fc.integer({ min: 0, max: 1_500 }),
  everyMs: fc.integer({ min: 1, max: 400 }),
  most: fc.integer({ min: 1, max: 10 }),
});

describe('which orders are read next', () => {
  it('are never final ones, rested, and as many as there may be', () => {
    fc.assert(
      fc.property(orders, turn, (all, now) => {
        const due = all.filter(
          ({ state, askedAt }) => state !== 'final' && now.nowMs - (askedAt ?? never) >= now.everyMs,
        );
        const next = ordersToRead(all, now);
        expect(next).to.have.length(Math.min(due.length, now.most));
        expect(due).to.include.members(next);
      }),
    );
  });

  it('are the stalest, in the same order whatever the order they were found in', () => {
    fc.assert(
      fc.property(orders, turn, fc.infiniteStream(fc.nat()), (all, now, dice) => {
        const next = ordersToRead(all, now);
        const left = all.filter((one) => one.state !== 'final' && !next.includes(one));
        const stalest = Math.min(...left.map(({ askedAt }) => askedAt ?? never));
        for (const one of next) expect(one.askedAt ?? never).to.be.at.most(stalest);
        const shuffled = all.map((one) => ({ one, at: dice.next().value })).sort((a, b) => a.at - b.at);
        expect(
          ordersToRead(
            shuffled.map(({ one }) => one),
            now,
          ),
        ).to.deep.equal(next);
      }),
    );
  });

  it('reads each of them once in every round, although few are read at once', () => {
    fc.assert(
      fc.property(orders, fc.integer({ min: 1, max: 7 }), (all, most) => {
        const askedAt = new Map(all.map((one) => [one.sourceKey, one.askedAt]));
        const read: string[] = [];
        for (let nowMs = 2_000; ; nowMs++) {
          const known = all.map((one) => ({ ...one, askedAt: askedAt.get(one.sourceKey) as number }));
          const next = ordersToRead(known, { nowMs, everyMs: 1_000, most });
          if (next.length === 0) break;
          for (const { sourceKey } of next) {
            askedAt.set(sourceKey, nowMs);
            read.push(sourceKey);
          }
        }
        expect(read.sort()).to.deep.equal(
          all
            .filter(({ state }) => state !== 'final')
            .map(({ sourceKey }) => sourceKey)
            .sort(),
        );
      }),
    );
  });
});
