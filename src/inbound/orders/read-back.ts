import type { ServiceSettings } from '../../config/sections/service.js';
import type { Fact } from '../../model/facts/fact.js';
import type { JobContext } from '../../ops/job-context.js';
import { SendGate } from '../../outbound/deliver/send-gate.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import type { ReadState } from '../../outbound/outbox/binding-holders.js';
import { reviseFinal } from '../../outbound/outbox/bindings.js';
import type { ServiceClient } from '../../service/service-client.js';
import { clockToleranceMs } from '../../store/clock.js';
import type { Tx } from '../../store/store.js';
import { readOrder } from './read-order.js';

const unknownLimitMs = 1_000;

/**
 * Time between the answer to one reading and the next reading, so that readings take at most this share of any limit, evenly: a
 * limit of a day is not used up by noon. Pure.
 */
export function readBackSpacingMs(limits: ServiceSettings['limits'], maxShare: number): number {
  if (limits.length === 0) return unknownLimitMs;
  return Math.max(...limits.map(({ requests, perSeconds }) => (perSeconds * 1000) / (requests * maxShare)));
}

interface ReadableOrder {
  sourceKey: string;
  state: ReadState;
  /** When it was asked for last; null: never. */
  askedAt: number | null;
}

interface ReadingTurn {
  nowMs: number;
  everyMs: number;
  most: number;
}

/**
 * Which orders are read next: none that is final or was asked for less than `everyMs` ago, and those first that were asked for
 * longest ago. Pure.
 */
export function ordersToRead<T extends ReadableOrder>(
  orders: readonly T[],
  { nowMs, everyMs, most }: ReadingTurn,
): T[] {
  return orders
    .filter(({ state, askedAt }) => {
      if (state === 'final') return false;
      return askedAt === null || askedAt + everyMs <= nowMs || askedAt > nowMs + clockToleranceMs;
    })
    .sort(
      (a, b) =>
        (a.askedAt ?? Number.NEGATIVE_INFINITY) - (b.askedAt ?? Number.NEGATIVE_INFINITY) ||
        (a.sourceKey < b.sourceKey ? -1 : 1),
    )
    .slice(0, most);
}

/** Orders that were not asked for lately, the stalest of each state first. A time that lies ahead is that of a fast clock. */
async function staleOrders(tx: Tx, { nowMs, everyMs, most: limit }: ReadingTurn): Promise<ReadableOrder[]> {
  const orders: ReadableOrder[] = [];
  const most = Math.trunc(limit);
  const columns =
    "source_key, read_state AS state, read_asked_at AS asked_at FROM binding WHERE entity='order' AND read_state=?";
  for (const state of ['open', 'gone'] as const)
    orders.push(
      ...(await tx.rows<ReadableOrder>(
        `SELECT * FROM (SELECT ${columns} AND read_asked_at IS NULL LIMIT ${most}) AS never
          UNION ALL SELECT * FROM (SELECT ${columns} AND (read_asked_at<=? OR read_asked_at>?) ORDER BY read_asked_at LIMIT ${most}) AS lately`,
        [state, state, nowMs - everyMs, nowMs + clockToleranceMs],
      )),
    );
  return orders;
}

interface ReadOrdersBackResult {
  read: number;
  changed: number;
  gone: number;
  /** Could not be read for a reason of their own. */
  failed: number;
  /** Why it ended before all that were due were read, or null. */
  stopped: Fact | null;
}

/** Few, because webhooks and removals change meanwhile what is due. */
const batchSize = 20;
/** The interval at which it looks if more urgent requests have gone. */
const pollMs = 100;

/**
 * Reads the delivered orders that are due, the stalest first, one at a time, only while nothing else waits for the
 * service, and with at most `orders.readBack.maxShare` of any limit. The place where it stops, and the next run goes
 * on.
 */
export async function readOrdersBack(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  signal?: AbortSignal,
): Promise<ReadOrdersBackResult> {
  const { store, settings, nowMs, clock } = context;
  const { everyHours, maxShare } = settings.orders.readBack;
  const result: ReadOrdersBackResult = { read: 0, changed: 0, gone: 0, failed: 0, stopped: null };
  const spacingMs = readBackSpacingMs(settings.service.limits, maxShare);
  const gate = new SendGate(context, lease, null);
  for (;;) {
    const turn = { nowMs: nowMs(), everyMs: everyHours * 3_600_000, most: batchSize };
    const stale = await store.read('look for orders to read', (tx) => staleOrders(tx, turn));
    const due = ordersToRead(stale, turn);
    if (due.length === 0) return result;
    for (const { sourceKey } of due) {
      while (client.rateLimiter.waiting > 0 && !signal?.aborted) await clock.sleep(pollMs, signal);
      const stopped = signal?.aborted ? ({ code: 'stopping' } as const) : await heldBy(gate, client);
      if (stopped !== null) return { ...result, stopped };
      const one = await readOrder(context, client, lease, { sourceKey }, { signal, isPatient: true });
      if (one.kind === 'not_read' && !one.isItsOwn) return { ...result, stopped: one.reason };
      if (one.kind === 'read') result.read++;
      if (one.kind === 'gone') result.gone++;
      if (one.kind === 'not_read') result.failed++;
      if ('changed' in one && one.changed) result.changed++;
      await clock.sleep(spacingMs, signal);
    }
  }
}

async function heldBy(gate: SendGate, client: ServiceClient): Promise<Fact | null> {
  const state = await gate.state();
  const outage = state.pauses.find(({ cause }) => cause === 'outage');
  if (outage) return { code: 'outage', reason: outage.reason };
  return gate.blockedBy(state, 'pull')?.reason ?? client.rateLimiter.usedUp?.reason ?? null;
}

/** To be called once before the first run: the settings may name other final states by now. */
export async function prepareReadBack({ settings }: JobContext, lease: Pick<ServiceLease, 'write'>): Promise<void> {
  await lease.write('prepare to read orders back', (tx) => reviseFinal(tx, settings.orders.readBack.finalStates));
}
