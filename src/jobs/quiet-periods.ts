import { DateTime } from 'luxon';
import type { QuietHours } from '../config/schedule-settings.js';
import { wallInstants } from './wall-instants.js';

export interface Period {
  fromMs: number;
  /** The first moment that does not belong to it. */
  toMs: number;
}

const dayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/**
 * The quiet periods of a lane that touch a span of time, in order; those that overlap or meet are one. Where the clocks go back, a
 * period lasts from the first to the last time that they show its ends: rather an hour too long than a request in a quiet hour.
 */
export function quietPeriods(
  quietHours: readonly QuietHours[],
  lane: QuietHours['lanes'][number],
  zone: string,
  span: Period,
): Period[] {
  const found: Period[] = [];
  for (const { lanes, from, to, days } of quietHours) {
    if (!lanes.includes(lane)) continue;
    const begin = minutesOf(from);
    const end = minutesOf(to);
    const last = DateTime.fromMillis(span.toMs, { zone }).startOf('day').plus({ days: 1 });
    // A night that began before the span reaches into it.
    for (
      let day = DateTime.fromMillis(span.fromMs, { zone }).startOf('day').minus({ days: 2 });
      day <= last;
      day = day.plus({ days: 1 })
    ) {
      if (!days.includes(dayNames[day.weekday - 1] as (typeof dayNames)[number])) continue;
      const endDay = end <= begin ? day.plus({ days: 1 }) : day;
      const period = {
        fromMs: wallInstants(zone, day, begin).first,
        toMs: wallInstants(zone, endDay, end).last,
      };
      if (period.fromMs < period.toMs && period.toMs > span.fromMs && period.fromMs < span.toMs) found.push(period);
    }
  }
  return merged(found);
}

/** How long all of these lanes were quiet at once within a span, in milliseconds. */
export function quietMs(
  quietHours: readonly QuietHours[],
  lanes: readonly QuietHours['lanes'][number][],
  zone: string,
  span: Period,
): number {
  const common = lanes
    .map((lane) => quietPeriods(quietHours, lane, zone, span))
    .reduce((some, others) => some.flatMap((one) => others.flatMap((other) => overlap(one, other))), [span]);
  return common.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
}

function overlap(one: Period, other: Period): Period[] {
  const both = { fromMs: Math.max(one.fromMs, other.fromMs), toMs: Math.min(one.toMs, other.toMs) };
  return both.fromMs < both.toMs ? [both] : [];
}

function merged(periods: readonly Period[]): Period[] {
  const whole: Period[] = [];
  for (const period of [...periods].sort((a, b) => a.fromMs - b.fromMs)) {
    const last = whole.at(-1);
    if (last && period.fromMs <= last.toMs) last.toMs = Math.max(last.toMs, period.toMs);
    else whole.push({ ...period });
  }
  return whole;
}

function minutesOf(time: string): number {
  const [hours = '0', minutes = '0'] = time.split(':');
  return Number(hours) * 60 + Number(minutes);
}
