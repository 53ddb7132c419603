import { expect } from 'chai';
import fc from 'fast-check';
import { claimTime, clockSetBy, latestTime, nextReading } from '../../../src/outbound/deliver/clock-trace.js';
import { type ClockReading, clockToleranceMs, systemClock } from '../../../src/store/clock.js';

describe('the trace of the clock on the wall', () => {
  const hourMs = 3_600_000;
  const at = (bootId: string, bootMs: number, wallMs: number): ClockReading => ({ bootId, bootMs, wallMs });

  it('tells within one start of the machine by how much the clock was set', () => {
    const before = at('a', 1_000, 100 * hourMs);
    expect(clockSetBy(before, at('a', 1_000 + hourMs, 101 * hourMs))).to.equal(0);
    expect(clockSetBy(before, at('a', 1_000 + hourMs, 99 * hourMs))).to.equal(-2 * hourMs);
    expect(clockSetBy(before, at('a', 1_000 + hourMs, 103 * hourMs))).to.equal(2 * hourMs);
  });

  it('knows after a restart that the clock went back, and not how far', () => {
    const before = at('a', hourMs, 100 * hourMs);
    expect(clockSetBy(before, at('b', 2 * hourMs, 99 * hourMs))).to.equal(null);
    expect(clockSetBy(before, at('a', 0, 99 * hourMs)), 'a container that was started again').to.equal(null);
    expect(clockSetBy(before, at('b', 0, 110 * hourMs))).to.equal(0);
  });

  it('never lets an age be shorter than the time that passed by more than the tolerance, however the clock is set', () => {
    const steps = fc.array(fc.tuple(fc.nat(hourMs), fc.integer({ min: -3 * hourMs, max: 3 * hourMs })), {
      maxLength: 30,
    });
    const small = fc.array(fc.tuple(fc.nat(hourMs), fc.integer({ min: -clockToleranceMs, max: 0 })), { maxLength: 30 });
    fc.assert(
      fc.property(fc.oneof(steps, small), (all) => {
        let [bootMs, wallMs] = [0, 1_000 * hourMs];
        let sentAt = wallMs;
        let known = nextReading(null, at('a', bootMs, wallMs));
        for (const [passedMs, setMs] of all) {
          bootMs += passedMs;
          wallMs += passedMs + setMs;
          const now = at('a', bootMs, wallMs);
          sentAt += Math.min(clockSetBy(known, now) as number, 0);
          known = nextReading(known, now);
          expect(wallMs - sentAt).to.be.at.least(bootMs - clockToleranceMs);
        }
      }),
    );
  });

  it('counts what was sent before the clock was set back no later than then, and before it was set forward as late as it was', () => {
    const back = { attemptId: 7, atMs: 1_000, forwardMs: 0 };
    const forward = { attemptId: 9, atMs: 50_000, forwardMs: 40_000 };
    expect(latestTime(7, 90_000, [back], 10)).to.equal(1_010);
    expect(latestTime(8, 90_000, [back], 10)).to.equal(90_000);
    expect(latestTime(7, 90_000, [back, forward], 10)).to.equal(41_010);
    expect(latestTime(9, 3_000, [back, forward], 10)).to.equal(43_000);
  });

  it('says by the clock as it is now when a claim was made that has no attempt yet', () => {
    const back = { attemptId: 7, atMs: 1_000, forwardMs: 0 };
    const forward = { attemptId: 9, atMs: 50_000, forwardMs: 40_000 };
    expect(claimTime(9_000, [back, forward], 60_000), 'before it was set forward').to.equal(49_000);
    expect(claimTime(50_500, [back, forward], 60_000), 'since').to.equal(50_500);
    expect(claimTime(90_000, [back], 2_000), 'before it was set back: no later than now').to.equal(2_000);
    expect(
      claimTime(
        500,
        [
          { ...forward, atMs: 45_000 },
          { ...forward, atMs: 90_000 },
        ],
        100_000,
      ),
    ).to.equal(80_500);
  });

  it('reads a clock that goes on, under the same name', () => {
    const first = systemClock.sinceBoot();
    const second = systemClock.sinceBoot();
    expect(second.bootId).to.equal(first.bootId).and.not.equal('');
    expect(second.bootMs).to.be.at.least(first.bootMs);
  });
});
