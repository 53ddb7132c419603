import { IANAZone } from 'luxon';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * When the clocks of a zone show a time of a day, in milliseconds since 1970. An hour that clocks go back over is shown twice, so
 * that there is a first and a last moment; a time that they skip is taken to be the moment of the change.
 * @param minutes since midnight; 1440 is the midnight that follows
 */
export function wallInstants(
  zone: string,
  day: { year: number; month: number; day: number },
  minutes: number,
): { first: number; last: number } {
  const offsetMs = (at: number) => IANAZone.create(zone).offset(at) * minuteMs;
  const asUtc = Date.UTC(day.year, day.month - 1, day.day, 0, minutes);
  // No zone is further from UTC than 14 hours, and none changes its clocks twice in two days.
  const candidates = [asUtc - offsetMs(asUtc - dayMs), asUtc - offsetMs(asUtc + dayMs)];
  const shown = candidates.filter((at) => at + offsetMs(at) === asUtc);
  if (shown.length > 0) return { first: Math.min(...shown), last: Math.max(...shown) };
  let before = Math.min(...candidates);
  let after = Math.max(...candidates);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetMs(middle) === offsetMs(before)) before = middle;
    else after = middle;
  }
  return { first: after, last: after };
}
