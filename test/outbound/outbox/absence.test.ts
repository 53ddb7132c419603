import { expect } from 'chai';
import fc from 'fast-check';
import { absenceStep, betweenLookUpsMs, mayTakeEffectUntil } from '../../../src/outbound/outbox/absence.js';
import { clockToleranceMs, surelyPassedMs } from '../../../src/store/clock.js';

const minute = 60_000;
const most = 5 * minute;
const at = (ms: number, bootId = 'a', wallMs = ms) => ({ bootId, bootMs: ms, wallMs });

describe('the proof that a record is absent', () => {
  it('takes two look-ups after the wait, half a minute apart', () => {
    const ended = at(0);
    const step = (absent: number | null, now: number) =>
      absenceStep({ ended, absent: absent === null ? null : at(absent) }, at(now), most);
    expect(step(null, most - 1)).to.deep.equal({ next: 'wait', inMs: 1 });
    expect(step(null, most)).to.deep.equal({ next: 'first look-up' });
    expect(betweenLookUpsMs(most)).to.equal(minute / 2);
    expect(step(most, most + minute / 2 - 1)).to.deep.equal({ next: 'wait', inMs: 1 });
    expect(step(most, most + minute / 2)).to.deep.equal({ next: 'last look-up' });
  });

  it('begins to wait only now where it is not known when the last request ended', () => {
    const step = absenceStep({ ended: null, absent: at(0) }, at(10 * most), most);
    expect(step).to.deep.equal({ next: 'wait', inMs: most });
  });

  it('lets a person say so only after the wait, of what an earlier version sent by the time of its claim', () => {
    const until = (ended: number | null, claimedAt: number | null, now: number) =>
      mayTakeEffectUntil({ ended: ended === null ? null : at(ended), claimedAt }, at(now), most);
    expect(until(0, 0, most - 1)).to.equal(most);
    expect(until(0, 0, most)).to.equal(null);
    expect(until(null, null, 0), 'it was never sent').to.equal(null);
    expect(until(null, 0, most + 2 * clockToleranceMs - 1)).to.be.a('number');
    expect(until(null, 0, most + 2 * clockToleranceMs)).to.equal(null);
  });

  it('never counts time that has not passed, whatever the clocks on the wall show', () => {
    const tolerance = fc.integer({ min: 0, max: clockToleranceMs });
    const passed = fc.integer({ min: 0, max: 100 * minute });
    const anyMs = fc.integer({ min: -1e12, max: 1e12 });
    fc.assert(
      fc.property(passed, anyMs, anyMs, fc.nat(), (passedMs, wallMs, laterMs, bootMs) => {
        const since = { bootId: 'a', bootMs, wallMs };
        expect(surelyPassedMs(since, { bootId: 'a', bootMs: bootMs + passedMs, wallMs: laterMs })).to.equal(passedMs);
      }),
    );
    // This machine was started again between the two, and its clock shows anything.
    fc.assert(
      fc.property(passed, passed, anyMs, (passedMs, upMs, laterMs) => {
        const now = { bootId: 'b', bootMs: Math.min(upMs, passedMs), wallMs: laterMs };
        expect(surelyPassedMs(at(0), now)).to.be.at.most(passedMs);
      }),
    );
    // Two machines, whose clocks differ by no more than they may.
    fc.assert(
      fc.property(passed, tolerance, fc.nat(), (passedMs, differMs, bootMs) => {
        const now = { bootId: 'b', bootMs, wallMs: passedMs + differMs };
        expect(surelyPassedMs(at(0), now)).to.be.at.most(passedMs);
      }),
    );
  });
});
