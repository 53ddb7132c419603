import { expect } from 'chai';
import fc from 'fast-check';
import { errorBodySettings } from '../../src/config/sections/service-answers.js';
import { errorBody } from '../../src/service/answer-words.js';

const read = (body: string) => errorBody(body);

const cases: [string, unknown, string | null, string][] = [
  [
    'problem+json',
    { type: 'https://example.com/out-of-stock', title: 'Out of stock', status: 409, detail: 'SKU A-1 is gone' },
    'https://example.com/out-of-stock',
    'SKU A-1 is gone',
  ],
  ['problem+json with a title only', { type: 'about:blank', title: 'Not Found' }, 'about:blank', 'Not Found'],
  ['a nested error', { error: { code: 'bad_sku', message: 'no such SKU' } }, 'bad_sku', 'no such SKU'],
  ['a code that is a number', { error: { code: 1042, message: 'no such SKU' } }, '1042', 'no such SKU'],
  ['a code beside the error', { code: 'E7', error: { message: 'no' } }, 'E7', 'no'],
  ['a message', { message: 'no such SKU' }, null, 'no such SKU'],
  [
    'OAuth',
    { error: 'invalid_grant', error_description: 'the token has expired' },
    'invalid_grant',
    'the token has expired',
  ],
  ['an error in a word', { error: 'nope' }, 'nope', 'nope'],
  ['a list of texts', { errors: ['a', 'b'] }, null, 'a; b'],
  [
    'a list of fields',
    {
      errors: [
        { field: 'note', message: 'is too long', code: 'E9' },
        { field: 'sku', message: 'is unknown' },
      ],
    },
    'E9',
    'note: is too long; sku: is unknown',
  ],
  [
    'lists by field',
    { errors: { note: ['is too long', 'is odd'], sku: 'is unknown' } },
    null,
    'note: is too long; is odd; sku: is unknown',
  ],
  [
    'problem+json with its invalid fields',
    { type: 'about:blank', title: 'Bad', detail: 'Not valid', 'invalid-params': [{ name: 'qty', reason: 'is 0' }] },
    'about:blank',
    'Not valid (qty: is 0)',
  ],
  [
    'a nested error with its fields',
    { error: { code: 'invalid', message: 'Not valid', details: [{ path: 'items.0.sku', message: 'is unknown' }] } },
    'invalid',
    'Not valid (items.0.sku: is unknown)',
  ],
  ['more fields than anybody reads', { errors: [1, 2, 3, 4, 5, 6, 7].map(String) }, null, '1; 2; 3; 4; 5; 2 more'],
  [
    'a code with more digits than a number has',
    '{"code":12345678901234567890,"message":"no"}',
    '12345678901234567890',
    'no',
  ],
  ['an object of another shape', { result: ['a', 'b'] }, null, '{"result":["a","b"]}'],
  ['letters that turn the line around', { message: 'abc\u202edef' }, null, 'abc def'],
  ['text', 'Something  went\r\n\twrong ', null, 'Something went wrong'],
  [
    'HTML',
    '<!DOCTYPE html><html><head><style>p{color:red}</style><script>alert(1)</script></head><body><h1>502</h1>\n<p>Bad gateway</p>',
    null,
    '502 Bad gateway',
  ],
  ['nothing', '', null, ''],
  ['a number', '17', null, '17'],
  [
    'colours for a terminal',
    { error: { code: '\u001b[31mred', message: 'a\u001b[2Jb\u0000c' } },
    '[31mred',
    'a [2Jb c',
  ],
];

describe('the reason in an error body', () => {
  for (const [title, body, code, message] of cases) {
    it(`is read from ${title}`, () => {
      expect(read(typeof body === 'string' ? body : JSON.stringify(body))).to.deep.include({ code, message });
    });
  }

  it('is one printable line of bounded length, whatever comes', () => {
    const text = fc.string({ unit: 'binary', maxLength: 2_000 });
    const body = fc.oneof(
      text,
      fc.json(),
      text.map((message) => JSON.stringify({ error: { code: message, message } })),
      fc
        .record({
          type: fc.jsonValue(),
          code: fc.jsonValue(),
          error: fc.jsonValue(),
          message: fc.jsonValue(),
          errors: fc.jsonValue(),
        })
        .map((value) => JSON.stringify(value)),
      text.map((inner) => `<html>${inner}`),
    );
    fc.assert(
      fc.property(body, (received) => {
        const { code, message } = read(received);
        for (const part of [code ?? '', message]) {
          expect(part.length).to.be.at.most(300);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there
          expect(part).to.not.match(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\p{Surrogate}]/u);
        }
      }),
      { numRuns: 3_000 },
    );
  });

  it('is looked for where the profile says', () => {
    const body = JSON.stringify({
      fault: { no: 17, says: ['skip', 'no such SKU'], which: { sku: 'A-1' } },
      message: 'x',
    });
    const odd = errorBodySettings.parse({ code: ['fault.no'], message: ['fault.says.1'], details: ['fault.which'] });
    expect(errorBody(body, odd)).to.deep.include({ code: '17', message: 'no such SKU (sku: A-1)' });
    expect(read(body)).to.deep.include({ code: null, message: 'x' });
  });

  it('is read however deep it is nested, which would take more stack than there is', () => {
    const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    const { code, message } = read(`{"message":"wrong","errors":${nested}}`);
    expect(code).to.equal(null);
    expect(message).to.match(/^\{"message":"wrong"/);
    const within = `${'['.repeat(90)}"too long"${']'.repeat(90)}`;
    expect(read(`{"message":"wrong","errors":${within}}`).message).to.equal('wrong (too long)');
  });

  it('takes no time to speak of, however large and hostile the body is', () => {
    const started = performance.now();
    for (const piece of ['<script>', '<', ' ', '<html><', '{"a":', '\u0000'])
      read(`<html>${piece.repeat(1_000_000 / piece.length)}`);
    // Without a bound these take minutes.
    expect(performance.now() - started).to.be.below(5_000);
  });
});
