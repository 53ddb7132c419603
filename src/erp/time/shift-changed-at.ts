import { formatDate, formatTime, parseWrittenTime, type WrittenTime } from './wall-time.js';

const YEAR_ONE = -62_135_596_800;
const YEAR_TEN_THOUSAND = 253_402_300_800;

/**
 * Moves a change cursor by whole seconds (negative is back; a fraction goes to the earlier second) and keeps its form:
 * `YYYY-MM-DD HH:MM:SS[.ffffff]` or with a `T`, with or without `Z` or an offset; a date alone, which moves by whole
 * days and back to the day before by any part of one; seconds, milliseconds or microseconds since 1970. A cursor
 * without an offset moves by the clock on the wall: an hour that happens twice is not seen, and left to the sweep.
 * What isn't a time (a version counter, 0000-00-00) comes back as it is: no overlap is possible there, only sweeps.
 */
export function shiftChangedAt(changedAt: string, seconds: number): string {
  const whole = Math.floor(seconds);
  const unitsPerSecond = epochUnitsPerSecond(changedAt);
  if (unitsPerSecond !== null) return String(BigInt(changedAt) + BigInt(whole) * unitsPerSecond);

  const written = parseWrittenTime(changedAt);
  if (written === null) return changedAt;
  const wallSeconds = written.wallSeconds + whole;
  if (wallSeconds < YEAR_ONE || wallSeconds >= YEAR_TEN_THOUSAND) return changedAt;
  return formatWrittenTime({ ...written, wallSeconds });
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

/** The text of a written time, in the form that it has. */
export function formatWrittenTime(written: WrittenTime): string {
  const date = formatDate(written.wallSeconds);
  if (written.dateOnly) return date;
  const time = formatTime(written.wallSeconds).slice(0, written.hasSeconds ? 8 : 5);
  const fraction = written.fraction === '' ? '' : `.${written.fraction}`;
  return `${date}${written.separator}${time}${fraction}${written.offsetText}`;
}

/** The later of two; null is before all. */
export function laterChangedAt(a: string | null, b: string | null): string | null {
  if (a === null) return b;
  if (b === null) return a;
  return compareChangedAt(a, b) >= 0 ? a : b;
}

const UNITS_PER_SECOND = [1n, 1000n, 1_000_000n] as const;

const FROM = BigInt(Date.UTC(2000, 0, 1) / 1000);

const TO = BigInt(Date.UTC(2100, 0, 1) / 1000);

/**
 * How many units a second has when an integer text counts time since 1970: seconds, milliseconds or microseconds.
 * Null when it isn't one: only values of the years 2000 to 2099 are believed, since a version counter is an integer too.
 */
export function epochUnitsPerSecond(text: string): bigint | null {
  if (!/^\d{9,17}$/.test(text)) return null;
  const value = BigInt(text);
  return UNITS_PER_SECOND.find((units) => value >= FROM * units && value < TO * units) ?? null;
}
