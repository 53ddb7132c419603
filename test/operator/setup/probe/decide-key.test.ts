import { expect } from 'chai';
import fc from 'fast-check';
import { keyPlaces } from '../../../../src/operator/setup/probe/ask-key.js';
import { decideKey, judgeTrial } from '../../../../src/operator/setup/probe/decide-key.js';
import type { Evidence, KeyTrial, ProbeEvidence } from '../../../../src/operator/setup/probe/evidence.js';
import { tellFinding } from '../../../../src/telling/probe-proposal.js';
import { tell } from '../../../../src/words/words.js';
import { answered, unanswered } from './evidence-of.js';

const place = { in: 'header', name: 'Idempotency-Key', quoted: false } as const;
const made = (id: string | number, status = 201) => answered(status, { order_id: id });
const refused = (status: number, code: string) => answered(status, { error: { code, message: `It is ${code}` } });
const trial = (first: Evidence, again?: Evidence, otherKey?: Evidence): KeyTrial => ({
  place,
  first,
  ...(again && { again }),
  ...(otherKey && { otherKey }),
});

const found = (more: Partial<ProbeEvidence>) => {
  const order = made('o-1');
  const evidence: ProbeEvidence = {
    own: [],
    trials: [trial(order, made('o-1'))],
    order,
    atOnce: [],
    reads: [],
    changes: [],
    removals: [],
    throttled: [],
    ...more,
  };
  return new Map(decideKey(evidence).map((finding) => [tell(finding.point), tellFinding(finding)]));
};

describe('what a probe finds out about the key', () => {
  describe('judges a place of the key', () => {
    const cases: [string, KeyTrial, string][] = [
      ['the same order again', trial(made('o-1'), made('o-1')), 'replayed'],
      ['the same order again, with another status', trial(made('o-1'), made('o-1', 200)), 'replayed'],
      ['the same order, whatever the key', trial(made('o-1'), made('o-1'), made('o-1')), 'ignored'],
      ['the same order again, and another one by another key', trial(made(1), made(1), made(2)), 'replayed'],
      ['an id that is a number', trial(made(7), made(7)), 'replayed'],
      ['a second order', trial(made('o-1'), made('o-2')), 'ignored'],
      ['a refusal for want of a key', trial(refused(400, 'no_key')), 'not taken'],
      ['a repeat that is refused for its key', trial(made('o-1'), refused(409, 'dup'), made('o-2')), 'refused'],
      ['an order known by its content', trial(made('o-1'), refused(409, 'dup'), refused(409, 'dup')), 'ignored'],
      ['a repeat that is refused, and nothing else', trial(made('o-1'), refused(409, 'dup')), 'ignored'],
      ['answers without an id', trial(answered(201, { ok: true }), answered(201, { ok: true })), 'unclear'],
      ['a repeat without an answer', trial(made('o-1'), unanswered('reset')), 'unclear'],
      ['an error of the service', trial(answered(500, 'oops'), made('o-1')), 'unclear'],
      ['too many requests', trial(answered(429, '')), 'unclear'],
    ];
    for (const [name, tried, verdict] of cases)
      it(`${name}: ${verdict}`, () => {
        expect(judgeTrial(tried)).to.equal(verdict);
      });

    it('as recognised only where one id came twice, or where the key alone made the difference', () => {
      const status = fc.constantFrom(200, 201, 400, 409, 422, 429, 500, 503);
      const answer = fc
        .tuple(status, fc.constantFrom('a', 'b', null))
        .map(([code, id]) => answered(code, { order_id: id }));
      fc.assert(
        fc.property(answer, answer, fc.option(answer, { nil: undefined }), (first, again, otherKey) => {
          const verdict = judgeTrial(trial(first, again, otherKey));
          const id = (one: Evidence) => JSON.parse(one.answer?.body ?? '{}').order_id;
          if (verdict === 'replayed') expect(id(again)).to.equal(id(first)).and.not.equal(null);
          if (verdict === 'refused') expect(otherKey?.answer?.status).to.be.lessThan(300);
        }),
      );
    });
  });

  it('says of every point what to ask where nothing was found', () => {
    const [only, ...more] = decideKey({
      own: [],
      trials: [trial(made('o-1'), made('o-2'))],
      atOnce: [],
      reads: [],
      changes: [],
      removals: [],
      throttled: [],
    });
    expect(more).to.deep.equal([]);
    expect(only?.settings).to.deep.equal({});
    expect(only && tellFinding(only).ask).to.contain('In which header or field');
  });

  it('warns of a repeat with another status, because one status means success', () => {
    const order = made('o-1');
    const repeat = found({ order, trials: [trial(order, made('o-1', 200))] }).get('same key and body twice');
    expect(repeat?.found).to.contain('with status 200');
    expect(repeat?.ask).to.contain('201');
  });

  it('takes no other body for compared that made a second record', () => {
    const other = found({ otherBody: made('o-9') }).get('same key, another body');
    expect(other?.settings).to.deep.equal({});
    expect(other?.ask).to.not.equal(null);
  });

  it('says loudly that two at once made two records', () => {
    const pair = found({ atOnce: [[made('o-2'), made('o-3')]] }).get('same key twice at once');
    expect(pair?.found).to.contain('two records');
    expect(pair?.ask).to.contain('service.concurrency');
  });

  it('notices that a change writes its key over that of the create', () => {
    const inBody = { in: 'body', name: 'reference' } as const;
    const order = made('o-1');
    const keyOf = (read: unknown) => {
      const asked = {
        method: 'PATCH',
        path: '/v1/orders/o-1',
        body: JSON.stringify({ note: 'new', reference: 'key-2' }),
      };
      const patch = { done: { ...made('o-1', 200), asked } as Evidence, read: answered(200, read) };
      const changes = [{ entity: 'order' as const, changed: 'new', kept: 'K1', patch }];
      const trials = [{ ...trial(order, made('o-1')), place: inBody }];
      return found({ order, trials, changes }).get('key in the record')?.settings;
    };
    expect(keyOf({ order_id: 'o-1', reference: 'key-2' })).to.deep.equal({ 'service.idempotency.keptInRecord': true });
    expect(keyOf({ order_id: 'o-1', reference: 'key-1' })).to.equal(undefined);
    expect(keyOf({ order_id: 'o-1' })).to.equal(undefined);
  });

  describe('calls refusals remembered', () => {
    const no = refused(400, 'invalid');
    const point = (more: Partial<ProbeEvidence>) =>
      found(more).get('refusals')?.settings['service.idempotency.replaysRefusals'];

    it('where one kind of them is, whatever the other is', () => {
      const missing = refused(404, 'unknown_customer');
      expect(
        point({
          invalid: { refused: no, corrected: made('o-2') },
          unknownCustomer: { refused: missing, again: missing },
        }),
      ).to.equal(true);
      expect(point({ invalid: { refused: no, corrected: made('o-2') } })).to.equal(false);
    });

    it('where the corrected record is told that its key was used', () => {
      expect(point({ invalid: { refused: no, corrected: refused(422, 'key_reused') } })).to.equal(true);
    });

    it('and says nothing where no create was refused, or its repeat had no answer', () => {
      expect(point({})).to.equal(undefined);
      expect(point({ invalid: { refused: made('o-2'), corrected: made('o-2') } })).to.equal(undefined);
      expect(point({ invalid: { refused: no, corrected: unanswered('reset') } })).to.equal(undefined);
    });
  });

  it('tries what the settings say first, then what a person names, each once', () => {
    const configured = { in: 'header', header: 'X-Key', field: 'key', quoted: true } as const;
    const places = keyPlaces(configured, { headers: ['X-Mine', 'x-key'], fields: ['mine'] });
    expect(places.slice(0, 3)).to.deep.equal([
      { in: 'header', name: 'X-Key', quoted: false },
      { in: 'header', name: 'X-Mine', quoted: false },
      { in: 'body', name: 'mine' },
    ]);
    expect(places).to.deep.include({ in: 'header', name: 'X-Key', quoted: true });
    expect(new Set(places.map((one) => JSON.stringify(one).toLowerCase()))).to.have.property('size', places.length);
  });
});
