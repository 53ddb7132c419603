import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { Entity, JsonValue } from '../../model/record.js';
import type { Sent } from '../../service/service-client.js';
import { insertRows, notAmong, padded, placeholders, type Row, updateRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { sha256 } from '../outbox/content-hash.js';
import type { Operation } from '../outbox/message.js';
import { type ClockCorrection, latestTime } from './clock-trace.js';

/** A message that is about to be sent or looked up. */
interface MessageIntent {
  messageId: number;
  purpose: Operation | 'look_up';
  number: number;
  idempotencyKey?: string;
  bodyHash?: string;
}

/** Puts on record, before the first byte leaves, that these messages may be sent. @returns the attempts' ids, by message */
export async function intendMessages(
  tx: Tx,
  intents: readonly MessageIntent[],
  epoch: number,
  nowMs: number,
): Promise<ReadonlyMap<number, number>> {
  if (intents.length === 0) return new Map();
  const attempts = intents.map(({ messageId, purpose, number, idempotencyKey = null, bodyHash = null }) => {
    return { messageId, purpose, number, epoch, idempotencyKey, bodyHash, intendedAt: nowMs };
  });
  await insertRows(tx, 'attempt', attempts);
  const numbers = new Map(intents.map(({ messageId, number }) => [messageId, number]));
  const listed = padded([...numbers.keys()]);
  const rows = await tx.rows<{ id: number; messageId: number; number: number }>(
    `SELECT id, message_id, number FROM attempt WHERE message_id IN ${placeholders(listed.length)}`,
    listed,
  );
  return new Map(
    rows.flatMap(({ id, messageId, number }) => (numbers.get(messageId) === number ? [[messageId, id] as const] : [])),
  );
}

/** The same of a read or a probe, which belongs to no message. @returns the attempt's id */
export async function intendRead(
  tx: Tx,
  purpose: 'list_invoices' | 'read_invoice' | 'read_order' | 'read_customer' | 'probe',
  number: number,
  epoch: number,
  nowMs: number,
): Promise<number> {
  return tx.insertReturningId('INSERT INTO attempt (purpose, number, epoch, intended_at) VALUES (?, ?, ?, ?)', [
    purpose,
    number,
    epoch,
    nowMs,
  ]);
}

/** An attempt that came to its end, and what the audit says of it. */
export interface EndedAttempt {
  id: number;
  sent: Sent<{ kind: string }>;
  /** Whose record it was about; null: it was a read. */
  message: { id: number; entity: Entity; sourceKey: string } | null;
  /** What was asked, by which key, and what was acknowledged. Here is added what came of it. */
  detail: { [name: string]: JsonValue | undefined };
  /** A write that delivered its message is one line of the audit, for both; absent: `attempt`. */
  event?: 'attempt' | 'delivered';
  /** What else became of the message, in lines of their own. */
  becameOf?: Pick<AuditEntry, 'event' | 'outcome' | 'detail'>[];
}

/** Puts outcomes on record: on the attempts, and on the audit. The caller's transaction has checked the epoch. */
export async function endAttempts(tx: Tx, ended: readonly EndedAttempt[], actor: string, nowMs: number): Promise<void> {
  const areTraced = ended.some(({ sent }) => sent.traceId !== undefined);
  const hashes = ended.map(({ sent: { excerpt } }) => (excerpt === null ? null : sha256(excerpt)));
  await updateRows(
    tx,
    'attempt',
    ['id'],
    ended.map(
      ({ id, sent }, nth): Row => ({
        id,
        startedAt: sent.startedAtMs,
        durationMs: sent.durationMs,
        requests: sent.requests ?? (sent.startedAtMs === null ? 0 : 1),
        status: sent.status,
        verdict: sent.verdict.kind,
        reason: reasonOf(sent),
        requestId: sent.requestId,
        excerptHash: hashes[nth] ?? null,
        excerpt: sent.excerpt,
        traceId: areTraced ? (sent.traceId ?? null) : undefined,
      }),
    ),
  );
  const lines: AuditEntry[] = [];
  for (const [nth, one] of ended.entries()) {
    const { message, becameOf = [] } = one;
    const about = { entity: message?.entity, sourceKey: message?.sourceKey, messageId: message?.id, actor };
    lines.push(attemptLine(one, actor, hashes[nth] ?? null));
    for (const { event, outcome, detail } of becameOf) lines.push({ ...about, event, outcome, detail });
  }
  await appendAudit(tx, lines, nowMs);
}

/** What the audit says of one attempt. */
function attemptLine(
  { id, sent, message, detail, event = 'attempt' }: EndedAttempt,
  actor: string,
  excerptHash: string | null,
): AuditEntry {
  // Set one by one: a copy of twenty fields takes longer than all the rest.
  detail.startedAt = sent.startedAtMs;
  detail.durationMs = sent.durationMs;
  detail.status = sent.status;
  detail.repeatedAfter401 = sent.repeatedAfter401;
  detail.requestId = sent.requestId;
  detail.traceId = sent.traceId;
  detail.reason = reasonOf(sent);
  detail.excerptHash = excerptHash ?? undefined;
  return {
    entity: message?.entity,
    sourceKey: message?.sourceKey,
    messageId: message?.id,
    event,
    outcome: sent.verdict.kind,
    attemptId: id,
    actor,
    detail,
  };
}

function reasonOf({ verdict }: EndedAttempt['sent']): string | null {
  return 'reason' in verdict ? (verdict.reason as string) : null;
}

/** What was found proves nothing yet: this look-up does not count, and another one follows. */
export async function callTooEarly(tx: Tx, attemptId: number): Promise<void> {
  await tx.run("UPDATE attempt SET verdict='too_early' WHERE id=?", [attemptId]);
}

/** Says of attempts whose outcome could not be written that it is unknown. Where the commit was done all the same, it stands. */
export async function endUnrecorded(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(
    `UPDATE attempt SET verdict='unknown', reason='The store failed before the outcome was on record.'
      WHERE verdict IS NULL AND id IN ${placeholders(ids.length)}`,
    [...ids],
  );
}

/** What was claimed for sending under this epoch and has no outcome. */
export async function openWrites(tx: Tx, epoch: number): Promise<{ id: number; messageId: number }[]> {
  return tx.rows(
    "SELECT id, message_id FROM attempt WHERE verdict IS NULL AND epoch=? AND purpose IN ('create','update','delete')",
    [epoch],
  );
}

/** Takes back what never left. */
export async function dropIntents(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await tx.run(`DELETE FROM attempt WHERE id IN ${placeholders(ids.length)}`, [...ids]);
}

/** Says it of all that an older epoch has left without an outcome. @param alive older epochs whose nodes are at work */
export async function endOlderEpochs(tx: Tx, epoch: number, alive: readonly number[] = []): Promise<void> {
  await tx.run(
    `UPDATE attempt SET verdict='unknown', reason='May have been sent: the process stopped before the outcome was on record.' WHERE verdict IS NULL AND epoch<?${notAmong('epoch', alive)}`,
    [epoch, ...alive],
  );
}

/** Erases the service's reasons from the attempts of these messages. */
export async function eraseReasons(tx: Tx, messageIds: readonly number[]): Promise<void> {
  await tx.run(`UPDATE attempt SET reason=NULL WHERE message_id IN ${placeholders(messageIds.length)}`, [
    ...messageIds,
  ]);
}

/** Erases what is kept of the service's answers to these messages. @returns how many there were */
export async function eraseExcerpts(tx: Tx, messageIds: readonly number[]): Promise<number> {
  const listed = `message_id IN ${placeholders(messageIds.length)} AND excerpt IS NOT NULL`;
  return tx.run(`UPDATE attempt SET excerpt=NULL WHERE ${listed}`, [...messageIds]);
}

/**
 * When the requests that a limit with a long window still counts were answered at the latest, whichever process sent
 * them. An attempt without an outcome may have been sent and counts once; of the others is on record how often they
 * reached the service. Reads backwards along the primary key, since intents ascend with it.
 * @param waitMs how long after its intent a request leaves at the latest
 * @param deadlineMs how long after that it is answered at the latest
 * @param corrections by which the clock was set since
 * @param except epochs whose requests are counted elsewhere
 * @returns milliseconds since 1970, ascending; none before `sinceMs`
 */
export async function answeredSince(
  tx: Tx,
  sinceMs: number,
  waitMs: number,
  deadlineMs: number,
  corrections: readonly ClockCorrection[] = [],
  except: ReadonlySet<number> = new Set(),
): Promise<number[]> {
  const pageSize = 2_000;
  const times: number[] = [];
  for (let beforeId = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await tx.rows<{
      id: number;
      epoch: number;
      intendedAt: number;
      startedAt: number | null;
      durationMs: number | null;
      requests: number | null;
    }>(
      `SELECT id, epoch, intended_at, started_at, duration_ms, requests FROM attempt WHERE id<? ORDER BY id DESC LIMIT ${pageSize}`,
      [beforeId],
    );
    for (const { id, epoch, intendedAt, startedAt, durationMs, requests } of rows) {
      if (except.has(epoch)) continue;
      const leftBy = latestTime(id, startedAt ?? intendedAt + waitMs, corrections, waitMs);
      const answeredBy = leftBy + (durationMs ?? deadlineMs);
      if (answeredBy > sinceMs) times.push(...Array<number>(requests ?? 1).fill(answeredBy));
    }
    const last = rows.at(-1);
    if (rows.length < pageSize || last === undefined) return times.sort((a, b) => a - b);
    const lastIntendedBy = latestTime(last.id, last.intendedAt, corrections, waitMs);
    if (lastIntendedBy <= sinceMs - waitMs - deadlineMs) return times.sort((a, b) => a - b);
    beforeId = last.id;
  }
}

/** Whether the last request of this kind that was answered by success or 403 was a success. Read backwards along the primary key. */
export async function passedSinceForbidden(tx: Tx, entity: Entity, operation: Operation): Promise<boolean> {
  const [last] = await tx.rows<{ verdict: string }>(
    `SELECT a.verdict FROM attempt a JOIN outbox_message m ON m.id=a.message_id
      WHERE a.purpose=? AND m.entity=? AND (a.verdict='delivered' OR (a.verdict='misconfigured' AND a.status=403))
      ORDER BY a.id DESC LIMIT 1`,
    [operation, entity],
  );
  return last?.verdict === 'delivered';
}

/** Those of these messages of which an earlier request was answered 403. */
export async function forbiddenBefore(tx: Tx, messageIds: readonly number[]): Promise<Set<number>> {
  if (messageIds.length === 0) return new Set();
  const rows = await tx.rows<{ messageId: number }>(
    `SELECT DISTINCT message_id FROM attempt
      WHERE verdict='misconfigured' AND status=403 AND message_id IN ${placeholders(messageIds.length)}`,
    [...messageIds],
  );
  return new Set(rows.map(({ messageId }) => messageId));
}
