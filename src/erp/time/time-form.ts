import type { ErpColumn } from '../../db/erp-database.js';
import type { ColumnKind } from '../../db/sql.js';
import { parseWrittenTime, type WrittenTime } from '../../model/written-time.js';
import { formatDate, formatWrittenTime, instantToWall, repeatsAfter, writtenToInstant } from './wall-time.js';

/** The form in which a column writes its times: as dates, or as a count of units since 1970. */
export type TimeForm =
  | { form: 'written'; like: WrittenTime; kind: ColumnKind }
  | { form: 'epoch'; unitsPerSecond: bigint };

/** A point in time: whole seconds since 1970, and microseconds on top. */
export interface Instant {
  seconds: number;
  micros: number;
}

/** Seconds, milliseconds and microseconds, and the years that are believed: a version counter is an integer, too. */
const EPOCH_UNITS_PER_SECOND = [1n, 1000n, 1_000_000n] as const;
const EPOCH_FROM = BigInt(Date.UTC(2000, 0, 1) / 1000);
const EPOCH_TO = BigInt(Date.UTC(2100, 0, 1) / 1000);

/** The form of a column whose type fixes it (MySQL's TIMESTAMP, DATETIME and DATE), else null: ask a value. */
export function timeFormOfColumn({ kind, fractionDigits }: ErpColumn): TimeForm | null {
  if (fractionDigits === null) return null;
  const midnight = kind === 'date' ? '1970-01-01' : '1970-01-01 00:00:00';
  const like = parseWrittenTime(midnight);
  return like && { form: 'written', like: { ...like, fraction: '0'.repeat(fractionDigits) }, kind };
}

/** The form of a value, or null when it is no time at all, as a version counter is. */
export function timeFormOfValue(text: string, kind: ColumnKind): TimeForm | null {
  if (/^\d{9,17}$/.test(text)) {
    const value = BigInt(text);
    const unitsPerSecond = EPOCH_UNITS_PER_SECOND.find((n) => value >= EPOCH_FROM * n && value < EPOCH_TO * n);
    return unitsPerSecond === undefined ? null : { form: 'epoch', unitsPerSecond };
  }
  const like = parseWrittenTime(text);
  return like && { form: 'written', like, kind };
}

/** The point in time that a value of a column stands for; null when it is none, or no more than a day. */
export function instantOfValue(text: string, kind: ColumnKind, timeZone: string): Instant | null {
  const found = timeFormOfValue(text, kind);
  if (found?.form === 'epoch') {
    const micros = (BigInt(text) * 1_000_000n) / found.unitsPerSecond;
    return { seconds: Number(micros / 1_000_000n), micros: Number(micros % 1_000_000n) };
  }
  return found === null || found.like.dateOnly ? null : instantOf(found.like, kind, timeZone);
}

/** The date of a value in `timeZone`, as YYYY-MM-DD; null when it holds no time. */
export function dayOfValue(text: string, kind: ColumnKind, timeZone: string): string | null {
  const found = timeFormOfValue(text, kind);
  if (found === null) return null;
  const isOnTheWall = found.form === 'written' && found.like.offsetMinutes === null && kind !== 'timestamp';
  if (isOnTheWall || (found.form === 'written' && found.like.dateOnly)) return formatDate(found.like.wallSeconds);
  const at = instantOfValue(text, kind, timeZone);
  return at && formatDate(instantToWall(at.seconds, timeZone));
}

function instantOf(written: WrittenTime, kind: ColumnKind, timeZone: string): Instant {
  const micros = Number(written.fraction.padEnd(6, '0').slice(0, 6));
  return { seconds: writtenToInstant(written, kind, timeZone), micros };
}

/** Writes a point in time as the column would; digits beyond the column's are cut, never rounded up. */
export function writeInstant({ seconds, micros }: Instant, form: TimeForm, timeZone: string): string {
  if (form.form === 'epoch') {
    const total = BigInt(seconds) * 1_000_000n + BigInt(micros);
    return String((total * form.unitsPerSecond) / 1_000_000n);
  }
  const { like, kind } = form;
  const inZone = kind === 'timestamp' ? seconds : instantToWall(seconds, timeZone);
  const wallSeconds = like.offsetMinutes === null ? inZone : seconds + like.offsetMinutes * 60;
  const digits = String(micros).padStart(6, '0').padEnd(9, '0');
  return formatWrittenTime({ ...like, wallSeconds, fraction: digits.slice(0, like.fraction.length) });
}

/**
 * A date (or date and time) that a person wrote, as wall time in `timeZone`, in the column's form, to be compared
 * with the column. Null when it isn't a date.
 */
export function writeBound(text: string, form: TimeForm, timeZone: string): string | null {
  const written = parseWrittenTime(text);
  if (written === null) return null;
  if (form.form === 'written') {
    const { like, kind } = form;
    const sameFrame = like.offsetMinutes === null && kind !== 'timestamp' && written.offsetMinutes === null;
    // A day alone sorts before every time of that day, in every form.
    if (sameFrame && written.dateOnly) return formatWrittenTime(written);
    if (sameFrame && !like.dateOnly)
      return formatWrittenTime({ ...written, separator: like.separator, hasSeconds: true });
  }
  return writeInstant(instantOf(written, 'datetime', timeZone), form, timeZone);
}

const YEAR_ONE = -62_135_596_800;
const YEAR_TEN_THOUSAND = 253_402_300_800;

/**
 * Moves a change cursor by whole seconds (negative is back; a fraction goes to the earlier second) and keeps its form.
 * A date alone moves by whole days, and back to the day before by any part of one. A cursor without an offset moves by
 * the clock on the wall: an hour that happens twice is not seen, and left to the sweep. A value that isn't a time (a
 * version counter, 0000-00-00) comes back as it is: no overlap is possible there, only sweeps.
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

const PLAIN_TIME = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?$/;

/** True if two texts are written alike, without an offset: then the order of the texts is that of the times. */
function areAlike(a: string, b: string): boolean {
  return a.length === b.length && a[10] === b[10] && PLAIN_TIME.test(a) && PLAIN_TIME.test(b);
}

/** Negative, zero or positive as `a` is before, at or after `b`: two values of one change cursor. */
export function compareChangedAt(a: string, b: string): number {
  if (a === b) return 0;
  if (areAlike(a, b)) return compare(a, b);
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
  if (a < b) return -1;
  return a > b ? 1 : 0;
}

/**
 * Tells if the ERP's clock has come to a change cursor. A year that was mistyped lies ahead of it, and what is no time,
 * or one that is written in another way (a count instead of a date), is never reached.
 * @param clock in the form of the column; null: the column holds no times, which says nothing
 */
export function isReached(changedAt: string, clock: string | null): boolean {
  return clock === null || (areWrittenAlike(changedAt, clock) && compareChangedAt(changedAt, clock) <= 0);
}

function areWrittenAlike(a: string, b: string): boolean {
  if (areAlike(a, b)) return true;
  const [first, second] = [timeFormOfValue(a, 'text'), timeFormOfValue(b, 'text')];
  if (first?.form === 'epoch' && second?.form === 'epoch') return first.unitsPerSecond === second.unitsPerSecond;
  return first !== null && first.form === second?.form;
}

/** The seconds that a change cursor without an offset goes back by itself: in the hour that happens twice. */
export function setBackSeconds(changedAt: string, timeZone: string): number {
  const written = parseWrittenTime(changedAt);
  return written === null || written.offsetMinutes !== null ? 0 : repeatsAfter(written.wallSeconds, timeZone);
}

/** The later of two; null is before all. */
export function laterChangedAt(a: string | null, b: string | null): string | null {
  if (a === null) return b;
  if (b === null) return a;
  return compareChangedAt(a, b) >= 0 ? a : b;
}

const DAY_MICROS = 86_400_000_000n;

/** True if two texts may be one time in two precisions: the finer one, cut or rounded, is the coarser one. */
export function isSameTime(a: string, b: string): boolean {
  const [first, second] = [microsOf(a), microsOf(b)];
  if (first === null || second === null || first.frame !== second.frame) return false;
  const [coarse, fine] = first.step >= second.step ? [first, second] : [second, first];
  const { step } = coarse;
  const cut = coarse.at - (coarse.at % step);
  return [fine.at, fine.at + step / 2n].some((at) => at - (at % step) === cut);
}

/** Microseconds since 1970, the unit that the text ends with, and whether they are those of a wall clock or of UTC. */
function microsOf(text: string): { at: bigint; step: bigint; frame: 'wall' | 'utc' } | null {
  const found = timeFormOfValue(text, 'text');
  if (found?.form === 'epoch') {
    const step = 1_000_000n / found.unitsPerSecond;
    return { at: BigInt(text) * step, step, frame: 'utc' };
  }
  if (found === null) return null;
  const { like } = found;
  const digits = Math.min(like.fraction.length, 6);
  const micros = BigInt(like.fraction.slice(0, 6).padEnd(6, '0'));
  return {
    at: BigInt(inUtcIfKnown(like)) * 1_000_000n + micros,
    step: like.dateOnly ? DAY_MICROS : stepOfClock(like.hasSeconds, digits),
    frame: like.offsetMinutes === null ? 'wall' : 'utc',
  };
}

/** Microseconds between two times that differ by the last digit of the form. */
function stepOfClock(hasSeconds: boolean, fractionDigits: number): bigint {
  return hasSeconds ? 10n ** BigInt(6 - fractionDigits) : 60_000_000n;
}
