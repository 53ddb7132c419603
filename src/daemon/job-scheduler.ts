import cron, { type ScheduledTask } from 'node-cron';
import type { Logger } from 'winston';

/** Resolves when the run is over; never rejects. */
type Job = () => Promise<unknown>;

/** How often the scheduler looks whether the clock was set, and by how much at least. */
const lookMs = 1_000;
const leastStepMs = 5_000;

/**
 * The daemon's only scheduler. A job runs by its cron pattern or every so often, and at once when something asks for it. It
 * never overlaps itself; a failure is logged, and the next run tries again.
 */
export class JobScheduler {
  readonly #planned: { plan: () => ScheduledTask; task: ScheduledTask }[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #running = new Set<Promise<unknown>>();

  /**
   * @param signal no job starts once it has aborted
   * @param beat called every second for as long as jobs are started
   */
  constructor(
    private readonly log: Logger,
    private readonly timeZone: string,
    private readonly signal: AbortSignal,
    private readonly beat: () => void = () => undefined,
  ) {
    this.#timers.push(setInterval(this.#clockWatch(), lookMs).unref());
  }

  /** Makes a job of `run`. Asked for while it runs, it answers with the run under way. */
  job(name: string, run: () => Promise<unknown>): Job {
    let current: Promise<unknown> | null = null;
    return () => {
      if (current || this.signal.aborted) return current ?? Promise.resolve();
      const started = run()
        .catch((error: Error) => this.log.error(`${name} failed`, { error: error.message }))
        .finally(() => {
          this.#running.delete(started);
          current = null;
        });
      this.#running.add(started);
      current = started;
      return started;
    };
  }

  /** Runs the job from now on whenever the pattern matches (six fields: seconds come first). */
  schedule(name: string, pattern: string, job: Job): void {
    const quietly = (message: string | Error) =>
      this.log.debug(`schedule: ${(message as Error).message ?? message}`, { job: name });
    const logger = { debug: quietly, info: quietly, warn: quietly, error: quietly };
    const timezone = zoneOf(pattern, this.timeZone);
    const plan = () => cron.schedule(pattern, job, { name, timezone, noOverlap: true, logger });
    this.#planned.push({ plan, task: plan() });
  }

  /**
   * Plans every pattern anew when the clock was set: node-cron has worked out a time, and waits for it however far the clock
   * was set back; set forward, it works through every second in between.
   */
  #clockWatch(): () => void {
    const lead = () => Date.now() - performance.now();
    let known = lead();
    return () => {
      this.beat();
      const isSet = Math.abs(lead() - known) > leastStepMs;
      known = lead();
      if (!isSet) return;
      this.log.warn('The clock was set; the schedule starts over');
      for (const planned of this.#planned) {
        void planned.task.destroy();
        planned.task = planned.plan();
      }
    };
  }

  /**
   * Runs the job from now on every so many milliseconds. For looks that must go on while the clock is set, where a pattern
   * would wait for a moment.
   */
  every(ms: number, job: Job): void {
    this.#timers.push(setInterval(() => void job(), ms));
  }

  /** Starts no more jobs, and waits for those under way. */
  async stop(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    for (const { task } of this.#planned.splice(0)) await task.destroy();
    await Promise.allSettled(this.#running);
  }
}

/**
 * The time zone in which node-cron works a pattern out. Where clocks are set back, node-cron passes over the hour that comes
 * twice, and every job would rest for so long. A pattern that means the same in all zones (their offsets are multiples of
 * 15 minutes) is therefore worked out in UTC. Pure.
 */
export function zoneOf(pattern: string, timeZone: string): string {
  return /^(\S+ )?\*(\/(1|3|5|15))?( \*){4}$/.test(pattern.trim().replace(/\s+/g, ' ')) ? 'UTC' : timeZone;
}
