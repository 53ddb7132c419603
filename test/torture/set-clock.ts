import { readFileSync } from 'node:fs';

/**
 * Loaded before a daemon or a command: the clock on its wall shows another time, by as many milliseconds as stand in a
 * file that the run changes. The other clocks (`performance.now`, `uptime`, timers) go on as they did, as on a machine
 * whose clock somebody sets.
 */
const file = process.env.TORTURE_CLOCK_FILE;
const everyMs = 2;
const RealDate = Date;
let aheadMs = 0;
let lookedAt = Number.NEGATIVE_INFINITY;

function nowMs(): number {
  if (file !== undefined && performance.now() - lookedAt > everyMs) {
    lookedAt = performance.now();
    aheadMs = Number(readFileSync(file, 'utf8'));
  }
  return RealDate.now() + aheadMs;
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [nowMs()] : values, newTarget) as Date,
  apply: () => new RealDate(nowMs()).toString(),
  get: (target, name) => (name === 'now' ? nowMs : Reflect.get(target, name)),
});
