import { expect } from 'chai';
import { legacy } from '../../src/model/facts/fact.js';
import type { FoundRecord } from '../../src/model/verdict.js';
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
    expect(readable(`{"a":{"for ${token}":7}}`)).to.equal('{"a":{"for [secret]":7}}');
  });

  it('binds no record to an id that holds the credential, and keeps none of what is shown besides', () => {
    const redaction = new AnswerRedaction(() => [token]);
    const found: FoundRecord = {
      kind: 'found',
      serviceId: 'c1',
      total: null,
      differs: [],
      shown: { name: `Jo ${token}` },
    };
    expect(redaction.verdict(found, [], 200)).to.deep.equal({ ...found, shown: { name: 'Jo [secret]' } });
    for (const serviceId of [token, 'c-[secret]']) {
      expect(redaction.verdict({ ...found, serviceId }, [], 200)).to.include({ kind: 'odd' });
      const existing = { ...found, serviceId };
      const conflict = { kind: 'conflict', what: 'already_exists', reason: legacy('there'), existing } as const;
      expect(redaction.verdict(conflict, [], 409)).to.deep.equal({
        kind: 'conflict',
        what: 'already_exists',
        reason: legacy('there'),
      });
    }
  });
});
