import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';

/**
 * The passing of time in a process: leases, windows and waits are measured by it, never by the clock on the wall, which
 * may be set.
 */
export interface Clock {
  /** Milliseconds since a moment of its own; never goes back. */
  monotonicMs(): number;
  /** Resolves after so many milliseconds, or as soon as the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `work` after so many milliseconds, unless what it returns is called before. Does not keep the process alive. */
  after(ms: number, work: () => void): () => void;
}

/** Ends a sleep by `abort(noReason)`: without a reason, an error with its stack is made for it each time. */
export const noReason = 'over';

/** A clock that all processes of a machine share, and that goes on while they are down. */
export interface MachineClock extends Clock {
  /** Milliseconds since the machine started, and the name of that start: two moments compare only within one. */
  sinceBoot(): { bootId: string; bootMs: number };
}

/** The time on the wall clock at a moment, beside a clock that nobody can set. */
export interface ClockReading {
  bootId: string;
  bootMs: number;
  wallMs: number;
}

/** The most by which the clocks of two machines may differ, or one be set, without a word about it. */
export const clockToleranceMs = 5 * 60_000;

/** The clock on the wall, and the one that cannot be set. */
interface Clocks {
  nowMs: () => number;
  clock: MachineClock;
}

export function readClock({ nowMs, clock }: Clocks): ClockReading {
  return { ...clock.sinceBoot(), wallMs: nowMs() };
}

/**
 * Time that has surely passed between two moments. Pure. Within one start of the machine the clock on the wall has no say. Another
 * start may be an earlier one of this machine: then it has been up for as long at least; or one of another machine: then the
 * clocks on the wall count, as far as they can not differ.
 */
export function surelyPassedMs(since: ClockReading, now: ClockReading): number {
  if (since.bootId === now.bootId) return Math.max(0, now.bootMs - since.bootMs);
  return Math.max(0, Math.min(now.bootMs, now.wallMs - since.wallMs - clockToleranceMs));
}

/** The lead of the wall clock over the time since the machine started: it changes when the clock is set. */
export function wallLeadMs({ nowMs, clock }: Clocks): number {
  return nowMs() - clock.sinceBoot().bootMs;
}

/**
 * The number of milliseconds by which the clock was set since it had this lead; below 0 is back. Within the tolerance
 * it was not.
 */
export function clockSetSince(leadMs: number, context: Clocks): number {
  return clockSetBetween(leadMs, wallLeadMs(context));
}

/** The same between two leads. Pure. */
export function clockSetBetween(leadMs: number, laterLeadMs: number): number {
  const setMs = laterLeadMs - leadMs;
  return Math.abs(setMs) > clockToleranceMs ? setMs : 0;
}

let bootId: string | null = null;

/**
 * If the system does not name its starts, each process counts as one. A unit that hides /proc hands the name in,
 * without dashes.
 */
function readBootId(): string {
  const given = process.env.WAYBILL_BOOT_ID;
  if (given) return given.slice(0, 64);
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().replaceAll('-', '').slice(0, 64);
  } catch {
    const host = createHash('sha256').update(hostname()).digest('hex').slice(0, hostDigits);
    return `${unnamed}${host}-${randomUUID()}`;
  }
}

const unnamed = 'unnamed-';
const hostDigits = 16;

/**
 * Whose time since the start it is, where no more is asked than that at least so much passed. Pure. On a system that does not name
 * its starts this is the machine, for all of its processes: a start in between has measured less, never more.
 */
export function measuredBy(bootId: string): string {
  return bootId.startsWith(unnamed) ? bootId.slice(0, unnamed.length + hostDigits) : bootId;
}

/** To ask the system costs 5 µs, and each request asks several times. */
const readBootEveryMs = 1_000;
const sameStepMs = 50;
let reading = { bootMs: 0, wallMs: 0, monotonicMs: Number.NEGATIVE_INFINITY };

export const systemClock: MachineClock = {
  sinceBoot: () => {
    bootId ??= readBootId();
    const monotonicMs = performance.now();
    const wallMs = Date.now();
    const goneMs = monotonicMs - reading.monotonicMs;
    // If these two went different ways, the machine slept or the clock was set: then the system is asked at once.
    if (goneMs >= readBootEveryMs || Math.abs(wallMs - reading.wallMs - goneMs) > sameStepMs)
      reading = { bootMs: uptime() * 1000, wallMs, monotonicMs };
    return { bootId, bootMs: Math.round(reading.bootMs + monotonicMs - reading.monotonicMs) };
  },
  monotonicMs: () => performance.now(),
  // That of node:timers/promises makes an error with its stack for each sleep that is ended.
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener('abort', end);
    }),
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
};
