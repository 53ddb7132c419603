import { expect } from 'chai';
import { AnswerRedaction } from '../../src/service/answer-words.js';

describe('a JSON answer that is read by its words', () => {
  const token = 'canary-token-5d1f7c';
  const readable = (body: string) => new AnswerRedaction(() => [token, 'K1']).readable(body);

  it('stays as it is, byte by byte, where no credential stands in it', () => {
    for (const body of ['{"a" : 12345678901234567890, "b": "\\u00fc K1"}', 'no JSON', '', '{"a":1,"a":2}'])
      expect(readable(body)).to.equal(body);
  });

  it('is free of the credential, however its letters are written', () => {
    const codes = [...token].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    for (const written of [token, codes, Buffer.from(token).toString('base64')])
      expect(JSON.parse(readable(`{"data":[{"no":"INV-${written}","n":7}]}`)).data[0].no).to.match(/^INV-\[secret\]/);
    expect(readable(`no JSON ${token}`)).to.equal('no JSON [secret]');
  });
});
