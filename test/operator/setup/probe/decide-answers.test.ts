import { expect } from 'chai';
import fc from 'fast-check';
import { usualErrorPlaces } from '../../../../src/model/verdict.js';
import {
  decideAcknowledgement,
  orderIdPlace,
  orderIdPlaces,
} from '../../../../src/operator/setup/probe/decide-acknowledgement.js';
import {
  decideErrors,
  decideSlowDown,
  unusualErrorPlaces,
} from '../../../../src/operator/setup/probe/decide-errors.js';
import { recognise } from '../../../../src/operator/setup/probe/decide-special-answers.js';
import type { Evidence, ProbeEvidence } from '../../../../src/operator/setup/probe/evidence.js';
import { errorBody } from '../../../../src/service/answer-words.js';
import { matchesAnswer } from '../../../../src/service/judge.js';
import { tellFinding } from '../../../../src/telling/probe-proposal.js';
import { answered } from './evidence-of.js';

const nothing: ProbeEvidence = { own: [], trials: [], atOnce: [], reads: [], changes: [], removals: [], throttled: [] };

describe('what a probe makes of answers', () => {
  describe('looks for code and message of an error', () => {
    const cases: [string, unknown[], { code: string[]; message: string[] } | null][] = [
      ['the usual places', [{ error: { code: 'a', message: 'It is wrong' } }], null],
      ['a message without a code', [{ message: 'It is wrong' }], null],
      ['no JSON', [undefined, undefined], null],
      [
        'places of its own',
        [
          { fault: { no: 'E1', text: 'It is wrong' }, trace: 'x1' },
          { fault: { no: 'E2', text: 'It is gone' }, trace: 'x2' },
        ],
        { code: ['fault.no'], message: ['fault.text'] },
      ],
      [
        'a status in the body, which is no code',
        [{ result: { text: 'It is wrong', http: 400 } }, { result: { text: 'It is gone', http: 404 } }],
        { code: [], message: ['result.text'] },
      ],
      ['words in no place', [{ ok: false }], null],
    ];
    for (const [name, bodies, places] of cases)
      it(name, () => {
        expect(unusualErrorPlaces(bodies)).to.deep.equal(places);
      });
  });

  describe('tells an answer from others', () => {
    const said = (status: number, code: string | null, message: string) =>
      answered(status, { ...(code && { code }), message });

    it('by its code', () => {
      expect(
        recognise(said(409, 'dup', 'It exists'), [said(409, 'wait', 'It runs')], usualErrorPlaces, []),
      ).to.deep.equal({
        status: 409,
        code: 'dup',
      });
    });

    it('by its words where others have its code, without the words that are ours', () => {
      const one = said(404, 'not_found', 'There is no customer PROBE-1');
      const others = [said(404, 'not_found', 'There is nothing here')];
      expect(recognise(one, others, usualErrorPlaces, ['PROBE-1'])).to.deep.equal({
        status: 404,
        pattern: 'There.is.no.customer',
      });
    });

    it('never by its status alone', () => {
      expect(recognise(answered(409, ''), [], usualErrorPlaces, [])).to.equal(null);
      const one = said(404, 'not_found', 'Not there');
      expect(recognise(one, [said(404, 'not_found', 'Not there')], usualErrorPlaces, [])).to.equal(null);
    });

    it('in words of any language, as they stand in the body', () => {
      expect(recognise(said(404, null, 'Kunde für PROBE-1 fehlt'), [], usualErrorPlaces, ['PROBE-1'])).to.deep.equal({
        status: 404,
        pattern: 'Kunde.für',
      });
    });

    it('so that the pattern finds it, and none of the others', () => {
      const text = fc.string({ unit: 'grapheme', maxLength: 400 });
      const refusal = fc
        .tuple(fc.constantFrom(404, 409), text, text)
        .map(([status, code, message]) => said(status, code, message));
      fc.assert(
        fc.property(
          refusal,
          fc.array(refusal, { maxLength: 4 }),
          fc.array(text, { maxLength: 3 }),
          (one, others, own) => {
            const pattern = recognise(one, others, usualErrorPlaces, own);
            if (pattern === null) return;
            const fits = ({ answer }: Evidence) =>
              answer !== null && matchesAnswer([pattern], { status: answer.status, ...errorBody(answer.body) });
            expect(fits(one)).to.equal(true);
            expect(others.some(fits)).to.equal(false);
          },
        ),
      );
    });
  });

  describe('reads Retry-After', () => {
    const cases: [string, Record<string, string>, string][] = [
      ['seconds', { 'retry-after': '7' }, 'in seconds'],
      ['a date', { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, 'as a date'],
      ['nothing', {}, 'is absent'],
      ['anything else', { 'retry-after': 'soon' }, 'neither'],
    ];
    for (const [name, headers, words] of cases)
      it(name, () => {
        const finding = tellFinding(decideSlowDown({ ...nothing, throttled: [answered(429, '', undefined, headers)] }));
        expect(finding.found).to.contain(words);
        expect(finding.ask).to.equal(null);
      });

    it('and asks where the service never said "slow down"', () => {
      expect(tellFinding(decideSlowDown(nothing)).ask).to.contain('--burst');
    });
  });

  it('takes no other status for the one that was asked for', () => {
    const errors = decideErrors({ ...nothing, wrongCredential: answered(404, { message: 'Nothing here' }) });
    expect(errors.find(({ point }) => point.code === 'probe_of_401')?.ask).to.not.equal(null);
  });

  describe('finds an acknowledgement', () => {
    const orderRecord = { customer_code: 'P-1', note: 'P-2', items: [{ sku: 'A', qty: 3, price: 5 }] };
    const settingsOf = (body: unknown, reads: ProbeEvidence['reads'] = []) =>
      decideAcknowledgement({ ...nothing, order: answered(201, body), orderRecord, reads }).map(tellFinding)[0];

    it('whose id is not the value that we sent, nor the total', () => {
      expect(
        orderIdPlaces({ customer_code: 'P-1', ref_no: 'P-2', number: 4711, id: 'x' }, ['P-1', 'P-2']),
      ).to.deep.equal(['id', 'number']);
    });

    const read = (place: string, shown: Evidence) => ({ entity: 'order', place, read: shown }) as const;
    const body = { id: 'internal', number: 'SO-1', state: 'new', sum: 15, created: '2026-11-23T10:00:00Z' };

    it('by the name that leads to the order where several may be the id', () => {
      const reads = [read('id', answered(404, {})), read('number', answered(200, { note: 'P-2' }))];
      expect(settingsOf(body, reads)?.settings).to.include({
        'service.acknowledgement.orderId': 'number',
        'service.acknowledgement.orderTotal': 'sum',
        'service.acknowledgement.orderState': 'state',
        'service.acknowledgement.orderCreatedAt': 'created',
      });
    });

    it('but not by an id that leads to an order of somebody else, which would be changed and removed', () => {
      const reads = [read('id', answered(200, { id: 'internal', note: 'SO-1', total: 990 }))];
      const finding = settingsOf(body, reads);
      expect(finding?.settings).to.not.have.property('service.acknowledgement.orderId');
      expect(finding?.ask).to.contain('id');
      expect(orderIdPlace({ ...nothing, order: answered(201, body), orderRecord, reads })).to.equal(undefined);
    });

    it('by its name alone where orders can not be read, and only where no other field may be it', () => {
      const place = (shown: object) =>
        orderIdPlace({ ...nothing, order: answered(201, shown), orderRecord, reads: [] });
      expect(place({ order_id: 'x', number: 'y' })).to.equal('order_id');
      expect(place({ number: 'y' })).to.equal('number');
      expect(place({ id: 'x', number: 'y' })).to.equal(undefined);
    });

    it('and says what is missing', () => {
      const finding = settingsOf({ id: 'x', total: '0.15' });
      expect(finding?.ask).to.contain('total, time of creation, state');
      expect(finding?.settings).to.include({ 'service.checkTotal': 'off' });
      expect(finding?.found).to.contain('by its name alone');
    });
  });
});
