import { timeFormOfValue } from './time-form.js';
import { formatWrittenTime, parseWrittenTime, type WrittenTime } from './wall-time.js';

const YEAR_ONE = -62_135_596_800;
const YEAR_TEN_THOUSAND = 253_402_300_800;

/**
 * Moves a change cursor by whole seconds (negative is back; a fraction goes to the earlier second) and keeps its form.
 * A date alone moves by whole days, and back to the day before by any part of one. A cursor without an offset moves by
 * the clock on the wall: an hour that happens twice is not seen, and left to the sweep. What isn't a time (a version
 * counter, 0000-00-00) comes back as it is: no overlap is possible there, only sweeps.
 */
export function shiftChangedAt(changedAt: string, seconds: number): string {
  const whole = Math.floor(seconds);
  const found = timeFormOfValue(changedAt, 'text');
  if (found === null) return changedAt;
  if (found.form === 'epoch') return String(BigInt(changedAt) + BigInt(whole) * found.unitsPerSecond);
  const wallSeconds = found.like.wallSeconds + whole;
  if (wallSeconds < YEAR_ONE || wallSeconds >= YEAR_TEN_THOUSAND) return changedAt;
  return formatWrittenTime({ ...found.like, wallSeconds });
}

/** Negative, zero or positive as `a` is before, at or after `b`: two values of one change cursor. */
export function compareChangedAt(a: string, b: string): number {
  if (/^-?\d+$/.test(a) && /^-?\d+$/.test(b)) return compare(BigInt(a), BigInt(b));
  const [first, second] = [parseWrittenTime(a), parseWrittenTime(b)];
  if (first === null || second === null) return compare(a, b);
  return (
    compare(inUtcIfKnown(first), inUtcIfKnown(second)) ||
    compare(first.fraction.padEnd(9, '0'), second.fraction.padEnd(9, '0'))
  );
}

function inUtcIfKnown(written: WrittenTime): number {
  return written.wallSeconds - (written.offsetMinutes ?? 0) * 60;
}

function compare<T extends bigint | number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The later of two; null is before all. */
export function laterChangedAt(a: string | null, b: string | null): string | null {
  if (a === null) return b;
  if (b === null) return a;
  return compareChangedAt(a, b) >= 0 ? a : b;
}
