import { appendAudit } from '../audit/audit-log.js';
import { type AuditWalk, auditStart, pruneAudit } from '../audit/prune-audit.js';
import { prunePulls } from '../inbound/invoices/pull-record.js';
import { pruneEvents } from '../inbound/webhooks/webhook-rows.js';
import type { JobContext } from '../ops/job-context.js';
import { eraseExcerpts } from '../outbound/deliver/attempts.js';
import { keepNumbers } from '../outbound/outbox/bindings.js';
import type { MessageState } from '../outbound/outbox/message.js';
import { pruneAlerts } from '../store/alerts.js';
import { clockToleranceMs } from '../store/clock.js';
import { type Horizon, horizonOf, lookAtClocks, type PassedTime } from '../store/elapsed-time.js';
import type { Lease } from '../store/lease.js';
import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { deleteStoreInfo, readStoreInfo, writeStoreInfo } from '../store/store-info.js';
import { doubtInWords } from './clock-doubt.js';
import { quotaLeft, spendQuota } from './prune-quota.js';
import { pruneFindings, pruneRuns } from './reconcile/reconcile-rows.js';

/** The facts that decide if a message may be forgotten. */
export interface OldMessage {
  id: number;
  state: MessageState;
  revision: number;
  contentHash: string | null;
  capturedAt: number;
  closedAt: number | null;
  /** True if a newer message of the same record exists. */
  newer: boolean;
  binding: { revision: number; contentHash: string | null } | null;
  hasBody: boolean;
}

interface Horizons {
  /** Messages that were closed before are forgotten. */
  messagesBefore: Horizon;
  bodiesBefore: Horizon;
}

const closedStates: readonly MessageState[] = ['delivered', 'superseded', 'discarded'];

/** The fate of an old message. Pure; one question a paragraph. */
export function pruneDecision(message: OldMessage, horizons: Horizons): 'keep' | 'body' | 'message' {
  // An open message will be sent, and a parked one waits for a person, however long that takes.
  if (!closedStates.includes(message.state) || message.closedAt === null) return 'keep';
  const body = message.hasBody && message.closedAt < horizons.bodiesBefore ? 'body' : 'keep';
  if (message.closedAt >= horizons.messagesBefore) return body;

  // The newest message alone remembers what was captured last, and which revision numbers and generations are used up.
  // Only a binding that says the same may stand in for it: otherwise an unchanged row would be captured, and sent, again.
  const { binding } = message;
  const remembered = binding !== null && binding.revision >= message.revision;
  if (!message.newer && !(remembered && binding.contentHash === message.contentHash)) return body;
  return 'message';
}

/** One page of the outbox in the order of ids, with what the decision needs. Reads along the primary key. */
async function oldMessages(tx: Tx, afterId: number, limit: number): Promise<OldMessage[]> {
  const rows = await tx.rows(
    `SELECT m.id, m.state, m.revision, m.content_hash, m.captured_at, m.closed_at,
            b.revision AS bound_revision, b.content_hash AS bound_hash, y.message_id AS body_id,
            CASE WHEN EXISTS (SELECT 1 FROM outbox_message n
                               WHERE n.source_key=m.source_key AND n.entity=m.entity AND n.revision>m.revision)
                 THEN 1 ELSE 0 END AS newer
       FROM (SELECT id, entity, source_key, state, revision, content_hash, captured_at, closed_at
               FROM outbox_message WHERE id>? ORDER BY id LIMIT ${Math.trunc(limit)}) AS m
       LEFT JOIN binding b ON b.entity=m.entity AND b.source_key=m.source_key
       LEFT JOIN message_body y ON y.message_id=m.id
      ORDER BY m.id`,
    [afterId],
  );
  return rows.map(({ newer, boundRevision, boundHash, bodyId, ...message }) => ({
    ...message,
    newer: newer === 1,
    binding: boundRevision === null ? null : { revision: boundRevision, contentHash: boundHash },
    hasBody: bodyId !== null,
  }));
}

/** Erases the bodies of messages, and what the service answered to them. */
export async function eraseBodies(tx: Tx, ids: readonly number[]): Promise<{ bodies: number; excerpts: number }> {
  if (ids.length === 0) return { bodies: 0, excerpts: 0 };
  const bodies = `DELETE FROM message_body WHERE message_id IN ${placeholders(ids.length)}`;
  return { bodies: await tx.run(bodies, ids), excerpts: await eraseExcerpts(tx, ids) };
}

/** The number of removed rows. */
type PruneResult = typeof nothing;

const nothing = {
  messages: 0,
  bodies: 0,
  excerpts: 0,
  attempts: 0,
  audit: 0,
  pulls: 0,
  alerts: 0,
  webhooks: 0,
  findings: 0,
  comparisons: 0,
};

interface Batch {
  removed: Partial<PruneResult>;
  more: boolean;
}

/** Between two batches others get their turn: a SQLite store has one writer. */
const breathMs = 20;

/**
 * Removes rows that have surely been kept for as long as `retention` asks, in batches, each a transaction of its own under the
 * lease. Each batch looks at the clocks again, and one night removes a small share of each table (`quotaLeft`). Bindings stay, and
 * so does a message that is open or parked, or the only memory of its record.
 */
export async function prune(context: JobContext, lease: Lease, signal?: AbortSignal): Promise<PruneResult> {
  const { store, settings, nowMs, clock, actor } = context;
  const { messagesDays, bodiesDays, auditDays, batchSize } = settings.retention;
  const total = { ...nothing };

  /** One batch after the other until `work` says that it was the last; nothing counts that was not committed. */
  const inBatches = async <Batched extends Batch>(
    work: (tx: Tx, time: PassedTime, last: Batched | null) => Promise<Batched>,
  ) => {
    for (let last: Batched | null = null; (last === null || last.more) && !signal?.aborted; ) {
      const before: Batched | null = last;
      const batch: Batched = await lease.write('prune', async (tx) =>
        work(tx, await lookAtClocks(tx, context), before),
      );
      for (const name of Object.keys(batch.removed) as (keyof PruneResult)[]) total[name] += batch.removed[name] ?? 0;
      if (batch.more) await clock.sleep(breathMs, signal);
      last = batch;
    }
  };

  await lease.write('note that clocks disagree', (tx) => noteDoubt(tx, context));
  await inBatches<MessageBatch>((tx, time, last) => pruneMessages(tx, time, settings.retention, last));
  // Requests that belong to no message: pages of a list, orders that were read back. Those of messages go with them.
  await inBatches<Batch & { lastId: number }>(async (tx, time, last) => {
    const before = horizonOf(time, messagesDays);
    const rows = await tx.rows<{ id: number; messageId: number | null; intendedAt: number }>(
      `SELECT id, message_id, intended_at FROM attempt WHERE id>? ORDER BY id LIMIT ${batchSize}`,
      [last?.lastId ?? 0],
    );
    const old = rows.filter(({ intendedAt }) => intendedAt < before);
    const own = old.filter(({ messageId }) => messageId === null);
    const left = own.length && (await quotaLeft(tx, 'attempt', messagesDays, time.elapsed));
    const ids = own.slice(0, left).map(({ id }) => id);
    const attempts = ids.length && (await tx.run(`DELETE FROM attempt WHERE id IN ${placeholders(ids.length)}`, ids));
    await spendQuota(tx, 'attempt', attempts);
    // Ids grow with time.
    const more = old.length === batchSize && ids.length === own.length;
    return { removed: { attempts }, lastId: rows.at(-1)?.id ?? 0, more };
  });
  await inBatches<Batch & { walk: AuditWalk }>(async (tx, time, last) => {
    const horizon = { before: horizonOf(time, auditDays), latestMs: time.latestMs };
    const most = await quotaLeft(tx, 'audit_log', auditDays, time.elapsed);
    const pruned = await pruneAudit(tx, horizon, last?.walk ?? auditStart, { limit: batchSize, most });
    await spendQuota(tx, 'audit_log', pruned.removed);
    return { removed: { audit: pruned.removed }, more: pruned.more, walk: pruned.walk };
  });
  for (const [name, table, days, remove] of [
    ['pulls', 'invoice_pull', auditDays, prunePulls],
    ['webhooks', 'webhook_event', bodiesDays, pruneEvents],
    ['findings', 'reconcile_finding', bodiesDays, pruneFindings],
    ['comparisons', 'reconciliation', bodiesDays, pruneRuns],
    ['alerts', 'alert', auditDays, pruneAlerts],
  ] as const)
    await inBatches(async (tx, time) => {
      const most = Math.min(batchSize, await quotaLeft(tx, table, days, time.elapsed));
      const count = most && (await remove(tx, horizonOf(time, days), most));
      await spendQuota(tx, table, count);
      return { removed: { [name]: count }, more: count === batchSize };
    });

  if (Object.values(total).some((count) => count > 0))
    await store.transaction('note what was pruned', (tx) =>
      appendAudit(tx, { event: 'prune', actor, detail: { ...total, messagesDays, bodiesDays, auditDays } }, nowMs()),
    );
  return total;
}

interface MessageBatch extends Batch {
  lastId: number;
  /** The youngest moment in which a message so far was captured: none that follows is older. */
  sinceMs: number;
}

async function pruneMessages(
  tx: Tx,
  time: PassedTime,
  { messagesDays, bodiesDays, batchSize }: JobContext['settings']['retention'],
  last: MessageBatch | null,
): Promise<MessageBatch> {
  const horizons = { messagesBefore: horizonOf(time, messagesDays), bodiesBefore: horizonOf(time, bodiesDays) };
  const page = await oldMessages(tx, last?.lastId ?? 0, batchSize);
  let sinceMs = last?.sinceMs ?? 0;
  const decided = page.map((message) => {
    // Messages stand in the order in which they were captured: a clock that was slow for a moment makes none of them old.
    if (message.capturedAt <= time.latestMs + clockToleranceMs) sinceMs = Math.max(sinceMs, message.capturedAt);
    const closedAt = message.closedAt === null ? null : Math.max(message.closedAt, sinceMs);
    return { ...message, decision: pruneDecision({ ...message, closedAt }, horizons) };
  });
  const chosen = decided.filter(({ decision }) => decision !== 'keep');
  const left = chosen.length > 0 ? await messageQuota(tx, time, messagesDays, bodiesDays) : null;
  const attempts = left === null ? new Map<number, number>() : await countAttempts(tx, chosen);
  const fits = chosen.filter((one) => left !== null && takeFrom(left, one, attempts.get(one.id) ?? 0));
  const ids = fits.filter(({ decision }) => decision === 'message').map(({ id }) => id);
  await keepNumbers(tx, ids);
  const erased = await eraseBodies(
    tx,
    fits.map(({ id }) => id),
  );
  const list = placeholders(ids.length);
  const own = ids.length && (await tx.run(`DELETE FROM attempt WHERE message_id IN ${list}`, ids));
  const waiting = new Map(
    chosen
      .filter((one) => one.decision === 'message' && !fits.includes(one))
      .map(({ id }) => [id, attempts.get(id) ?? 0]),
  );
  const trimmed = left === null ? 0 : await trimAttempts(tx, left, waiting);
  const removed = {
    ...erased,
    messages: ids.length && (await tx.run(`DELETE FROM outbox_message WHERE id IN ${list}`, ids)),
    attempts: own + trimmed,
  };
  await spendQuota(tx, 'outbox_message', removed.messages);
  await spendQuota(tx, 'message_body', removed.bodies);
  await spendQuota(tx, 'attempt', removed.attempts);
  const youngest = Math.max(horizons.messagesBefore, horizons.bodiesBefore);
  return {
    removed,
    lastId: page.at(-1)?.id ?? 0,
    sinceMs,
    // Ids grow with time: behind a page that is all young there is nothing old.
    more:
      page.length === batchSize &&
      page.some(({ capturedAt }) => capturedAt < youngest) &&
      (left === null || left.messages > 0 || left.bodies > 0),
  };
}

interface MessageQuota {
  messages: number;
  bodies: number;
  attempts: number;
}

async function messageQuota(
  tx: Tx,
  { elapsed }: PassedTime,
  messagesDays: number,
  bodiesDays: number,
): Promise<MessageQuota> {
  return {
    messages: await quotaLeft(tx, 'outbox_message', messagesDays, elapsed),
    bodies: await quotaLeft(tx, 'message_body', Math.min(bodiesDays, messagesDays), elapsed),
    attempts: await quotaLeft(tx, 'attempt', messagesDays, elapsed),
  };
}

/** Takes what removing a message costs, if as much is left. */
function takeFrom(
  left: MessageQuota,
  { decision, hasBody }: Pick<OldMessage, 'hasBody'> & { decision: string },
  attempts: number,
): boolean {
  const isMessage = decision === 'message';
  const cost = { messages: isMessage ? 1 : 0, bodies: hasBody ? 1 : 0, attempts: isMessage ? attempts : 0 };
  if (cost.messages > left.messages || cost.bodies > left.bodies || cost.attempts > left.attempts) return false;
  left.messages -= cost.messages;
  left.bodies -= cost.bodies;
  left.attempts -= cost.attempts;
  return true;
}

/** A message with more attempts than a night allows loses the oldest of them first. @returns how many */
async function trimAttempts(tx: Tx, left: MessageQuota, attempts: ReadonlyMap<number, number>): Promise<number> {
  const [large] = [...attempts].find(([, count]) => count > left.attempts) ?? [];
  if (large === undefined || left.attempts === 0) return 0;
  const rows = await tx.rows<{ id: number }>(
    `SELECT id FROM attempt WHERE message_id=? ORDER BY id LIMIT ${Math.trunc(left.attempts)}`,
    [large],
  );
  const ids = rows.map(({ id }) => id);
  return tx.run(`DELETE FROM attempt WHERE id IN ${placeholders(ids.length)}`, ids);
}

async function countAttempts(tx: Tx, messages: readonly { id: number }[]): Promise<Map<number, number>> {
  const rows = await tx.rows<{ messageId: number; n: number }>(
    `SELECT message_id, COUNT(*) AS n FROM attempt WHERE message_id IN ${placeholders(messages.length)} GROUP BY message_id`,
    messages.map(({ id }) => id),
  );
  return new Map(rows.map(({ messageId, n }) => [messageId, Number(n)]));
}

/** Says once in the audit why rows stay that are old by the wall clock. */
async function noteDoubt(tx: Tx, context: JobContext): Promise<void> {
  const { doubt } = await lookAtClocks(tx, context);
  const isNoted = (await readStoreInfo(tx, 'prune_deferred')) !== null;
  if ((doubt !== null) === isNoted) return;
  if (doubt === null) return deleteStoreInfo(tx, 'prune_deferred');
  await writeStoreInfo(tx, 'prune_deferred', doubt.of);
  context.log.warn(doubtInWords(doubt));
  const detail = { clock: doubt.of, aheadMs: doubt.aheadMs, reason: doubtInWords(doubt) };
  await appendAudit(tx, { event: 'prune', outcome: 'deferred', actor: context.actor, detail }, context.nowMs());
}
