import { expect } from 'chai';
import fc from 'fast-check';
import { RateLimit, SlidingWindow } from '../../../src/lab/sandbox/rate-limit.js';

const arrivals = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 300 });

/** Runs gaps through a window; returns the times and what became of each. */
function run(window: SlidingWindow, gapsMs: number[]): { atMs: number; waitMs: number }[] {
  let atMs = 0;
  return gapsMs.map((gapMs) => {
    atMs += gapMs;
    const waitMs = window.waitMs(atMs);
    if (waitMs === 0) window.take(atMs);
    return { atMs, waitMs };
  });
}

describe('sandbox: sliding window', () => {
  const shape = fc.record({ requests: fc.integer({ min: 1, max: 20 }), windowMs: fc.integer({ min: 1, max: 2000 }) });

  it('never admits more than its requests in any window, and refuses only when it is full', () => {
    fc.assert(
      fc.property(shape, arrivals, ({ requests, windowMs }, gapsMs) => {
        const admitted: number[] = [];
        for (const { atMs, waitMs } of run(new SlidingWindow(requests, windowMs), gapsMs)) {
          const inWindow = admitted.filter((earlierMs) => atMs - earlierMs < windowMs).length;
          expect(waitMs === 0).to.equal(inWindow < requests);
          if (waitMs === 0) admitted.push(atMs);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('says exactly how long until there is room', () => {
    fc.assert(
      fc.property(shape, arrivals, ({ requests, windowMs }, gapsMs) => {
        const window = new SlidingWindow(requests, windowMs);
        const last = run(window, gapsMs).at(-1);
        const lastMs = last?.atMs ?? 0;
        const waitMs = window.waitMs(lastMs);
        expect(window.waitMs(lastMs + waitMs)).to.equal(0);
        if (waitMs > 0) expect(window.waitMs(lastMs + waitMs - 1)).to.equal(1);
      }),
      { numRuns: 1000 },
    );
  });

  it('admits again exactly one window after the first', () => {
    const window = new SlidingWindow(1, 1000);
    window.take(5);
    expect(window.waitMs(1004)).to.equal(1);
    expect(window.waitMs(1005)).to.equal(0);
  });

  it('refuses a limit that makes no sense', () => {
    expect(() => new SlidingWindow(0, 1000)).to.throw(RangeError);
    expect(() => new SlidingWindow(1.5, 1000)).to.throw(RangeError);
    expect(() => new SlidingWindow(1, 0)).to.throw(RangeError);
  });
});

describe('sandbox: several limits at once', () => {
  it('admits only what every one of them admits, and takes no place anywhere when one refuses', () => {
    const shape = fc.record({ requests: fc.integer({ min: 1, max: 9 }), windowMs: fc.integer({ min: 1, max: 2000 }) });
    fc.assert(
      fc.property(fc.array(shape, { maxLength: 3 }), arrivals, (limits, gapsMs) => {
        const limit = new RateLimit(limits);
        const admitted: number[] = [];
        let atMs = 0;
        for (const gapMs of gapsMs) {
          atMs += gapMs;
          const hasRoom = limits.every(
            ({ requests, windowMs }) => admitted.filter((earlierMs) => atMs - earlierMs < windowMs).length < requests,
          );
          expect(limit.take(atMs) === 0).to.equal(hasRoom);
          if (hasRoom) admitted.push(atMs);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
