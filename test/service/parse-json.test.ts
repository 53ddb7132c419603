import { expect } from 'chai';
import fc from 'fast-check';
import { isDecimal, whyNoAmount } from '../../src/service/amount.js';
import { parseJson } from '../../src/service/parse-json.js';

const withoutRounded = (_: string, value: unknown) =>
  Number.isInteger(value) && !Number.isSafeInteger(value) ? 0 : value;

describe('JSON from the service', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

  it('is what JSON.parse reads, where nothing is repeated or rounded', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(2), (value, indent) => {
        const json = JSON.stringify(value, withoutRounded, indent);
        expect(parseJson(json)).to.deep.equal(JSON.parse(json));
        expect(parseJson(`\uFEFF${json}`)).to.deep.equal(JSON.parse(json));
      }),
      { numRuns: 2_000 },
    );
  });

  it('is undefined for whatever is no JSON', () => {
    for (const text of [
      '',
      'x',
      '{',
      '{"a":1,}',
      '{"a":1} x',
      "{'a':1}",
      '01',
      '1.',
      'NaN',
      '[1,]',
      '"\t"',
      'undefined',
    ])
      expect(parseJson(text), text).to.equal(undefined);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const value = parseJson(text);
        if (value !== undefined) JSON.parse(text.replace(/^\uFEFF/, ''));
      }),
      { numRuns: 2_000 },
    );
  });

  const numbers: [string, unknown][] = [
    ['12345678901234567890', '12345678901234567890'],
    ['-12345678901234567890', '-12345678901234567890'],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993.0', '9007199254740993.0'],
    ['1.0000000000000000001', '1.0000000000000000001'],
    ['1e400', '1e400'],
    ['1e-400', '1e-400'],
    ['1300', 1300],
    ['0', 0],
    ['0.000', 0],
    ['0.1', 0.1],
    ['1.5e3', 1500],
    ['19.99', 19.99],
  ];
  for (const [written, read] of numbers)
    it(`reads ${written} as ${JSON.stringify(read)}`, () => {
      expect(parseJson(written)).to.equal(read);
      expect(parseJson(`{"id": ${written} ,"text":"${written}"}`)).to.deep.equal({ id: read, text: written });
      expect(parseJson(`[[${written}],${written}]`)).to.deep.equal([[read], read]);
    });

  const isAmount = (name: string) => name === 'amount';
  const decimals = ['1200.0', '15.50', '0.0', '-0.0', '12e2', '1.2E+3', '1200.00'];
  for (const written of decimals)
    it(`keeps an amount of ${written} as it is written, and no other number`, () => {
      const text = `{"amount":${written},"qty":${written},"list":[{"a\\u006dount": ${written}, "x": 1200}]}`;
      expect(parseJson(text, isAmount)).to.deep.equal({
        amount: written,
        qty: Number(written),
        list: [{ amount: written, x: 1200 }],
      });
    });

  it('never makes a whole number of an amount that is not written as one', () => {
    const literal = fc
      .tuple(
        fc.integer(),
        fc.option(fc.stringMatching(/^\.\d{1,6}$/), { nil: '' }),
        fc.option(fc.stringMatching(/^[eE][+-]?\d{1,2}$/), { nil: '' }),
      )
      .map(([whole, fraction, exponent]) => `${whole}${fraction}${exponent}`);
    const space = fc.constantFrom('', ' ', '\n');
    fc.assert(
      fc.property(literal, space, fc.nat(3), (written, gap, more) => {
        const rows = Array.from({ length: more }, (_, at) => `{"id":"${at}"},`).join('');
        const page = parseJson(`{"data":[${rows}{"amount":${gap}${written}}]}`, isAmount) as {
          data: { amount: unknown }[];
        };
        const { amount } = page.data[more] as { amount: unknown };
        expect(isDecimal(amount)).to.equal(/[.eE]/.test(written));
        expect(whyNoAmount(amount, 'amount') === null).to.equal(/^-?\d+$/.test(written));
      }),
      { numRuns: 3_000 },
    );
  });

  it('keeps every digit of a whole number, whatever its size', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), (number) => {
        expect(String(parseJson(String(number)))).to.equal(String(number));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is none when one object has a name twice, however it is written', () => {
    for (const text of [
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '[{"b":{"c":[],"c":{}}}]',
      '{"a":{"x":1},"b":[{}],"a":2}',
      '{"":1,"":2}',
    ])
      expect(parseJson(text), text).to.equal(undefined);
    for (const text of ['[{"a":1},{"a":2}]', '{"a":{"a":{"a":1}}}', '{"a":"b","b":"a"}', '["a","a",{"a":["a"]}]'])
      expect(parseJson(text), text).to.deep.equal(JSON.parse(text));
  });

  it('reads what is long or deep', () => {
    for (const text of [
      `"${'x'.repeat(5_000_000)}"`,
      `"${'\\\\\\"'.repeat(1_000_000)}"`,
      `{"a":"${'\\\\'.repeat(1_000_000)}"}`,
    ])
      expect(parseJson(text)).to.deep.equal(JSON.parse(text));
    expect(parseJson(nested(100))).to.be.an('array');
  });

  it('is none when it is nested so deep that code which walks through it would run out of stack', () => {
    for (const depth of [101, 10_000, 200_000]) expect(parseJson(nested(depth)), String(depth)).to.equal(undefined);
    expect(parseJson(`{"data":[{"a":${nested(200_000)}}],"total":1}`)).to.equal(undefined);
  });
});
