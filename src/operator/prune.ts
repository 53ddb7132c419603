import { appendAudit, pruneAudit } from '../audit/audit-log.js';
import { prunePulls } from '../inbound/invoices/pull-record.js';
import { pruneEvents } from '../inbound/webhooks/webhook-rows.js';
import type { JobContext } from '../ops/job-context.js';
import { pruneAlerts } from '../store/alerts.js';
import type { Lease } from '../store/lease.js';
import type { Tx } from '../store/store.js';
import { deleteMessages, eraseBodies, oldMessages, pruneAttempts, pruneDecision } from './prune-messages.js';

/** How many rows were removed. */
export interface PruneResult {
  messages: number;
  bodies: number;
  excerpts: number;
  attempts: number;
  audit: number;
  pulls: number;
  alerts: number;
  webhooks: number;
}

interface Batch {
  removed: Partial<PruneResult>;
  more: boolean;
  lastId?: number;
}

const dayMs = 86_400_000;
/** Between two batches others get their turn: a SQLite store has one writer. */
const breathMs = 20;

/**
 * Forgets what is older than the settings say, in batches, each a transaction of its own under the lease. Bindings stay, and
 * so does whatever is open, parked, or alone remembers a record.
 */
export async function prune(context: JobContext, lease: Lease, signal?: AbortSignal): Promise<PruneResult> {
  const { store, settings, nowMs, clock, actor } = context;
  const { messagesDays, bodiesDays, auditDays, batchSize } = settings.retention;
  const at = nowMs();
  const horizons = { messagesBefore: at - messagesDays * dayMs, bodiesBefore: at - bodiesDays * dayMs };
  const auditBefore = at - auditDays * dayMs;
  const total: PruneResult = {
    messages: 0,
    bodies: 0,
    excerpts: 0,
    attempts: 0,
    audit: 0,
    pulls: 0,
    alerts: 0,
    webhooks: 0,
  };

  /** One batch after the other until `work` says that it was the last; nothing counts that was not committed. */
  const inBatches = async (work: (tx: Tx, afterId: number) => Promise<Batch>) => {
    let afterId = 0;
    for (let more = true; more && !signal?.aborted; ) {
      const batch = await lease.write('prune', async (tx) => {
        return work(tx, afterId);
      });
      for (const name of Object.keys(batch.removed) as (keyof PruneResult)[]) total[name] += batch.removed[name] ?? 0;
      more = batch.more;
      afterId = batch.lastId ?? afterId;
      if (more) await clock.sleep(breathMs, signal);
    }
  };

  await inBatches(async (tx, afterId) => {
    const page = await oldMessages(tx, afterId, batchSize);
    const decided = page.map((message) => ({ id: message.id, decision: pruneDecision(message, horizons) }));
    const chosen = (wanted: string) => decided.filter(({ decision }) => decision === wanted).map(({ id }) => id);
    const erased = await eraseBodies(tx, chosen('body'));
    const deleted = await deleteMessages(tx, chosen('message'));
    const youngest = Math.max(horizons.messagesBefore, horizons.bodiesBefore);
    return {
      removed: { ...deleted, bodies: erased.bodies + deleted.bodies, excerpts: erased.excerpts + deleted.excerpts },
      lastId: page.at(-1)?.id ?? afterId,
      // Ids grow with time: behind a page that is all young there is nothing old.
      more: page.length === batchSize && page.some(({ capturedAt }) => capturedAt < youngest),
    };
  });
  await inBatches(async (tx, afterId) => {
    const { attempts, lastId, more } = await pruneAttempts(tx, horizons.messagesBefore, afterId, batchSize);
    return { removed: { attempts }, lastId, more };
  });
  await inBatches(async (tx) => {
    const audit = await pruneAudit(tx, auditBefore, batchSize);
    return { removed: { audit }, more: audit === batchSize };
  });
  await inBatches(async (tx) => {
    const pulls = await prunePulls(tx, auditBefore, batchSize);
    return { removed: { pulls }, more: pulls === batchSize };
  });
  await inBatches(async (tx) => {
    const webhooks = await pruneEvents(tx, horizons.bodiesBefore, batchSize);
    return { removed: { webhooks }, more: webhooks === batchSize };
  });
  await inBatches(async (tx) => ({ removed: { alerts: await pruneAlerts(tx, auditBefore) }, more: false }));

  if (Object.values(total).some((count) => count > 0))
    await store.transaction('note what was pruned', (tx) =>
      appendAudit(tx, [{ event: 'prune', actor, detail: { ...total, messagesDays, bodiesDays, auditDays } }], nowMs()),
    );
  return total;
}
