import { expect } from 'chai';
import { serviceSettings } from '../../src/config/sections/service.js';
import { Unusable } from '../../src/model/verdict.js';
import { acknowledgementPlaces, readOrderAnswer } from '../../src/service/acknowledgement.js';
import { parseAnswer } from '../../src/service/judge.js';
import { told } from '../support/told.js';

const { acknowledgement: whole } = serviceSettings.parse({ environment: 'sandbox', baseUrl: 'https://x.example.com' });
const places = { orderId: 'order_id', orderState: 'status', orderTotal: 'total' };
const read = (value: unknown, checkTotal: 'exact' | 'off' = 'exact') =>
  readOrderAnswer(
    { acknowledgement: places, checkTotal },
    'o-1',
    typeof value === 'string' ? parseAnswer(acknowledgementPlaces(whole, 'order'), value) : value,
  );

const problemOf = (answer: unknown) => (answer instanceof Unusable ? answer.problem : answer);

describe('the answer to the question for one order', () => {
  it('says status and total, in the words of the service, with or without a total', () => {
    expect(read({ order_id: 'o-1', status: 'Đã giao', total: 12, more: 1 })).to.deep.equal({
      status: 'Đã giao',
      total: 12,
    });
    for (const total of [null, undefined])
      expect(read({ order_id: 'o-1', status: 'x', total })).to.deep.equal({ status: 'x', total: null });
    const nested = { orderId: 'data.id', orderState: 'data.state', orderTotal: 'data.sum' };
    expect(
      readOrderAnswer({ acknowledgement: nested, checkTotal: 'exact' }, '7', { data: { id: 7, state: 'x', sum: -3 } }),
    ).to.deep.equal({
      status: 'x',
      total: -3,
    });
  });

  const wrong: [string, unknown, RegExp][] = [
    ['no JSON', '<html>', /no JSON object/],
    ['a list', [], /no JSON object/],
    ['no id', { status: 'x', total: 1 }, /names no id/],
    ['another order', { order_id: 'o-2', status: 'x' }, /about o-2, not o-1/],
    ['no status', { order_id: 'o-1', total: 1 }, /^status /],
    ['an empty status', { order_id: 'o-1', status: '' }, /^status /],
    ['a status that is no text', { order_id: 'o-1', status: 'a\u0000b' }, /no text/],
    ['a total that is no whole number', { order_id: 'o-1', status: 'x', total: 1.5 }, /^total: /],
    [
      'a total that no number holds',
      '{"order_id":"o-1","status":"x","total":9007199254740993}',
      /^total is no whole number/,
    ],
  ];
  for (const [title, value, reason] of wrong)
    it(`counts for nothing with ${title}`, () => expect(told(problemOf(read(value)))).to.match(reason));

  for (const total of ['20.50', '20.0', '2050.0', '2.05e3', '"20.50"'])
    it(`takes a total of ${total} for none in the smallest unit, and for none at all where totals are not checked`, () => {
      const text = `{"order_id":"o-1","status":"x","total":${total}}`;
      expect(told(problemOf(read(text)))).to.match(
        /^total: [^ ]+ has a decimal point or an exponent.*service\.checkTotal: off/,
      );
      expect(read(text, 'off')).to.deep.equal({ status: 'x', total: null });
    });
});
