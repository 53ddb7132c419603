import { setTimeout as sleep } from 'node:timers/promises';
import type { ErpReader, RowFilter } from '../erp/erp-reader.js';
import type { ErpWriter } from '../erp/write-back/erp-writer.js';
import { type PullResult, pull } from '../inbound/invoices/pull.js';
import { lastPull } from '../inbound/invoices/pull-record.js';
import { type WriteBackResult, writeBack } from '../inbound/write-back/write-back.js';
import { type Entity, inSource, sourceNames } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { capture } from '../outbound/capture/capture.js';
import type { CaptureResult } from '../outbound/capture/capture-result.js';
import { deliver } from '../outbound/deliver/deliver.js';
import { type DeliverResult, emptyDeliverResult } from '../outbound/deliver/delivery-tally.js';
import { recallRequests, tryNewCredential } from '../outbound/deliver/lane-keeper.js';
import { nextLookUpAt } from '../outbound/deliver/look-up.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import { ServiceLease } from '../outbound/deliver/service-lease.js';
import type { ServiceClient } from '../service/service-client.js';
import { type RecordedJob, recordSuccess, requestWakeUp } from '../store/job-runs.js';
import { type Condition, joinConditions, placeholders } from '../store/rows.js';
import type { Store } from '../store/store.js';
import { countMessages } from './list-messages.js';

/** The number of messages that are pending, being sent or in doubt; with `only`, of these records. */
export async function countOpen(store: Store, only: ReadonlyMap<Entity, ReadonlySet<string>> | null): Promise<number> {
  const keysOf = [...(only ?? [])].filter(([, keys]) => keys.size > 0);
  const ofRecords = keysOf.map(
    ([entity, keys]): Condition => [`entity=? AND source_key IN ${placeholders(keys.size)}`, entity, ...keys],
  );
  const { where, parameters } = joinConditions(only ? 'OR' : 'AND', ofRecords);
  const sql = `SELECT COUNT(*) FROM outbox_message WHERE state IN ('pending','sending','in_doubt') AND (${where})`;
  return (await store.read('count open messages', (tx) => tx.value<number>(sql, parameters))) ?? 0;
}

/** Keys of the customers that these orders wait for. */
export async function customersOfOrders(store: Store, orderKeys: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (let start = 0; start < orderKeys.length; start += 500) {
    const chunk = orderKeys.slice(start, start + 500);
    const rows = await store.read('look for the customers of orders', (tx) =>
      tx.rows<{ customerKey: string }>(
        `SELECT DISTINCT customer_key FROM outbox_message
          WHERE entity='order' AND customer_key IS NOT NULL AND source_key IN ${placeholders(chunk.length)}`,
        chunk,
      ),
    );
    for (const row of rows) found.add(row.customerKey);
  }
  return [...found];
}

/** Keys of the orders that have waited longest. */
async function oldestOpenOrders(store: Store, limit: number): Promise<string[]> {
  const rows = await store.read('look for the oldest open orders', (tx) =>
    tx.rows<{ sourceKey: string }>(
      `SELECT source_key FROM outbox_message WHERE entity='order' AND state IN ('pending','in_doubt') ORDER BY id LIMIT ${Math.trunc(limit)}`,
    ),
  );
  return rows.map(({ sourceKey }) => sourceKey);
}

export type SyncStage = 'capture' | 'deliver' | 'pull';

export interface SyncOptions {
  stages: readonly SyncStage[];
  /** Only these rows of the ERP; nothing else is sent either. */
  filter?: { entity: Entity } & RowFilter;
  /** Only so many orders; nothing else is sent either. */
  limit?: number;
  force?: boolean;
  /** The only source to read, if there are several; due messages of the others are sent all the same. */
  source?: string;
  dryRun?: boolean;
  /** Sends to a production service that is not live yet. Only with a limit or a filter. */
  trial?: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: SyncProgress) => void;
}

interface SyncProgress {
  stage: SyncStage;
  done: number;
  total: number | null;
}

export interface SyncResult {
  capture: CaptureResult | null;
  deliver: (DeliverResult & { watched: string | null }) | null;
  pull: PullResult | null;
  /** null: it is off, or nothing was delivered or pulled. */
  writeBack: WriteBackResult | null;
  /** Messages that are still open in what was to be sent. */
  open: number;
  /** All messages that wait for a person when the run ends, also those of earlier runs. */
  parked: number;
}

/** A message that waits longer than this for its next try is left to the daemon or the next run. */
const retryHorizonMs = 30_000;

/** One pass now. Beside a running daemon it only writes to the store and watches the daemon do the rest. */
export async function sync(
  context: JobContext,
  partners: {
    reader: ErpReader;
    client: () => Promise<ServiceClient> | ServiceClient;
    writer?: () => Promise<ErpWriter | null> | ErpWriter | null;
  },
  options: SyncOptions,
): Promise<SyncResult> {
  const result = await syncStages(context, partners, options);
  result.parked = await context.store.read('count what is parked', (tx) => countMessages(tx, { states: ['parked'] }));
  const writer = result.deliver || result.pull ? await partners.writer?.() : null;
  if (writer && !options.signal?.aborted)
    result.writeBack = await writeBack(
      context,
      { writer, reader: partners.reader },
      { triesAtOnce: true, signal: options.signal },
    );
  return result;
}

async function syncStages(
  context: JobContext,
  partners: { reader: ErpReader; client: () => Promise<ServiceClient> | ServiceClient },
  options: SyncOptions,
): Promise<SyncResult> {
  const result: SyncResult = { capture: null, deliver: null, pull: null, writeBack: null, open: 0, parked: 0 };
  if (options.stages.includes('capture')) {
    result.capture = await captureWhenFree(context, partners.reader, options);
    const paused = result.capture.paused && !options.signal?.aborted;
    if (options.dryRun || (result.capture.stopped && !paused)) return result;
    const { failed } = result.capture;
    for (const source of paused ? [] : sourceNames(context.settings))
      if ((options.source ?? source) === source && !failed.some((one) => one.source === source))
        await noteSuccess(context, inSource('capture', source));
  }
  const talks = options.stages.some((stage) => stage !== 'capture');
  if (!talks || options.dryRun) return result;

  const only = await scopeOf(context, options, result.capture);
  const answer = await ServiceLease.acquire(context, options.signal);
  const lease = answer instanceof ServiceLease ? answer : await watch(context, options, result, answer.holder, only);
  if (!lease) return result;
  result.deliver = null;
  try {
    const client = await partners.client();
    await recallRequests(context, client.rateLimiter, lease);
    await tryNewCredential(context, client, lease);
    if (options.stages.includes('deliver')) {
      const total = await countOpen(context.store, only);
      const progress = (done: DeliverResult) =>
        options.onProgress?.({
          stage: 'deliver',
          done: done.delivered.customers + done.delivered.orders + done.adopted.customers + done.parked,
          total,
        });
      const delivered = await deliver(context, client, lease, {
        untilDrained: true,
        scope: { only },
        retryHorizonMs,
        trial: options.trial ?? false,
        erp: partners.reader,
        signal: options.signal,
        onProgress: progress,
      });
      result.deliver = { ...delivered, watched: null };
      result.open = await countOpen(context.store, only);
    }
    if (options.stages.includes('pull') && context.settings.invoices.enabled && !options.signal?.aborted) {
      result.pull = await pull(context, client, lease, {
        signal: options.signal,
        onProgress: ({ staged, total }) => options.onProgress?.({ stage: 'pull', done: staged, total }),
      });
      if (result.pull.outcome === 'proven' || result.pull.outcome === 'unproven') await noteSuccess(context, 'pull');
    }
  } finally {
    await lease.release();
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
      filter: options.filter,
      limit: options.limit,
      force: options.force,
      source: options.source,
      dryRun: options.dryRun,
      sweep: true,
      signal: options.signal,
      onProgress: ({ read, total }) => options.onProgress?.({ stage: 'capture', done: read, total }),
    });
    if (!result.busy || performance.now() > giveUpAt || options.signal?.aborted) return result;
    await sleep(500);
  }
}

/** The records that a limited pass may send: its own, those that it was asked for, and the customers of those orders. */
async function scopeOf(
  context: JobContext,
  { filter, limit }: SyncOptions,
  captured: CaptureResult | null,
): Promise<Map<Entity, Set<string>> | null> {
  // A range of dates may hold a million records. Captured messages are due, and so are all others: no scope is needed.
  if (!filter?.keys && limit === undefined) return null;
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

/**
 * Another process delivers: wait until it has sent what we wrote, as long as it makes progress. A deliverer that was killed
 * keeps the lease until it ends; then it is ours.
 * @returns the lease when it came free before the work was done, else null
 */
async function watch(
  context: JobContext,
  options: SyncOptions,
  result: SyncResult,
  holder: string,
  only: Map<Entity, Set<string>> | null,
): Promise<ServiceLease | null> {
  const { store, actor, nowMs, settings } = context;
  const asked = (stage: SyncStage) => options.stages.includes(stage) && (stage !== 'pull' || settings.invoices.enabled);
  const quiet = new QuietClock(settings.schedule).pauses(nowMs()).filter(({ lane }) => asked(lane as SyncStage));
  const waitsFor = (stage: SyncStage) => asked(stage) && !quiet.some(({ lane }) => lane === stage);
  const pulls = waitsFor('pull');
  const pullBefore = await store.read('look at the last pull', lastPull);
  if (pulls) await store.transaction('ask for a pull', (tx) => requestWakeUp(tx, 'pull', actor, nowMs()));
  const delivers = waitsFor('deliver');
  const total = delivers ? await countOpen(store, only) : 0;
  const patienceMs = Math.max(retryHorizonMs, settings.delivery.leaseSeconds * 1000 + 5_000);
  // A conflict is parked while it is looked up, and sent again where nothing was found.
  const isLookedUp = async () => {
    const at = delivers ? await nextLookUpAt(context, only) : null;
    return at !== null && at <= nowMs() + retryHorizonMs;
  };
  let open = total;
  let pulled = !pulls;
  let lastProgressAt = performance.now();
  let lastAskedAt = lastProgressAt;
  while (
    (open > 0 || !pulled || (await isLookedUp())) &&
    !options.signal?.aborted &&
    performance.now() - lastProgressAt <= patienceMs
  ) {
    await sleep(300);
    const now = delivers ? await countOpen(store, only) : 0;
    if (now < open) lastProgressAt = performance.now();
    open = now;
    const newest = pulled ? null : await store.read('look at the last pull', lastPull);
    // One that was cut short keeps its number when it is gone on with.
    const isAnother = newest?.id !== pullBefore?.id || newest?.endedAt !== pullBefore?.endedAt;
    pulled ||= newest !== null && newest.endedAt !== null && isAnother;
    options.onProgress?.({ stage: 'deliver', done: Math.max(0, total - open), total });
    if (performance.now() - lastAskedAt < 1_000) continue;
    lastAskedAt = performance.now();
    const answer = await ServiceLease.acquire(context, options.signal);
    if (answer instanceof ServiceLease) return answer;
  }
  result.open = asked('deliver') ? await countOpen(store, only) : 0;
  const isDone = quiet.length === 0 && open === 0 && pulled;
  result.deliver = {
    ...emptyDeliverResult(),
    stopped: isDone
      ? null
      : {
          code: 'left_to_holder',
          holder,
          quiet: quiet.map(({ lane, reason }) => ({ lane, reason })),
          open: result.open,
          pulled,
        },
    watched: holder,
  };
  return null;
}
