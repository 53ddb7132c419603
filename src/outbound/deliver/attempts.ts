import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import type { Sent } from '../../service/service-client.js';
import { factColumns, factRow } from '../../store/fact-columns.js';
import { insertRows, notAmong, padded, placeholders, type Row, updateRows } from '../../store/rows.js';
import type { SqlValue, Tx } from '../../store/store.js';
import { sha256 } from '../outbox/content-hash.js';
import type { Operation } from '../outbox/message.js';
import { claimTime, readClockCorrections } from './clock-trace.js';

/** Puts on record, before the first byte leaves, that these messages are looked up. @returns the attempts' ids, by message */
export async function intendLookUps(
  tx: Tx,
  intents: readonly { messageId: number; number: number }[],
  epoch: number,
  nowMs: number,
): Promise<ReadonlyMap<number, number>> {
  if (intents.length === 0) return new Map();
  const attempts = intents.map((one) => ({ ...one, purpose: 'look_up', epoch, intendedAt: nowMs }));
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

/** The claim's facts on record with the message, so that its attempt is written once, when it has ended. */
interface WriteIntent {
  messageId: number;
  purpose: Operation;
  number: number;
  epoch: number;
  idempotencyKey: string;
  bodyHash: string;
  intendedAt: number;
}

/** An attempt that came to its end, and what the audit says of it. */
export interface EndedAttempt {
  /**
   * The id of the attempt of a read or a look-up; a write is not among the attempts yet, and the one that delivered its
   * message (null) never is.
   */
  attempt: number | WriteIntent | null;
  sent: Sent<{ kind: string }>;
  /** Whose record it was about; null: it was a read. */
  message: { id: number; entity: Entity; sourceKey: string } | null;
  /** The request, its key, and the acknowledgement. Here is added what came of it. */
  detail: NonNullable<AuditEntry['detail']>;
  /** A write that delivered its message is one line of the audit, for both; absent: `attempt`. */
  event?: 'attempt' | 'delivered';
  /** Other events of the message, in lines of their own. */
  becameOf?: Pick<AuditEntry, 'event' | 'outcome' | 'detail'>[];
}

/** Puts outcomes on record: on the attempts, and on the audit. The caller's transaction has checked the epoch. */
export async function endAttempts(tx: Tx, ended: readonly EndedAttempt[], actor: string, nowMs: number): Promise<void> {
  const areTraced = ended.some(({ sent }) => sent.traceId !== undefined);
  const known: Row[] = [];
  const written: Row[] = [];
  for (const { attempt, sent } of ended) {
    if (attempt === null) continue;
    const intent = typeof attempt === 'number' ? undefined : attempt;
    const reason = factColumns(reasonOf(sent));
    // All in one: an object that grows field by field takes as long as the statement.
    (intent ? written : known).push({
      id: intent ? undefined : (attempt as number),
      messageId: intent?.messageId,
      purpose: intent?.purpose,
      number: intent?.number,
      epoch: intent?.epoch,
      idempotencyKey: intent?.idempotencyKey,
      bodyHash: intent?.bodyHash,
      intendedAt: intent?.intendedAt,
      startedAt: sent.startedAtMs,
      durationMs: sent.durationMs,
      requests: requestsOf(sent),
      status: sent.status,
      verdict: sent.verdict.kind,
      reasonCode: reason.code,
      reasonData: reason.data,
      requestId: sent.requestId,
      excerpt: sent.excerpt,
      traceId: areTraced ? (sent.traceId ?? null) : undefined,
    });
  }
  await updateRows(tx, 'attempt', ['id'], known);
  await insertRows(tx, 'attempt', written);
  const lines: AuditEntry[] = [];
  for (const one of ended) {
    const { message, becameOf = [] } = one;
    const about = { entity: message?.entity, sourceKey: message?.sourceKey, messageId: message?.id, actor };
    lines.push(attemptLine(one, actor));
    for (const { event, outcome, detail } of becameOf) lines.push({ ...about, event, outcome, detail });
  }
  await appendAudit(tx, lines, nowMs);
}

/** The number of requests: one that was repeated after a 401 is two. */
export function requestsOf({ requests, startedAtMs }: Pick<Sent<unknown>, 'requests' | 'startedAtMs'>): number {
  return requests ?? (startedAtMs === null ? 0 : 1);
}

/** The audit's line about one attempt. */
function attemptLine({ attempt, sent, message, detail, event = 'attempt' }: EndedAttempt, actor: string): AuditEntry {
  // Set one by one: a copy of twenty fields takes longer than all the rest.
  detail.startedAt = sent.startedAtMs;
  detail.durationMs = sent.durationMs;
  detail.status = sent.status;
  detail.repeatedAfter401 = sent.repeatedAfter401;
  detail.requestId = sent.requestId;
  detail.traceId = sent.traceId;
  detail.reason = reasonOf(sent);
  detail.excerptHash = sent.excerpt === null ? undefined : sha256(sent.excerpt);
  return {
    entity: message?.entity,
    sourceKey: message?.sourceKey,
    messageId: message?.id,
    event,
    outcome: sent.verdict.kind,
    attemptId: typeof attempt === 'number' ? attempt : null,
    actor,
    detail,
  };
}

function reasonOf({ verdict }: EndedAttempt['sent']): Fact | null {
  return 'reason' in verdict ? (verdict.reason as Fact) : null;
}

/** The find proves nothing yet: this look-up does not count, and another one follows. */
export async function callTooEarly(tx: Tx, attemptId: number): Promise<void> {
  await tx.run("UPDATE attempt SET verdict='too_early' WHERE id=?", [attemptId]);
}

/** Says of attempts whose outcome could not be written that it is unknown. If the commit was done all the same, it stands. */
export async function endUnrecorded(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(
    `UPDATE attempt SET verdict='unknown', reason_code='outcome_not_recorded', reason_data='{}'
      WHERE verdict IS NULL AND id IN ${placeholders(ids.length)}`,
    [...ids],
  );
}

/** The columns of a message `m` that is being sent, and has no attempt yet: a look-up has. */
export const isUnended =
  "m.state='sending' AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.message_id=m.id AND a.number=m.attempts)";

/** The messages that were claimed for sending under this epoch and have no outcome. */
export async function unendedWrites(tx: Tx, epoch: number): Promise<number[]> {
  const sql = `SELECT m.id FROM outbox_message m WHERE ${isUnended} AND m.claim_epoch=?`;
  return (await tx.rows<{ id: number }>(sql, [epoch])).map(({ id }) => id);
}

const mayBeSent = { verdict: 'unknown', ...factRow('reason', { code: 'process_stopped' }) };

/** Says it of what is claimed for sending, before the messages become anything else. @param which a condition on message `m` */
async function endWrites(tx: Tx, which: string, parameters: readonly SqlValue[], nowMs: number): Promise<void> {
  const writes = await tx.rows<WriteIntent>(
    `SELECT m.id AS message_id, m.operation AS purpose, m.attempts AS number, m.claim_epoch AS epoch, m.idempotency_key,
            m.body_hash, m.claimed_at AS intended_at
       FROM outbox_message m WHERE ${isUnended} AND ${which}`,
    parameters,
  );
  const corrections = await readClockCorrections(tx);
  const intendedAt = (one: WriteIntent) => claimTime(one.intendedAt, corrections, nowMs);
  await insertRows(
    tx,
    'attempt',
    writes.map((one) => ({ ...one, intendedAt: intendedAt(one), ...mayBeSent })),
  );
}

/** The same of these messages, which a recovery closes while a lost process was sending them. */
export async function endWritesOf(tx: Tx, messageIds: readonly number[], nowMs: number): Promise<void> {
  if (messageIds.length > 0) await endWrites(tx, `m.id IN ${placeholders(messageIds.length)}`, messageIds, nowMs);
}

/** The same of all that an older epoch has left without an outcome. @param alive older epochs whose nodes are at work */
export async function endOlderEpochs(
  tx: Tx,
  epoch: number,
  nowMs: number,
  alive: readonly number[] = [],
): Promise<void> {
  const isOver = (column: string) => `${column}<?${notAmong(column, alive)}`;
  await endWrites(tx, isOver('m.claim_epoch'), [epoch, ...alive], nowMs);
  await tx.run(
    `UPDATE attempt SET verdict='unknown', reason_code='process_stopped', reason_data='{}'
      WHERE verdict IS NULL AND ${isOver('epoch')}`,
    [epoch, ...alive],
  );
}

/** Erases the service's reasons from the attempts of these messages. */
export async function eraseReasons(tx: Tx, messageIds: readonly number[]): Promise<void> {
  await tx.run(
    `UPDATE attempt SET reason_code=NULL, reason_data=NULL WHERE message_id IN ${placeholders(messageIds.length)}`,
    [...messageIds],
  );
}

/** Erases what is kept of the service's answers to these messages. @returns how many there were */
export async function eraseExcerpts(tx: Tx, messageIds: readonly number[]): Promise<number> {
  const listed = `message_id IN ${placeholders(messageIds.length)} AND excerpt IS NOT NULL`;
  return tx.run(`UPDATE attempt SET excerpt=NULL WHERE ${listed}`, [...messageIds]);
}
