import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { harmless, redact } from '../../src/model/redact.js';
import { excerptOf } from '../../src/service/answer-words.js';

const token = 'canary/7f3a+9Z==token';

describe('taking secrets out of a text', () => {
  it('finds the token wherever and however often it stands', () => {
    expect(redact(`a ${token} b "${token}"`, [token])).to.equal('a [secret] b "[secret]"');
  });

  it('finds it as JSON and addresses write it', () => {
    const quoted = 'a"b\\c/d e';
    const php = JSON.stringify(quoted).replaceAll('/', '\\/');
    expect(redact(JSON.stringify({ token: quoted }), [quoted])).to.equal('{"token":"[secret]"}');
    expect(redact(php, [quoted])).to.equal('"[secret]"');
    expect(redact(JSON.stringify({ line: JSON.stringify({ token: quoted }) }), [quoted])).to.not.include('c/d');
    expect(redact(`/login?t=${encodeURIComponent(token)}`, [token])).to.equal('/login?t=[secret]');
  });

  const hostile = ['canary+/=&"key', `canary <'\\> ä🚚\n.-_~!key`, '+canary/', '&"canary"&', 'canary(.*)[$^]{1}?|key'];
  const unicode = (text: string, upper: boolean) =>
    text.replace(/[^A-Za-z0-9]/g, (unit) => {
      const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
      return `\\u${upper ? hex.toUpperCase() : hex}`;
    });
  const html = (text: string, by: (code: number) => string) =>
    text.replace(/[^A-Za-z0-9]/gu, (character) => `&${by(character.codePointAt(0) as number)};`);
  const writings: [string, (text: string) => string][] = [
    ['as it is', String],
    ['in JSON', JSON.stringify],
    ['in JSON in JSON', (text) => JSON.stringify(JSON.stringify(text))],
    ['in JSON that escapes slashes', (text) => JSON.stringify(text).replaceAll('/', '\\/')],
    ['in JSON that escapes everything', (text) => unicode(text, true)],
    ['in JSON that escapes everything, in lower case', (text) => unicode(text, false)],
    ['so in JSON in JSON', (text) => JSON.stringify(unicode(text, true))],
    ['in an address', encodeURIComponent],
    ['in an address in lower case', (text) => encodeURIComponent(text).replace(/%../g, (hex) => hex.toLowerCase())],
    ['in an address in an address', (text) => encodeURIComponent(encodeURIComponent(text))],
    ['in a form', (text) => new URLSearchParams([['', text]]).toString().slice(1)],
    ['in HTML', (text) => html(text, (code) => `#${code}`)],
    ['in HTML in hex', (text) => html(text, (code) => `#x${code.toString(16).toUpperCase()}`)],
    [
      'in HTML by name',
      (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
    ],
    ['in base64', (text) => Buffer.from(text).toString('base64')],
    ['in base64 for addresses', (text) => Buffer.from(text).toString('base64url')],
    ['in hexadecimal', (text) => Buffer.from(text).toString('hex')],
    ['in hexadecimal, in capitals', (text) => Buffer.from(text).toString('hex').toUpperCase()],
  ];
  for (const [how, write] of writings)
    it(`finds every character of it ${how}`, () => {
      for (const secret of hostile) {
        const written = write(secret);
        const safe = redact(`before ${written} after`, [secret]);
        expect(safe, written)
          .to.match(/^before "?(\\?")?\[secret\].{0,3}(\\?")?"? after$/)
          .and.not.include('canary');
      }
    });

  it('finds one of any length', () => {
    const bytes = Array.from({ length: 50 }, (_, i) => createHash('sha512').update(`canary ${i}`).digest('base64'));
    const secret = bytes.join('+/=&"ä🚚');
    for (const written of [secret, JSON.stringify(secret), encodeURIComponent(secret), unicode(secret, false)])
      expect(redact(written, [secret]).replaceAll('[secret]', '')).to.match(/^"?"?$/);
    expect(redact('+'.repeat(8_192), ['+'.repeat(8_192)])).to.not.include('+');
  });

  it('takes no time to speak of, whatever the text', () => {
    const before = process.cpuUsage();
    for (const piece of ['\\', '&amp;', '%25', 'canary+', '+'])
      redact(piece.repeat(1_000_000 / piece.length), ['canary+/=&"key', '+/=&"key', `${'+/'.repeat(1_000)}x`]);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000, 'milliseconds of CPU').to.be.below(5_000);
  });

  it('takes them out in base64, whatever stands before and behind', () => {
    for (const before of ['', 'a', 'ab', 'abc', 'waybill:'])
      for (const behind of ['', ' ', ' and so on']) {
        const written = Buffer.from(`${before}${token}${behind}`).toString('base64');
        const safe = redact(written, [token]);
        expect(safe, written).to.include('[secret]');
        const left = safe.split('[secret]').flatMap((part) => [part, `A${part}`, `AA${part}`, `AAA${part}`]);
        for (const part of left) expect(Buffer.from(part, 'base64').toString(), written).to.not.match(/cana|9Z==/);
      }
  });

  it('takes out a private key, also on one line, and where it was cut', () => {
    const key = '-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIB\nabcdefg\n-----END EC PRIVATE KEY-----';
    expect(redact(`a ${key} b`, [])).to.equal('a [secret] b');
    expect(redact(JSON.stringify({ key }), [])).to.equal('{"key":"[secret]"}');
    expect(redact(`a ${key.slice(0, 50)}`, [])).to.equal('a [secret]');
    expect(redact('-----BEGIN PUBLIC KEY-----', [])).to.equal('-----BEGIN PUBLIC KEY-----');
  });

  it('takes out what looks like a credential, though nobody knows it', () => {
    expect(redact('Authorization: Bearer abcdefgh.ijkl-mnop', [])).to.equal('Authorization: Bearer [secret]');
    expect(redact('authorization: basic dXNlcjpwYXNz', [])).to.equal('authorization: basic [secret]');
    expect(redact('the bearer of this is basic', [])).to.equal('the bearer of this is basic');
  });

  it('leaves a text alone in which there is none', () => {
    expect(redact('Müller & Söhne, 12.50 €', [token, ''])).to.equal('Müller & Söhne, 12.50 €');
  });

  it('shows no part of the token in an excerpt, though it stands where the text is cut', () => {
    fc.assert(
      fc.property(fc.integer({ min: 440, max: 520 }), (before) => {
        const excerpt = excerptOf(`${'x'.repeat(before)}${token} and so on`, [token]);
        expect(excerpt).to.not.include('canary');
        expect(excerpt.length).to.be.at.most(500);
      }),
    );
  });

  it('keeps control characters from the terminal of the reader, but not the line breaks', () => {
    expect(excerptOf('a\u001b[31mb\u0000\r\n\tc\u009b', [])).to.equal('a [31mb  \n\tc ');
  });

  it('shows what would stand unseen in a text, and leaves the joiners of writings and emoji', () => {
    expect(harmless('K\u200b1\u2060\ufeff')).to.equal('K\\u200b1\\u2060\\ufeff');
    const joined = '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u{1f468}\u200d\u{1f469}';
    expect(harmless(joined)).to.equal(joined);
  });
});
