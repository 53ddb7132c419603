import { readFileSync } from 'node:fs';

/**
 * Loaded before a daemon or a command: the clock on its wall shows another time, by as many milliseconds as stand in a
 * file that the run changes. The other clocks (`performance.now`, `uptime`, timers) go on as they did, as on a machine
 * whose clock somebody sets. The second number of the file is the time for which `performance.now` stood still, as on a
 * machine that was suspended.
 */
const file = process.env.TORTURE_CLOCK_FILE;
const everyMs = 2;
const RealDate = Date;
const monotonicMs = performance.now.bind(performance);
let shift = { aheadMs: 0, stoodStillMs: 0 };
let lookedAt = Number.NEGATIVE_INFINITY;

function readShift(): typeof shift {
  if (file !== undefined && monotonicMs() - lookedAt > everyMs) {
    lookedAt = monotonicMs();
    const [aheadMs = 0, stoodStillMs = 0] = readFileSync(file, 'utf8').split(' ').map(Number);
    shift = { aheadMs, stoodStillMs };
  }
  return shift;
}

const nowMs = () => RealDate.now() + readShift().aheadMs;
performance.now = () => monotonicMs() - readShift().stoodStillMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [nowMs()] : values, newTarget) as Date,
  apply: () => new RealDate(nowMs()).toString(),
  get: (target, name) => (name === 'now' ? nowMs : Reflect.get(target, name)),
});
