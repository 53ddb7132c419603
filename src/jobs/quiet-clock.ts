import { DateTime } from 'luxon';
import type { Settings } from '../config/settings.js';
import type { LanePause } from '../store/lane-pauses.js';
import { type Period, quietPeriods } from './quiet-periods.js';

const lanes = ['deliver', 'pull'] as const;
const dayMs = 24 * 3_600_000;
/** Longer than a week of quiet days that meet, so that the end of a long one is seen. */
const aheadMs = 10 * dayMs;

/** Tells which lanes are quiet now. Periods are worked out once a day, because every request asks. */
export class QuietClock {
  readonly #schedule: Pick<Settings['schedule'], 'quietHours' | 'timeZone'>;
  #known: { fromMs: number; periods: Record<(typeof lanes)[number], Period[]> } | null = null;

  constructor(schedule: Pick<Settings['schedule'], 'quietHours' | 'timeZone'>) {
    this.#schedule = schedule;
  }

  /** As a pause of the lane that nobody has to write down or to end. */
  pauses(nowMs: number): LanePause[] {
    const { timeZone } = this.#schedule;
    return lanes.flatMap((lane) => {
      const period = this.#periodOf(lane, nowMs);
      if (!period) return [];
      const until = DateTime.fromMillis(period.toMs, { zone: timeZone });
      const isSoon = period.toMs - nowMs < dayMs;
      return [
        {
          lane,
          cause: 'quiet' as const,
          until_at: period.toMs,
          reason: `quiet until ${until.toFormat(isSoon ? 'HH:mm' : 'yyyy-MM-dd HH:mm')} ${timeZone} (schedule.quietHours)`,
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
    if (this.#schedule.quietHours.length === 0) return undefined;
    if (!this.#known || nowMs < this.#known.fromMs || nowMs >= this.#known.fromMs + dayMs) {
      const span = { fromMs: nowMs, toMs: nowMs + aheadMs };
      const of = (name: (typeof lanes)[number]) =>
        quietPeriods(this.#schedule.quietHours, name, this.#schedule.timeZone, span);
      this.#known = { fromMs: nowMs, periods: { deliver: of('deliver'), pull: of('pull') } };
    }
    return this.#known.periods[lane].find(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs);
  }
}
