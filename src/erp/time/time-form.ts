import type { ErpColumn } from '../erp-database.js';
import { epochUnitsPerSecond, formatWrittenTime } from './shift-changed-at.js';
import { instantToWall, parseWrittenTime, type WrittenTime, writtenToInstant } from './wall-time.js';

/** How a column writes its times: learnt from the column's type where that says it, else from a value in it. */
export type TimeForm =
  | { form: 'written'; like: WrittenTime; kind: ErpColumn['kind'] }
  | { form: 'epoch'; unitsPerSecond: bigint };

/** A point in time: whole seconds since 1970, and microseconds on top. */
export interface Instant {
  seconds: number;
  micros: number;
}

/** The form of a column whose type fixes it (MySQL's TIMESTAMP, DATETIME and DATE), else null: ask a value. */
export function timeFormOfColumn(column: ErpColumn): TimeForm | null {
  if (column.fractionDigits === null) return null;
  const like: WrittenTime = {
    wallSeconds: 0,
    fraction: '0'.repeat(column.fractionDigits),
    dateOnly: column.kind === 'date',
    hasSeconds: true,
    separator: ' ',
    offsetMinutes: null,
    offsetText: '',
  };
  return { form: 'written', like, kind: column.kind };
}

/** The form of a value, or null when it is no time at all, as a version counter is. */
export function timeFormOfValue(text: string, kind: ErpColumn['kind']): TimeForm | null {
  const unitsPerSecond = epochUnitsPerSecond(text);
  if (unitsPerSecond !== null) return { form: 'epoch', unitsPerSecond };
  const like = parseWrittenTime(text);
  return like === null ? null : { form: 'written', like, kind };
}

/** The point in time that a value of a column stands for; null when it is none, or no more than a day. */
export function instantOfValue(text: string, kind: ErpColumn['kind'], timeZone: string): Instant | null {
  const unitsPerSecond = epochUnitsPerSecond(text);
  if (unitsPerSecond !== null) {
    const micros = (BigInt(text) * 1_000_000n) / unitsPerSecond;
    return { seconds: Number(micros / 1_000_000n), micros: Number(micros % 1_000_000n) };
  }
  const written = parseWrittenTime(text);
  if (written === null || written.dateOnly) return null;
  return {
    seconds: writtenToInstant(written, kind, timeZone),
    micros: Number(written.fraction.padEnd(6, '0').slice(0, 6)),
  };
}

/** Writes a point in time as the column would; digits beyond the column's are cut, never rounded up. */
export function writeInstant({ seconds, micros }: Instant, form: TimeForm, timeZone: string): string {
  if (form.form === 'epoch') {
    const total = BigInt(seconds) * 1_000_000n + BigInt(micros);
    return String((total * form.unitsPerSecond) / 1_000_000n);
  }
  const { like, kind } = form;
  const wallSeconds =
    like.offsetMinutes !== null
      ? seconds + like.offsetMinutes * 60
      : kind === 'timestamp'
        ? seconds
        : instantToWall(seconds, timeZone);
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
    const sameFrame = form.like.offsetMinutes === null && form.kind !== 'timestamp' && written.offsetMinutes === null;
    // A day alone sorts before every time of that day, in every form.
    if (sameFrame && written.dateOnly) return formatWrittenTime(written);
    if (sameFrame && !form.like.dateOnly)
      return formatWrittenTime({ ...written, separator: form.like.separator, hasSeconds: true });
  }
  const instant = { seconds: writtenToInstant(written, 'datetime', timeZone), micros: 0 };
  return writeInstant({ ...instant, micros: Number(written.fraction.padEnd(6, '0').slice(0, 6)) }, form, timeZone);
}
