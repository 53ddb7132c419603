import { appendAudit } from '../audit/audit-log.js';
import { pruneAudit } from '../audit/prune-audit.js';
import { prunePulls } from '../inbound/invoices/pull-record.js';
import { pruneEvents } from '../inbound/webhooks/webhook-rows.js';
import type { JobContext } from '../ops/job-context.js';
import { eraseExcerpts } from '../outbound/deliver/attempts.js';
import { keepNumbers } from '../outbound/outbox/bindings.js';
import type { MessageState } from '../outbound/outbox/message.js';
import { pruneAlerts } from '../store/alerts.js';
import type { Lease } from '../store/lease.js';
import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { pruneRuns } from './reconcile/reconcile-rows.js';

/** What decides whether a message may be forgotten. */
export interface OldMessage {
  id: number;
  state: MessageState;
  revision: number;
  contentHash: string;
  capturedAt: number;
  closedAt: number | null;
  /** Whether a newer message of the same record exists. */
  newer: boolean;
  binding: { revision: number; contentHash: string } | null;
  hasBody: boolean;
}

interface Horizons {
  /** Messages that were closed before are forgotten; milliseconds since 1970. */
  messagesBefore: number;
  bodiesBefore: number;
}

const closedStates: readonly MessageState[] = ['delivered', 'superseded', 'discarded'];

/** What becomes of an old message. Pure; one question a paragraph. */
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

/** How many rows were removed. */
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
};

interface Batch {
  removed: Partial<PruneResult>;
  more: boolean;
  lastId?: number;
}

const dayMs = 86_400_000;
/** Between two batches others get their turn: a SQLite store has one writer. */
const breathMs = 20;

/**
 * Removes rows older than `retention` allows, in batches, each a transaction of its own under the lease. Bindings stay, and so
 * does a message that is open or parked, or the only memory of its record.
 */
export async function prune(context: JobContext, lease: Lease, signal?: AbortSignal): Promise<PruneResult> {
  const { store, settings, nowMs, clock, actor } = context;
  const { messagesDays, bodiesDays, auditDays, batchSize } = settings.retention;
  const at = nowMs();
  const horizons = { messagesBefore: at - messagesDays * dayMs, bodiesBefore: at - bodiesDays * dayMs };
  const auditBefore = at - auditDays * dayMs;
  const total = { ...nothing };

  /** One batch after the other until `work` says that it was the last; nothing counts that was not committed. */
  const inBatches = async (work: (tx: Tx, afterId: number) => Promise<Batch>) => {
    let afterId = 0;
    for (let more = true; more && !signal?.aborted; ) {
      const batch = await lease.write('prune', (tx) => work(tx, afterId));
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
    const ids = chosen('message');
    await keepNumbers(tx, ids);
    const erased = await eraseBodies(tx, [...chosen('body'), ...ids]);
    const list = placeholders(ids.length);
    const attempts = ids.length && (await tx.run(`DELETE FROM attempt WHERE message_id IN ${list}`, ids));
    const messages = ids.length && (await tx.run(`DELETE FROM outbox_message WHERE id IN ${list}`, ids));
    const youngest = Math.max(horizons.messagesBefore, horizons.bodiesBefore);
    return {
      removed: { ...erased, messages, attempts },
      lastId: page.at(-1)?.id ?? afterId,
      // Ids grow with time: behind a page that is all young there is nothing old.
      more: page.length === batchSize && page.some(({ capturedAt }) => capturedAt < youngest),
    };
  });
  // Requests that belong to no message: pages of a list, orders that were read back. Those of messages go with them.
  await inBatches(async (tx, afterId) => {
    const rows = await tx.rows<{ id: number; messageId: number | null; intendedAt: number }>(
      `SELECT id, message_id, intended_at FROM attempt WHERE id>? ORDER BY id LIMIT ${batchSize}`,
      [afterId],
    );
    const old = rows.filter(({ intendedAt }) => intendedAt < horizons.messagesBefore);
    const ids = old.filter(({ messageId }) => messageId === null).map(({ id }) => id);
    const list = placeholders(ids.length);
    const attempts = ids.length && (await tx.run(`DELETE FROM attempt WHERE id IN ${list}`, ids));
    // Ids grow with time.
    return { removed: { attempts }, lastId: rows.at(-1)?.id ?? afterId, more: old.length === batchSize };
  });
  const oldest: [keyof PruneResult, (tx: Tx) => Promise<number>][] = [
    ['audit', (tx) => pruneAudit(tx, auditBefore, batchSize)],
    ['pulls', (tx) => prunePulls(tx, auditBefore, batchSize)],
    ['webhooks', (tx) => pruneEvents(tx, horizons.bodiesBefore, batchSize)],
    ['findings', (tx) => pruneRuns(tx, horizons.bodiesBefore, batchSize)],
    ['alerts', (tx) => pruneAlerts(tx, auditBefore)],
  ];
  for (const [name, remove] of oldest)
    await inBatches(async (tx) => {
      const count = await remove(tx);
      return { removed: { [name]: count }, more: count === batchSize };
    });

  if (Object.values(total).some((count) => count > 0))
    await store.transaction('note what was pruned', (tx) =>
      appendAudit(tx, { event: 'prune', actor, detail: { ...total, messagesDays, bodiesDays, auditDays } }, nowMs()),
    );
  return total;
}
