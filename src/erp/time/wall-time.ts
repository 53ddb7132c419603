import { DateTime, IANAZone } from 'luxon';
import type { WrittenTime } from '../../model/written-time.js';

/** The text of a written time, in the form that it has. */
export function formatWrittenTime(written: WrittenTime): string {
  const date = formatDate(written.wallSeconds);
  if (written.dateOnly) return date;
  const time = isoText(written.wallSeconds).slice(11, written.hasSeconds ? 19 : 16);
  const fraction = written.fraction === '' ? '' : `.${written.fraction}`;
  return `${date}${written.separator}${time}${fraction}${written.offsetText}`;
}

/** `YYYY-MM-DD` of seconds since 1970, read as UTC. */
export function formatDate(wallSeconds: number): string {
  return isoText(wallSeconds).slice(0, 10);
}

function isoText(wallSeconds: number): string {
  return new Date(wallSeconds * 1000).toISOString();
}

/**
 * The instant of a wall time, in seconds since 1970. An hour that happens twice means the first one; an hour that is
 * skipped counts on from before the change, as a clock that was not moved would (02:30 becomes 03:30 in summer time).
 */
export function wallToInstant(wallSeconds: number, timeZone: string): number {
  const day = 24 * 3600;
  const before = offsetSeconds(wallSeconds - day, timeZone);
  const after = offsetSeconds(wallSeconds + day, timeZone);
  if (before === after) return wallSeconds - before;
  const candidates = [wallSeconds - before, wallSeconds - after].filter(
    (instant) => instant + offsetSeconds(instant, timeZone) === wallSeconds,
  );
  return candidates.length === 0 ? wallSeconds - before : Math.min(...candidates);
}

/** The seconds until a wall time comes once more, if the clock is set back; 0 if it does not. */
export function repeatsAfter(wallSeconds: number, timeZone: string): number {
  const day = 24 * 3600;
  const before = offsetSeconds(wallSeconds - day, timeZone);
  const after = offsetSeconds(wallSeconds + day, timeZone);
  const isTwice = [before, after].every((offset) => offsetSeconds(wallSeconds - offset, timeZone) === offset);
  return isTwice ? Math.max(before - after, 0) : 0;
}

/** The time on the wall's clock at an instant. */
export function instantToWall(instant: number, timeZone: string): number {
  return instant + offsetSeconds(instant, timeZone);
}

const offsets = new Map<string, Map<number, number>>();
const QUARTER_HOUR = 900;

/** Offsets change at full quarter hours only, and asking Intl for each of a million rows is slow. */
function offsetSeconds(instant: number, timeZone: string): number {
  let ofZone = offsets.get(timeZone);
  if (ofZone === undefined) {
    ofZone = new Map();
    offsets.set(timeZone, ofZone);
  }
  const slot = Math.floor(instant / QUARTER_HOUR);
  const known = ofZone.get(slot);
  if (known !== undefined) return known;
  const seconds = Math.round(IANAZone.create(timeZone).offset(instant * 1000) * 60);
  if (ofZone.size >= 10_000) ofZone.clear();
  ofZone.set(slot, seconds);
  return seconds;
}

/** ISO 8601 with the zone's offset, `2026-07-01T10:00:00+02:00`; a fraction of zeros is left out. */
export function formatInstant(instant: number, fraction: string, timeZone: string): string {
  const time = DateTime.fromSeconds(instant, { zone: timeZone });
  return `${time.toFormat("yyyy-MM-dd'T'HH:mm:ss")}${/[1-9]/.test(fraction) ? `.${fraction}` : ''}${time.toFormat('ZZ')}`;
}

/** The instant of a written time: by its own offset, as UTC for a `timestamp` column, else as wall time in the zone. */
export function writtenToInstant(written: WrittenTime, kind: string, timeZone: string): number {
  if (written.offsetMinutes !== null) return written.wallSeconds - written.offsetMinutes * 60;
  return kind === 'timestamp' ? written.wallSeconds : wallToInstant(written.wallSeconds, timeZone);
}

/** An instant as the clock on the wall of that zone shows it, `2026-01-31 08:05:00`. Pure. */
export function wallText(ms: number, timeZone: string): string {
  return isoText(instantToWall(Math.floor(ms / 1000), timeZone))
    .slice(0, 19)
    .replace('T', ' ');
}
