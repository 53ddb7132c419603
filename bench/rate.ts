import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApp } from '../src/app.js';
import { settingsFrom } from '../src/config/load-settings.js';
import { sync } from '../src/jobs/sync.js';
import { createSampleErp } from '../src/sample-erp/create-sample-erp.js';
import { sampleErpMapping } from '../src/sample-erp/sample-erp-mapping.js';
import { startSandbox } from '../src/sandbox/start-sandbox.js';

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
export async function rate(options: RateOptions): Promise<RateResult> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-bench-'));
  const sandbox = await startSandbox({
    limits: [{ requests: options.requestsPerSecond, windowMs: 1000 }],
    delayMs: [0, options.maxDelayMs],
  });
  const file = join(folder, 'erp.sqlite');
  await createSampleErp({ target: { type: 'sqlite', file }, customers: 100, orders: options.orders });
  const settings = settingsFrom({
    ...sampleErpMapping,
    installation: 'bench-rate',
    erp: { ...sampleErpMapping.erp, type: 'sqlite', file },
    store: { type: 'sqlite', file: join(folder, 'waybill.sqlite') },
    service: {
      environment: 'sandbox',
      baseUrl: sandbox.url,
      token: 'sandbox-token',
      limits: [{ requests: options.requestsPerSecond, perSeconds: 1 }],
    },
    log: { level: 'error' },
  });
  const app = await openApp({ settings, role: 'bench', log: 'stderr' });
  try {
    await sync(app.context, { reader: app.reader(), client: app.client }, { stages: ['capture', 'deliver'] });
    const arrivals = sandbox
      .ledger()
      .requests.map((request) => request.monotonic_ms)
      .sort((a, b) => a - b);
    const seconds = ((arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0)) / 1000;
    return {
      limit: `${options.requestsPerSecond}/s`,
      delayMs: [0, options.maxDelayMs],
      orders: sandbox.counts().orders,
      seconds: round(seconds),
      utilisation: round(arrivals.length / (seconds * options.requestsPerSecond + options.requestsPerSecond)),
      throttled: sandbox.counts().throttled,
      busiestWindow: busiest(arrivals, 1000),
      duplicates: sandbox.counts().duplicateReferences,
    };
  } finally {
    await app.close();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  }
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
