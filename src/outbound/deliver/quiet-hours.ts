import { DateTime, IANAZone } from 'luxon';
import type { QuietHours } from '../../config/sections/schedule.js';
import type { Settings } from '../../config/settings.js';
import type { LanePause } from '../../store/lane-pauses.js';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * When the clocks of a zone show a time of a day, in milliseconds since 1970. An hour that clocks go back over is shown twice, so
 * that there is a first and a last moment; a time that they skip is taken to be the moment of the change.
 * @param minutes since midnight; 1440 is the midnight that follows
 */
function wallInstants(
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

interface Period {
  fromMs: number;
  /** The first moment that does not belong to it. */
  toMs: number;
}

const dayNames = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/**
 * The quiet periods of a lane that touch a span of time, in order; those that overlap or meet are one. When the clocks
 * go back, a period lasts from the first to the last time that they show its ends: rather an hour too long than a
 * request in a quiet hour.
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

/** The time within a span in which all of these lanes were quiet at once, in milliseconds. */
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

const lanes = ['deliver', 'pull'] as const;
/** Longer than a week of quiet days that meet, so that the end of a long one is seen. */
const aheadMs = 10 * dayMs;

/** Tells which lanes are quiet now. Periods are worked out once a day, because every request asks. */
export class QuietClock {
  #known: { fromMs: number; periods: Record<(typeof lanes)[number], Period[]> } | null = null;

  constructor(private readonly schedule: Pick<Settings['schedule'], 'quietHours' | 'timeZone'>) {}

  /** The quiet period as a pause of the lane, which needs no row in the store. */
  pauses(nowMs: number): LanePause[] {
    return lanes.flatMap((lane) => {
      const period = this.#periodOf(lane, nowMs);
      if (!period) return [];
      return [
        {
          lane,
          cause: 'quiet' as const,
          until_at: period.toMs,
          reason: { code: 'quiet_hours' as const, untilMs: period.toMs, timeZone: this.schedule.timeZone },
          actor: 'schedule',
          since_at: period.fromMs,
        },
      ];
    });
  }

  isQuiet(lane: LanePause['lane'], nowMs: number): boolean {
    return (lane === 'deliver' || lane === 'pull') && this.#periodOf(lane, nowMs) !== undefined;
  }

  #periodOf(lane: (typeof lanes)[number], nowMs: number): Period | undefined {
    if (this.schedule.quietHours.length === 0) return undefined;
    if (!this.#known || nowMs < this.#known.fromMs || nowMs >= this.#known.fromMs + dayMs) {
      const span = { fromMs: nowMs, toMs: nowMs + aheadMs };
      const of = (name: (typeof lanes)[number]) =>
        quietPeriods(this.schedule.quietHours, name, this.schedule.timeZone, span);
      this.#known = { fromMs: nowMs, periods: { deliver: of('deliver'), pull: of('pull') } };
    }
    return this.#known.periods[lane].find(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs);
  }
}
