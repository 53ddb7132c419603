import { expect } from 'chai';
import fc from 'fast-check';
import {
  believedMarks,
  endOf,
  nextMarks,
  sourceHold,
  toleranceSeconds,
} from '../../../src/outbound/capture/safety-limits.js';
import type { SourceMarks } from '../../../src/store/job-runs.js';

const marks: SourceMarks = {
  highChangedAt: '2026-06-02 12:00:00',
  highKey: '100',
  sweptRows: 50,
  hold: null,
};
const end = { isEmpty: false, changedAt: '2026-06-02 12:00:00', key: '100' };
const causeOf = (...args: Parameters<typeof sourceHold>) => sourceHold(...args)?.code ?? null;

describe('what is wrong with a source', () => {
  it('is nothing when keys and times grow, nor at the first look', () => {
    expect(causeOf(marks, { ...end, key: '101' }, 50, 600)).to.equal(null);
    expect(causeOf({ highChangedAt: null, highKey: null, sweptRows: null, hold: null }, end, 0, 600)).to.equal(null);
  });

  it('is that it is empty, or that nothing is eligible where many rows were', () => {
    expect(causeOf(marks, { isEmpty: true, changedAt: null, key: null }, null, 600)).to.equal('source_empty');
    expect(causeOf(marks, end, 0, 600)).to.equal('source_drained');
    expect(causeOf({ ...marks, sweptRows: 3 }, end, 0, 600)).to.equal(null);
  });

  it('is that it was restored, when a key or a time went back', () => {
    expect(causeOf(marks, { ...end, key: '99' }, null, 600)).to.equal('source_restored');
    expect(causeOf({ ...marks, highKey: '9' }, { ...end, key: '10' }, null, 600)).to.equal(null);
    expect(causeOf(marks, { ...end, changedAt: '2026-06-01 12:00:00' }, null, 600)).to.equal('source_restored');
    // The row that was changed last may be gone, or a clock be set.
    expect(causeOf(marks, { ...end, changedAt: '2026-06-02 11:55:00' }, null, 600)).to.equal(null);
  });

  it('is nothing of a time that its clock has not come to, or of another column', () => {
    const rows = ['2026-06-02 12:00:00', '2099-01-01 00:00:00', 'infinity', null].map((changedAt, at) => ({
      changedAt,
      sourceKey: String(at),
    }));
    const clock = '2026-06-02 12:05:00';
    expect(endOf(rows, clock)).to.deep.equal({ changedAt: '2026-06-02 12:00:00', key: '3' });
    // A version counter has no clock.
    expect(endOf([{ changedAt: '7', sourceKey: '1' }], null)).to.deep.equal({ changedAt: '7', key: '1' });
    const look = { clock, isAnew: false, sweptRows: null };
    expect(believedMarks(marks, look)).to.equal(marks);
    for (const highChangedAt of ['2026-06-02 12:05:01', 'infinity', '1767600000'])
      expect(believedMarks({ ...marks, highChangedAt }, look).highChangedAt).to.equal(null);
    expect(believedMarks(marks, { ...look, isAnew: true })).to.deep.equal({ ...marks, highChangedAt: null });
  });

  it('allows for the hour that happens twice, where the time says no offset', () => {
    const settings = { capture: { overlapSeconds: 600 }, erp: { timeZone: 'Europe/Berlin' } };
    const toleranceAt = (highChangedAt: string) => toleranceSeconds({ ...marks, highChangedAt }, settings);
    expect(toleranceAt('2026-10-25 02:59:59.5')).to.equal(4_200);
    for (const time of ['2026-10-25 01:59:59', '2026-10-25 03:00:00', '2026-03-29 02:30:00', '2026-10-25T02:30:00Z'])
      expect(toleranceAt(time), time).to.equal(600);
  });

  it('ends by itself when rows are back, but a restored ERP waits for a person', () => {
    const empty = { ...marks, hold: { code: 'source_empty' } as const };
    expect(causeOf(empty, end, null, 600)).to.equal(null);
    const drained = { ...marks, hold: { code: 'source_drained', before: 50 } as const };
    expect(causeOf(drained, end, null, 600)).to.equal('source_drained');
    expect(causeOf(drained, end, 1, 600)).to.equal(null);
    const restored = { ...marks, hold: { code: 'source_restored', evidence: { code: 'keys_turned' } } as const };
    expect(causeOf(restored, { ...end, key: '1000' }, 50, 600)).to.equal('source_restored');
  });

  it('keeps the marks where they were as long as something is wrong', () => {
    const key = fc.nat(200).map(String);
    fc.assert(
      fc.property(fc.array(fc.record({ key, isEmpty: fc.boolean() }), { maxLength: 20 }), (looks) => {
        let now: SourceMarks = { highChangedAt: null, highKey: null, sweptRows: null, hold: null };
        let highest = -1;
        for (const { key: seen, isEmpty } of looks) {
          const look = { isEmpty, changedAt: null, key: isEmpty ? null : seen };
          now = nextMarks(now, look, null, sourceHold(now, look, null, 600));
          if (now.hold === null) highest = Math.max(highest, Number(now.highKey ?? -1));
          expect(Number(now.highKey ?? -1)).to.equal(highest);
        }
      }),
    );
  });
});
