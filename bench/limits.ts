import type { LedgerRequest } from '../src/lab/sandbox/ledger.js';
import { type BenchLabOptions, withBenchLab } from './bench-lab.js';
import { captureAll, deliverUntil } from './jobs.js';

export interface Limit {
  requests: number;
  perSeconds: number;
}

export interface LimitResult {
  limit: string;
  delayMs: [number, number];
  /** The share of the possible request rate that was used. */
  utilisation: number;
  /** Answers of 429. */
  throttled: number;
}

export interface UnknownLimitResult extends LimitResult {
  /** Answers of 429 among all of them. */
  throttledShare: number;
}

/** Everything is measured at least this long, and the limit of a minute longer, because it needs whole windows. */
export const standardLimits: readonly (Limit & { seconds: number })[] = [
  { requests: 1, perSeconds: 1, seconds: 20 },
  { requests: 10, perSeconds: 1, seconds: 20 },
  { requests: 50, perSeconds: 1, seconds: 20 },
  { requests: 200, perSeconds: 1, seconds: 20 },
  { requests: 600, perSeconds: 60, seconds: 90 },
];
export const standardDelaysMs: readonly [number, number][] = [
  [0, 20],
  [150, 250],
];

/** Delivers orders under a configured limit for at least so many seconds, and says how much of it was used. */
export async function limitUse(limit: Limit, delayMs: [number, number], seconds: number): Promise<LimitResult> {
  const windows = Math.ceil(seconds / limit.perSeconds);
  const needed = windows * limit.requests + 1;
  const requests = await deliverFor(
    { orders: needed + 500, limits: [limit], sandbox: sandboxOf(limit, delayMs) },
    // A pace that falls short by far is shown as what it is, and not waited for.
    (windows * limit.perSeconds + 10) * 3000,
    needed,
  );
  return {
    limit: inWords(limit),
    delayMs,
    utilisation: round(utilisation(acceptedAt(requests), limit, windows)),
    throttled: requests.filter(({ throttled }) => throttled).length,
  };
}

/** The same where nobody told us of the limit: what is used of it from the second minute on. */
export async function unknownLimitUse(
  limit: Limit,
  delayMs: [number, number],
  seconds: number,
): Promise<UnknownLimitResult> {
  const orders = Math.ceil((limit.requests / limit.perSeconds) * seconds) + limit.requests;
  const requests = await deliverFor({ orders, limits: [], sandbox: sandboxOf(limit, delayMs) }, seconds * 1000);
  const [first] = requests;
  const fromMs = (first?.monotonic_ms ?? 0) + 60_000;
  const toMs = (first?.monotonic_ms ?? 0) + seconds * 1000;
  const later = requests.filter(({ monotonic_ms: at }) => at >= fromMs && at < toMs);
  const throttled = later.filter((request) => request.throttled).length;
  const allowed = (limit.requests / limit.perSeconds) * (seconds - 60);
  return {
    limit: `${inWords(limit)}, not configured`,
    delayMs,
    utilisation: round(acceptedAt(later).length / allowed),
    throttled,
    throttledShare: round(throttled / later.length),
  };
}

/**
 * The number of windows that the requests took: from the first one to the start of the next window after the last. A
 * burst at the beginning or at the end gains nothing by that. Pure.
 * @returns what falls short of the requests counts as nothing: 0
 */
export function utilisation(acceptedAtMs: readonly number[], limit: Limit, windows: number): number {
  const first = acceptedAtMs[0];
  const after = acceptedAtMs[limit.requests * windows];
  if (first === undefined || after === undefined) return 0;
  return (windows * limit.perSeconds * 1000) / (after - first);
}

/** The whole way of a daemon: claims, gate, pacer, sockets, settling. @returns what arrived at the service, in order */
async function deliverFor(
  lab: Omit<BenchLabOptions, 'installation'>,
  mostMs: number,
  enough = Number.POSITIVE_INFINITY,
): Promise<LedgerRequest[]> {
  return withBenchLab({ ...lab, installation: 'bench-limits' }, async ({ app, sandbox }) => {
    await captureAll(app);
    const done = new AbortController();
    const timer = setTimeout(() => done.abort(), mostMs);
    await deliverUntil(app, done.signal, ({ delivered }) => {
      if (delivered.customers + delivered.orders >= enough) done.abort();
    }).finally(() => clearTimeout(timer));
    return [...sandbox.ledger().requests].sort((a, b) => a.monotonic_ms - b.monotonic_ms);
  });
}

function sandboxOf({ requests, perSeconds }: Limit, delayMs: [number, number]): BenchLabOptions['sandbox'] {
  return { limits: [{ requests, windowMs: perSeconds * 1000 }], delayMs };
}

function acceptedAt(requests: readonly LedgerRequest[]): number[] {
  return requests.filter(({ status }) => status !== null && status < 300).map((request) => request.monotonic_ms);
}

function inWords({ requests, perSeconds }: Limit): string {
  if (perSeconds === 1) return `${requests}/s`;
  return perSeconds === 60 ? `${requests}/min` : `${requests} in ${perSeconds} s`;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
