import { sync } from '../src/operator/sync.js';
import { withBenchLab } from './bench-lab.js';

export interface RateOptions {
  orders: number;
  requestsPerSecond: number;
  /** Each request takes a random time up to this, on the way there and back. */
  maxDelayMs: number;
}

export interface RateResult {
  limit: string;
  delayMs: [number, number];
  orders: number;
  seconds: number;
  /** Requests, by what the limit allows in the time from the first to the last. */
  utilisation: number;
  /** Answers of 429. */
  throttled: number;
  /** Most requests that the service saw in any window of a second. */
  busiestWindow: number;
  duplicates: number;
}

/** Delivers waiting orders under a sliding-window limit and says how much of it was used. */
export async function rate({ orders, requestsPerSecond, maxDelayMs }: RateOptions): Promise<RateResult> {
  const lab = {
    installation: 'bench-rate',
    orders,
    sandbox: {
      limits: [{ requests: requestsPerSecond, windowMs: 1000 }],
      delayMs: [0, maxDelayMs] as const,
    },
    limits: [{ requests: requestsPerSecond, perSeconds: 1 }],
  };
  return withBenchLab(lab, async ({ app, sandbox }) => {
    await sync(app.context, { reader: await app.reader(), client: app.client }, { stages: ['capture', 'deliver'] });
    const arrivals = sandbox
      .ledger()
      .requests.map((request) => request.monotonic_ms)
      .sort((a, b) => a - b);
    const seconds = ((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)) / 1000;
    return {
      limit: `${requestsPerSecond}/s`,
      delayMs: [0, maxDelayMs],
      orders: sandbox.counts().orders,
      seconds: round(seconds),
      utilisation: round(arrivals.length / (seconds * requestsPerSecond + requestsPerSecond)),
      throttled: sandbox.counts().throttled,
      busiestWindow: busiest(arrivals, 1000),
      duplicates: sandbox.counts().duplicateReferences,
    };
  });
}

function busiest(arrivals: readonly number[], windowMs: number): number {
  let most = 0;
  let start = 0;
  for (let end = 0; end < arrivals.length; end++) {
    while ((arrivals[end] as number) - (arrivals[start] as number) >= windowMs) start++;
    most = Math.max(most, end - start + 1);
  }
  return most;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
