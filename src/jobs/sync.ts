import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceClient } from '../delivery/service-client.js';
import type { ErpReader, RowFilter } from '../erp/erp-reader.js';
import type { Entity } from '../model/entity.js';
import { countOpen, customersOfOrders, oldestOpenOrders } from '../outbox/open-messages.js';
import { type RecordedJob, recordSuccess } from '../store/job-runs.js';
import { requestWakeUp } from '../store/wake-ups.js';
import { type CaptureResult, capture } from './capture.js';
import { type DeliverResult, deliver } from './deliver.js';
import type { JobContext } from './job-context.js';
import { type PullResult, pull } from './pull.js';
import { ServiceLease } from './service-lease.js';

export type SyncStage = 'capture' | 'deliver' | 'pull';

export interface SyncOptions {
  stages: readonly SyncStage[];
  /** Only these rows of the ERP; nothing else is sent either. */
  filter?: { entity: Entity } & RowFilter;
  /** Only so many orders; nothing else is sent either. */
  limit?: number;
  force?: boolean;
  dryRun?: boolean;
  /** Sends to a production service that is not live yet. Only with a limit or a filter. */
  trial?: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: SyncProgress) => void;
}

export interface SyncProgress {
  stage: SyncStage;
  done: number;
  total: number | null;
}

export interface SyncResult {
  capture: CaptureResult | null;
  deliver: (DeliverResult & { watched: string | null }) | null;
  pull: PullResult | null;
  /** Messages that are still open in what was to be sent. */
  open: number;
}

/** A message that waits longer than this for its next try is left to the daemon or the next run. */
const retryHorizonMs = 30_000;

/** One pass now. Beside a running daemon it only writes to the store and watches the daemon do the rest. */
export async function sync(
  context: JobContext,
  partners: { reader: ErpReader; client: () => ServiceClient },
  options: SyncOptions,
): Promise<SyncResult> {
  const result: SyncResult = { capture: null, deliver: null, pull: null, open: 0 };
  if (options.stages.includes('capture')) {
    result.capture = await captureWhenFree(context, partners.reader, options);
    if (result.capture.stopped || options.dryRun) return result;
    await noteSuccess(context, 'capture');
  }
  const talks = options.stages.some((stage) => stage !== 'capture');
  if (!talks || options.dryRun) return result;

  const only = await scopeOf(context, options, result.capture);
  const answer = await ServiceLease.acquire(context, options.signal);
  if (!(answer instanceof ServiceLease)) return watch(context, options, result, answer.holder, only);
  try {
    const client = partners.client();
    if (options.stages.includes('deliver')) {
      const total = await countOpen(context.store, only);
      const progress = (done: DeliverResult) =>
        options.onProgress?.({
          stage: 'deliver',
          done: done.delivered.customers + done.delivered.orders + done.parked,
          total,
        });
      const delivered = await deliver(context, client, answer, {
        untilDrained: true,
        scope: { only },
        retryHorizonMs,
        trial: options.trial ?? false,
        erpIdentity: partners.reader.identity(),
        ...(options.signal ? { signal: options.signal } : {}),
        onProgress: progress,
      });
      result.deliver = { ...delivered, watched: null };
      result.open = await countOpen(context.store, only);
    }
    if (options.stages.includes('pull') && context.settings.invoices.enabled && !options.signal?.aborted) {
      result.pull = await pull(context, client, answer, {
        ...(options.signal ? { signal: options.signal } : {}),
        onProgress: ({ staged, total }) => options.onProgress?.({ stage: 'pull', done: staged, total }),
      });
      if (result.pull.outcome === 'complete') await noteSuccess(context, 'pull');
    }
  } finally {
    await answer.release();
  }
  return result;
}

async function noteSuccess({ store, nowMs }: JobContext, job: RecordedJob): Promise<void> {
  await store.transaction(`note how ${job} went`, (tx) => recordSuccess(tx, job, nowMs()));
}

/** The daemon's passes are short: its place is worth waiting for. */
async function captureWhenFree(context: JobContext, reader: ErpReader, options: SyncOptions): Promise<CaptureResult> {
  const giveUpAt = performance.now() + (context.settings.delivery.leaseSeconds + 5) * 1000;
  for (;;) {
    const result = await capture(context, reader, {
      ...(options.filter ? { filter: options.filter } : {}),
      ...(options.limit === undefined ? {} : { limit: options.limit }),
      force: options.force ?? false,
      dryRun: options.dryRun ?? false,
      sweep: true,
      ...(options.signal ? { signal: options.signal } : {}),
      onProgress: ({ read, total }) => options.onProgress?.({ stage: 'capture', done: read, total }),
    });
    if (!result.busy || performance.now() > giveUpAt || options.signal?.aborted) return result;
    await sleep(500);
  }
}

/** What a limited pass may send: what it wrote or was asked for, and the customers of those orders. */
async function scopeOf(
  context: JobContext,
  { filter, limit }: SyncOptions,
  captured: CaptureResult | null,
): Promise<Map<Entity, Set<string>> | null> {
  if (!filter && limit === undefined) return null;
  const orders = new Set<string>();
  const customers = new Set<string>();
  for (const record of captured?.touched ?? []) (record.entity === 'order' ? orders : customers).add(record.sourceKey);
  for (const key of filter?.keys ?? []) (filter?.entity === 'order' ? orders : customers).add(key);
  // "Five orders" also means those that were captured before and still wait.
  if (!filter && limit !== undefined && orders.size < limit)
    for (const key of await oldestOpenOrders(context.store, limit)) if (orders.size < limit) orders.add(key);
  for (const key of await customersOfOrders(context.store, [...orders])) customers.add(key);
  return new Map([
    ['order', orders],
    ['customer', customers],
  ]);
}

/** Somebody else delivers: wait until what we wrote is on its way, as long as that makes progress. */
async function watch(
  context: JobContext,
  options: SyncOptions,
  result: SyncResult,
  holder: string,
  only: Map<Entity, Set<string>> | null,
): Promise<SyncResult> {
  const { store, actor, nowMs } = context;
  if (options.stages.includes('pull'))
    await store.transaction('ask for a pull', (tx) => requestWakeUp(tx, 'pull', actor, nowMs()));
  const total = await countOpen(store, only);
  let open = total;
  let lastProgressAt = performance.now();
  while (options.stages.includes('deliver') && open > 0 && !options.signal?.aborted) {
    await sleep(300);
    const now = await countOpen(store, only);
    if (now < open) lastProgressAt = performance.now();
    open = now;
    options.onProgress?.({ stage: 'deliver', done: Math.max(0, total - open), total });
    if (performance.now() - lastProgressAt > retryHorizonMs) break;
  }
  result.open = open;
  result.deliver = {
    attempts: 0,
    delivered: { customers: 0, orders: 0 },
    parked: 0,
    flagged: 0,
    throttled: 0,
    inDoubt: 0,
    stopped: open > 0 ? `${holder} delivers, and ${open} messages are still open` : null,
    watched: holder,
  };
  return result;
}
