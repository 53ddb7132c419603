import { expect } from 'chai';
import type { FoundRecord } from '../../../src/model/verdict.js';
import { decideLookUp, mostAbsences } from '../../../src/outbound/deliver/settle-look-ups.js';
import { told } from '../../support/told.js';

const settings = { absenceProves: false, checkTotal: 'exact' as const, maxProcessingMs: 300_000 };
const at = (ms: number) => ({ bootId: 'a', bootMs: ms, wallMs: ms });
/** One look-up has found nothing after the wait, and now is the time of the second one. */
const absence = { doubt: { ended: at(0), absent: at(300_000) }, askedAt: at(330_000) };
const young = {
  absences: 0,
  isForgotten: true,
  othersPass: false,
  wasSent: 1,
  firstSentAt: 1_000_000_000,
  isFoundByKey: false,
  isAskedByKey: false,
  isFromBeforeLoss: false,
};
const doubt = { ...young, entity: 'order' as const, cause: 'in_doubt' as const, expectedTotal: 100n, ...absence };
const conflict = { ...young, entity: 'order' as const, cause: 'conflict' as const, expectedTotal: null, ...absence };
const found = { kind: 'found' as const, serviceId: 'o1', total: 100, differs: [] as string[], shown: {} };

describe('what follows from a look-up', () => {
  it('one exact match is a delivery, flagged for review, its total compared', () => {
    expect(decideLookUp(doubt, found, settings)).to.deep.equal({
      to: 'delivered',
      serviceId: 'o1',
      flag: { code: 'found_by_look_up', differs: [], count: 0 },
      contentKnown: true,
      total: 100,
      unlike: null,
    });
    expect(decideLookUp(doubt, { ...found, total: 99 }, { ...settings, checkTotal: 'off' })).to.deep.include({
      flag: { code: 'found_by_look_up', differs: [], count: 0 },
    });
  });

  it('another total or another customer proves nothing: numbers of orders repeat', () => {
    const total = decideLookUp(doubt, { ...found, total: 99 }, settings);
    expect(total).to.deep.include({ to: 'parked', parkClass: 'unproven' });
    expect(total).to.have.deep.property('reason', {
      code: 'found_with_other_total',
      serviceId: 'o1',
      found: 99,
      expected: '100',
    });
    const differs = ['customer_code'];
    for (const message of [doubt, conflict])
      expect(decideLookUp(message, { ...found, total: null, differs }, settings)).to.have.property('to', 'parked');
  });

  it('other lines, the mark of a removal or an earlier date prove nothing, unless the key led to it', () => {
    const marked = { ...settings, removalMarks: [{ status: 'void' }], createdAtField: 'created_at' };
    const cases = [
      ['found_with_other_lines', { differs: ['items'] }],
      ['found_marked_removed', { shown: { status: 'void', note: 'A-1' } }],
      ['found_made_before', { shown: { created_at: '1970-01-12T13:41:00Z' } }],
    ] as const;
    for (const [code, over] of cases)
      for (const message of [doubt, conflict]) {
        const finding = { ...found, differs: [], ...over } as typeof found;
        expect(decideLookUp(message, finding, marked), code).to.have.nested.property('unlike.code', code);
        const byKey = decideLookUp({ ...message, isFoundByKey: true }, finding, marked);
        expect(byKey, code).to.have.property('unlike', null);
      }
    const lost = { ...doubt, isFromBeforeLoss: true };
    expect(decideLookUp(lost, { ...found, differs: ['items'] }, marked)).to.have.property('unlike', null);
    // Five minutes of clocks that differ, a time that may be of any place, and another state.
    for (const shown of [
      { created_at: '1970-01-12T13:42:00Z' },
      { created_at: '1970-01-01T00:00:00' },
      { status: 'open' },
    ] as FoundRecord['shown'][])
      expect(decideLookUp(doubt, { ...found, shown }, marked)).to.have.property('unlike', null);
  });

  it('a conflict of a customer that is found is adopted', () => {
    expect(decideLookUp({ ...conflict, entity: 'customer' }, found, settings)).to.deep.equal({ to: 'adopted', found });
    const ours = decideLookUp({ ...doubt, entity: 'customer' }, found, settings);
    expect(ours, 'it may be ours').to.deep.include({ to: 'delivered' });
  });

  it('a conflict of an order that is found is delivered, flagged with the names of what differs', () => {
    const adopted = decideLookUp(conflict, { ...found, total: null, differs: ['name', 'city'] }, settings);
    expect(adopted).to.deep.include({ to: 'delivered', serviceId: 'o1', contentKnown: false });
    expect(told(adopted)).to.have.property('flag').that.contains('name, city');
  });

  it('absence under the first key proves nothing of what a lost store may have sent under a later one', () => {
    const proves = { ...settings, absenceProves: true };
    const lost = { ...doubt, isFromBeforeLoss: true };
    expect(decideLookUp({ ...lost, isAskedByKey: true }, { kind: 'none' }, proves)).to.deep.equal({
      to: 'parked',
      parkClass: 'unproven',
      reason: { code: 'absent_under_first_key' },
    });
    // By a number it is found under any key, and this store knows the keys of what it sent itself.
    for (const message of [lost, { ...doubt, isAskedByKey: true }])
      expect(decideLookUp(message, { kind: 'none' }, proves)).to.deep.equal({ to: 'pending' });
  });

  it('absence proves nothing, unless the profile says so, and never against a conflict', () => {
    expect(decideLookUp(doubt, { kind: 'none' }, settings)).to.deep.include({ to: 'parked', parkClass: 'unproven' });
    expect(decideLookUp(doubt, { kind: 'none' }, { ...settings, absenceProves: true })).to.deep.equal({
      to: 'pending',
    });
    expect(decideLookUp(conflict, { kind: 'none' }, { ...settings, absenceProves: true })).to.deep.include({
      to: 'parked',
      parkClass: 'conflict',
    });
  });

  it('a create whose key is remembered goes out again also where absence proves nothing', () => {
    expect(decideLookUp({ ...doubt, isForgotten: false }, { kind: 'none' }, settings)).to.deep.equal({ to: 'again' });
  });

  it('a create that was found absent again and again waits for a person, if the service takes others', () => {
    for (const absenceProves of [true, false]) {
      const often = { ...doubt, absences: mostAbsences, isForgotten: false, othersPass: true };
      const decide = (message: typeof often) => decideLookUp(message, { kind: 'none' }, { ...settings, absenceProves });
      const again = { to: absenceProves ? 'pending' : 'again' };
      expect(decide({ ...often, absences: mostAbsences - 1 })).to.deep.equal(again);
      expect(decide({ ...often, othersPass: false }), 'an outage').to.deep.equal(again);
      const parked = decide(often);
      expect(parked).to.deep.include({ to: 'parked', parkClass: 'unproven' });
      expect(told(parked)).to.have.property('reason').that.contains('--not-delivered');
    }
  });

  it('nothing found proves nothing while the service may still work on the last request, nor before another look-up agrees', () => {
    const none = { kind: 'none' as const };
    const proves = { ...settings, absenceProves: true };
    const early = { ...doubt, doubt: { ended: at(0), absent: null }, askedAt: at(299_000) };
    expect(decideLookUp(early, none, proves)).to.deep.include({ to: 'later', inMs: 1_000, counts: false });
    const first = { ...early, askedAt: at(300_000) };
    expect(decideLookUp(first, none, proves)).to.deep.include({ to: 'later', inMs: 30_000, counts: true });
    // A person is asked only when there is something to say.
    expect(decideLookUp(first, none, settings)).to.have.property('to', 'later');
    const soon = { ...first, doubt: { ended: at(0), absent: at(300_000) }, askedAt: at(329_000) };
    expect(decideLookUp(soon, none, proves)).to.deep.include({ to: 'later', inMs: 1_000, counts: false });
    expect(decideLookUp(early, found, proves), 'what is there is there').to.have.property('to', 'delivered');
  });

  it('several or something odd waits for a person', () => {
    for (const finding of [
      { kind: 'several' as const, count: 2 },
      { kind: 'odd' as const, reason: { code: 'no_json' } as const },
    ]) {
      expect(decideLookUp(doubt, finding, { ...settings, absenceProves: true })).to.deep.include({
        to: 'parked',
        parkClass: 'unproven',
      });
      expect(decideLookUp(conflict, finding, settings)).to.deep.include({ to: 'parked', parkClass: 'conflict' });
    }
  });
});
