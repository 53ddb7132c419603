import type { Entity } from '../../model/record.js';
import { insertRows, placeholders, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { doubtContents, provenRecord, unknownContent } from '../outbox/content-hash.js';
import { fromBeforeRecovery } from '../recovery/recover-messages.js';
import type { LookUpDecision } from './decide-look-up.js';

/** A message that is being looked up: its attempt is on record. */
export interface LookUpMessage {
  id: number;
  entity: Entity;
  sourceKey: string;
  cause: 'in_doubt' | 'conflict';
  attemptNumber: number;
  failures: number;
  idempotencyKey: string;
  /** The mapped record as canonical JSON. */
  record: string;
}

/** Which records the service can be asked for, by the reason to ask. */
export type LookUpEntities = Readonly<Record<LookUpMessage['cause'], readonly Entity[]>>;

/** A conflict that was looked up waits for a person: so long that no claim meets it again. */
const neverDue = 8_640_000_000_000_000;

/**
 * A conflict is looked up until that was answered, once. What was parked unsent because its key belongs to another record is
 * no conflict of which the service knows.
 */
const openConflict = `m.state='parked' AND m.park_class='conflict' AND m.operation='create' AND m.first_sent_at IS NOT NULL AND NOT EXISTS
  (SELECT 1 FROM attempt a WHERE a.message_id=m.id AND a.purpose='look_up' AND a.verdict IN ('found','none','several','odd'))`;

/**
 * Takes creates that can't be resent blindly and can be looked up: those in doubt past the lifetime of their key, and
 * conflicts. Each gets an attempt on record first. The caller's transaction has checked the epoch.
 * @param sentBefore the first try of a message in doubt lies before this time
 */
export async function claimLookUps(
  tx: Tx,
  entities: LookUpEntities,
  epoch: number,
  nowMs: number,
  sentBefore: number,
  limit: number,
  only: ReadonlyMap<Entity, ReadonlySet<string>> | null,
): Promise<LookUpMessage[]> {
  const found: { id: number }[] = [];
  for (const cause of ['in_doubt', 'conflict'] as const) {
    const condition =
      cause === 'in_doubt'
        ? `m.state='in_doubt' AND m.operation='create' AND m.first_sent_at<${Math.trunc(sentBefore)}`
        : openConflict;
    for (const entity of entities[cause]) {
      const keys = only ? [...(only.get(entity) ?? [])] : null;
      if (keys?.length === 0) continue;
      const some = keys ? `AND m.source_key IN ${placeholders(keys.length)}` : '';
      found.push(
        ...(await tx.select<{ id: number }>(
          `SELECT m.id FROM outbox_message m
            WHERE ${condition} AND m.entity=? AND m.next_attempt_at<=? ${some}
            ORDER BY m.next_attempt_at, m.id LIMIT ${Math.trunc(limit)}${tx.skipLocked}`,
          [entity, nowMs, ...(keys ?? [])],
        )),
      );
    }
  }
  const ids = found.slice(0, limit).map((row) => Number(row.id));
  if (ids.length === 0) return [];
  const rows = await tx.select(
    `SELECT m.id, m.entity, m.source_key, m.state, m.attempts, m.failures, m.idempotency_key, m.body_hash, b.record
       FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.id IN ${placeholders(ids.length)}`,
    ids,
  );
  await tx.run(
    `UPDATE outbox_message SET claimed_from=state, state='sending', claim_epoch=?, attempts=attempts+1
      WHERE id IN ${placeholders(rows.length)}`,
    [epoch, ...rows.map((row) => Number(row.id))],
  );
  await insertRows(
    tx,
    'attempt',
    rows.map((row) => ({
      message_id: Number(row.id),
      purpose: 'look_up',
      number: row.attempts + 1,
      epoch,
      intended_at: nowMs,
    })),
  );
  return rows.map((row) => ({
    id: Number(row.id),
    entity: row.entity,
    sourceKey: row.source_key,
    cause: row.state === 'parked' ? 'conflict' : 'in_doubt',
    attemptNumber: row.attempts + 1,
    failures: row.failures,
    idempotencyKey: row.idempotency_key,
    record: row.record,
  }));
}

/** When the next conflict that is still to be looked up is due; null: none is. */
export async function nextConflictAt(
  tx: Tx,
  entities: readonly Entity[],
  only: ReadonlyMap<Entity, ReadonlySet<string>> | null,
): Promise<number | null> {
  const times: number[] = [];
  for (const entity of entities) {
    const keys = only ? [...(only.get(entity) ?? [])] : null;
    if (keys?.length === 0) continue;
    const [row] = await tx.select<{ due: number | null }>(
      `SELECT MIN(m.next_attempt_at) AS due FROM outbox_message m
        WHERE ${openConflict} AND m.entity=? ${keys ? `AND m.source_key IN ${placeholders(keys.length)}` : ''}`,
      [entity, ...(keys ?? [])],
    );
    if (row?.due !== null && row?.due !== undefined) times.push(Number(row.due));
  }
  return times.length === 0 ? null : Math.min(...times);
}

/** What is written here; adopting is `adoptCustomer`. */
type SettledLookUp = Exclude<LookUpDecision, { to: 'adopted' }>;

export interface LookUpOutcome {
  /** Null: not answered, to be tried again at `nextAttemptAt`. */
  decision: SettledLookUp | null;
  nextAttemptAt: number;
  /** In one word, for the audit: what was found, or the verdict of the exchange. */
  verdict: string;
  reason: string | null;
  startedAt: number | null;
  durationMs: number | null;
  status: number | null;
  requestId: string | null;
}

/**
 * Writes what became of one look-up: message, attempt, binding. The caller's transaction has checked the epoch and writes
 * the audit. @returns the attempt's id, or null when somebody else has the message by now
 */
export async function settleLookUp(
  tx: Tx,
  message: LookUpMessage,
  outcome: LookUpOutcome,
  epoch: number,
  nowMs: number,
): Promise<number | null> {
  const [attempt] = await tx.select<{ id: number }>('SELECT id FROM attempt WHERE message_id=? AND number=?', [
    message.id,
    message.attemptNumber,
  ]);
  const { decision } = outcome;
  const back = message.cause === 'conflict' ? 'parked' : 'in_doubt';
  const set: Record<string, string | number | null> = decision
    ? {
        state: decision.to,
        park_class: null,
        reason: null,
        next_attempt_at: decision.to === 'parked' ? neverDue : nowMs,
        failures: 0,
      }
    : { state: back, reason: outcome.reason?.slice(0, 1000) ?? null, next_attempt_at: outcome.nextAttemptAt };
  if (!decision && outcome.startedAt !== null) set.failures = message.failures + 1;
  if (decision?.to === 'delivered')
    Object.assign(set, { service_id: decision.serviceId, flag: decision.flag.slice(0, 500), closed_at: nowMs });
  if (decision?.to === 'pending') set.first_sent_at = null;
  if (decision?.to === 'parked')
    Object.assign(set, { park_class: decision.parkClass, reason: decision.reason.slice(0, 1000) });
  const matched = await tx.run(
    `UPDATE outbox_message SET ${Object.keys(set)
      .map((column) => `${column}=?`)
      .join(', ')} WHERE id=? AND state='sending' AND claim_epoch=? AND attempts=?`,
    [...Object.values(set), message.id, epoch, message.attemptNumber],
  );
  if (matched === 0 || !attempt) return null;
  await tx.run(
    'UPDATE attempt SET started_at=?, duration_ms=?, status=?, verdict=?, reason=?, request_id=? WHERE id=?',
    [
      outcome.startedAt,
      outcome.durationMs,
      outcome.status,
      outcome.verdict,
      outcome.reason?.slice(0, 1000) ?? null,
      outcome.requestId?.slice(0, 255) ?? null,
      Number(attempt.id),
    ],
  );
  if (decision?.to === 'delivered') await bind(tx, message.id, decision, nowMs);
  return Number(attempt.id);
}

/** What was found proves nothing yet: the conflict is looked up once more. */
export async function lookUpAgain(tx: Tx, attemptId: number, messageId: number, nextAttemptAt: number): Promise<void> {
  await tx.run("UPDATE attempt SET verdict='too_early' WHERE id=?", [attemptId]);
  await tx.run('UPDATE outbox_message SET next_attempt_at=? WHERE id=?', [nextAttemptAt, messageId]);
}

/**
 * Binds what was found. What a lost store may have sent, it may have changed since: no look-up shows every field of ours, so
 * that a sweep at the next pass brings it up to date.
 */
async function bind(
  tx: Tx,
  messageId: number,
  decision: Extract<LookUpDecision, { to: 'delivered' }>,
  nowMs: number,
): Promise<void> {
  const isFromBefore = await fromBeforeRecovery(tx);
  const rows = await tx.select(
    `SELECT m.entity, m.source_key, m.revision, m.generation, m.content_hash, m.mapping_fingerprint, m.identity, b.record
       FROM outbox_message m JOIN message_body b ON b.message_id=m.id WHERE m.id=?`,
    [messageId],
  );
  if (isFromBefore(messageId)) for (const row of rows) row.content_hash = unknownContent;
  const doubted = rows.filter((row) => row.content_hash === unknownContent);
  await doubtContents(
    tx,
    doubted.map(({ entity }) => ({ id: messageId, entity })),
  );
  await upsertRows(
    tx,
    'binding',
    ['entity', 'source_key'],
    rows.map(({ record, ...row }) => ({
      ...row,
      service_id: decision.serviceId,
      acknowledged: decision.contentKnown ? provenRecord(row.content_hash, record) : null,
      acknowledged_at: nowMs,
    })),
  );
}
