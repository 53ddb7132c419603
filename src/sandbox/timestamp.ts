/** ISO 8601 with a UTC offset, to the second, e.g. `2026-01-05T10:20:30+07:00`. */
export function timestamp(ms: number, utcOffsetMinutes: number): string {
  const sign = utcOffsetMinutes < 0 ? '-' : '+';
  const offset = Math.abs(utcOffsetMinutes);
  const hours = String(Math.floor(offset / 60)).padStart(2, '0');
  const minutes = String(offset % 60).padStart(2, '0');
  return `${localIso(ms, utcOffsetMinutes).slice(0, 19)}${sign}${hours}:${minutes}`;
}

/** The date at that offset, YYYY-MM-DD. */
export function dateAt(ms: number, utcOffsetMinutes: number): string {
  return localIso(ms, utcOffsetMinutes).slice(0, 10);
}

function localIso(ms: number, utcOffsetMinutes: number): string {
  return new Date(ms + utcOffsetMinutes * 60_000).toISOString();
}
