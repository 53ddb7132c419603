import type { ServiceSettings } from '../../config/sections/service.js';
import type { JobContext } from '../../ops/job-context.js';
import { SendGate } from '../../outbound/deliver/send-gate.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import { reviseFinal } from '../../outbound/outbox/bindings.js';
import type { ServiceClient } from '../../service/service-client.js';
import { ordersToRead, staleOrders } from './order-reads.js';
import { readOrderBack } from './read-order-back.js';

const unknownLimitMs = 1_000;

/**
 * Time between the answer to one reading and the next reading, so that no more than this share of any limit is taken, evenly:
 * a limit of a day is not used up by noon. Pure.
 */
export function readBackSpacingMs(limits: ServiceSettings['limits'], maxShare: number): number {
  if (limits.length === 0) return unknownLimitMs;
  return Math.max(...limits.map(({ requests, perSeconds }) => (perSeconds * 1000) / (requests * maxShare)));
}

export interface ReadOrdersBackResult {
  read: number;
  changed: number;
  gone: number;
  /** Could not be read for a reason of their own. */
  failed: number;
  /** Why it ended before all that were due were read, or null. */
  stopped: string | null;
}

/** Few, because others change what is due meanwhile: a webhook, a removal. */
const batchSize = 20;
/** How often it looks whether what is more urgent has gone. */
const pollMs = 100;

/**
 * Reads the delivered orders that are due, the stalest first, one at a time: only while nothing else waits for the service, and
 * never more than `orders.readBack.maxShare` of any limit. Where it stops, the next run goes on.
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
  const gate = new SendGate(context, lease, '', true);
  for (;;) {
    const turn = { nowMs: nowMs(), everyMs: everyHours * 3_600_000, most: batchSize };
    const stale = await store.read('look for orders to read', (tx) =>
      staleOrders(tx, turn.nowMs - turn.everyMs, batchSize),
    );
    const due = ordersToRead(stale, turn);
    if (due.length === 0) return result;
    for (const { sourceKey } of due) {
      while (client.waiting > 0 && !signal?.aborted) await clock.sleep(pollMs, signal);
      const stopped = signal?.aborted ? 'stopping' : ((await heldBy(gate, client)) ?? null);
      if (stopped !== null) return { ...result, stopped };
      const one = await readOrderBack(context, client, lease, { sourceKey }, { signal, isPatient: true });
      if (one.kind === 'not_read' && !one.isItsOwn) return { ...result, stopped: one.reason };
      if (one.kind === 'read') result.read++;
      if (one.kind === 'gone') result.gone++;
      if (one.kind === 'not_read') result.failed++;
      if ('changed' in one && one.changed) result.changed++;
      await clock.sleep(spacingMs, signal);
    }
  }
}

async function heldBy(gate: SendGate, client: ServiceClient): Promise<string | null> {
  const state = await gate.state();
  const outage = state.pauses.find(({ cause }) => cause === 'outage');
  if (outage) return `the service is out of reach: ${outage.reason}`;
  return gate.blockedBy(state, 'pull')?.reason ?? client.usedUp?.reason ?? null;
}

/** Called once before the first run: other states may be final by now. */
export async function prepareReadBack({ settings }: JobContext, { lease }: Pick<ServiceLease, 'lease'>): Promise<void> {
  await lease.write('prepare to read orders back', async (tx) => {
    await reviseFinal(tx, settings.orders.readBack.finalStates);
  });
}
