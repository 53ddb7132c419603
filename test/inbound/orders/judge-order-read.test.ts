import { expect } from 'chai';
import fc from 'fast-check';
import { judgeOrderRead } from '../../../src/inbound/orders/read-order.js';
import type { OrderReading } from '../../../src/outbound/outbox/binding-holders.js';

type OrderCircumstances = Parameters<typeof judgeOrderRead>[2];
const never: OrderReading = { state: 'open', status: null, total: null, flag: null };
const known: OrderReading = { state: 'open', status: 'confirmed', total: 100, flag: null };
const usual: OrderCircumstances = { finalStates: ['completed'], expectedTotal: 100n, isMoving: false };
const flag = { code: 'total_differs', found: 7, expected: '100' } as const;

describe('what reading an order back means', () => {
  const cases: [string, OrderReading, Parameters<typeof judgeOrderRead>[1], Partial<OrderCircumstances>, object][] = [
    ['the first reading is news', never, { status: 'confirmed', total: 100 }, {}, { reading: known, news: ['status'] }],
    ['the same again is none', known, { status: 'confirmed', total: 100 }, {}, { reading: known, news: [] }],
    [
      'a final state is read no more',
      known,
      { status: 'completed', total: 100 },
      {},
      { reading: { ...known, status: 'completed', state: 'final' }, news: ['status'] },
    ],
    [
      'another total is flagged',
      known,
      { status: 'confirmed', total: 7 },
      {},
      { reading: { ...known, total: 7, flag }, news: ['total'] },
    ],
    [
      'a flag is told once',
      { ...known, total: 7, flag },
      { status: 'confirmed', total: 7 },
      {},
      { reading: { ...known, total: 7, flag }, news: [] },
    ],
    [
      'a total that is not compared is kept',
      known,
      { status: 'confirmed', total: 7 },
      { expectedTotal: null },
      { reading: { ...known, total: 7 }, news: ['total'] },
    ],
    [
      'a total says nothing while a change of ours may have taken effect',
      known,
      { status: 'confirmed', total: 7 },
      { isMoving: true },
      { reading: { ...known, total: 7 }, news: ['total'] },
    ],
    [
      'an answer without a total lifts the flag',
      { ...known, total: 7, flag },
      { status: 'confirmed', total: null },
      {},
      { reading: { ...known, total: null }, news: ['total'] },
    ],
    [
      'absence keeps what was said before',
      known,
      { isAbsent: true },
      {},
      { reading: { ...known, state: 'gone' }, news: ['gone'] },
    ],
    [
      'absence is told once',
      { ...known, state: 'gone' },
      { isAbsent: true },
      {},
      { reading: { ...known, state: 'gone' }, news: [] },
    ],
    [
      'absence says nothing while a removal of ours may have taken effect',
      known,
      { isAbsent: true },
      { isMoving: true },
      { reading: known, news: [] },
    ],
    [
      'what is there again is news',
      { ...known, state: 'gone' },
      { status: 'confirmed', total: 100 },
      {},
      { reading: known, news: ['back'] },
    ],
  ];
  for (const [title, before, shown, more, expected] of cases)
    it(title, () => expect(judgeOrderRead(before, shown, { ...usual, ...more })).to.deep.equal(expected));

  it('is told once, whatever it is, and keeps the words of the service', () => {
    const reading = fc.record({
      state: fc.constantFrom('open', 'final', 'gone'),
      status: fc.option(fc.string({ minLength: 1 })),
      total: fc.option(fc.maxSafeInteger()),
      flag: fc.option(fc.constant(flag)),
    }) as unknown as fc.Arbitrary<OrderReading>;
    const shown = fc.oneof(
      fc.constant({ isAbsent: true as const }),
      fc.record({ status: fc.string({ minLength: 1 }), total: fc.option(fc.maxSafeInteger()) }),
    );
    const circumstances = fc.record({
      finalStates: fc.array(fc.string({ minLength: 1 })),
      expectedTotal: fc.option(fc.bigInt({ min: 0n, max: 10n ** 12n })),
      isMoving: fc.boolean(),
    });
    fc.assert(
      fc.property(reading, shown, circumstances, (before, answer, around) => {
        const once = judgeOrderRead(before, answer, around);
        expect(judgeOrderRead(once.reading, answer, around)).to.deep.equal({ reading: once.reading, news: [] });
        if (!('isAbsent' in answer)) expect(once.reading).to.include(answer);
        else expect([before.status, before.total]).to.deep.equal([once.reading.status, once.reading.total]);
      }),
    );
  });
});
