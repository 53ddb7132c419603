import type { Entity } from '../../model/record.js';
import type { ClockReading } from '../../store/clock.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { type Doubt, type DoubtColumns, doubtColumns, doubtOf } from '../outbox/absence.js';
import { claimForLookUp, noteEnds } from '../outbox/transitions.js';
import { intendLookUps } from './attempts.js';
import { keepsFailing } from './due-messages.js';

/** A message that is being looked up: its attempt is on record. */
export interface LookUpMessage {
  id: number;
  entity: Entity;
  sourceKey: string;
  /** Why it is looked up: a resend may be wrong or in vain (`in_doubt`), or the service said that something exists (`conflict`). */
  cause: 'in_doubt' | 'conflict';
  attemptId: number;
  attemptNumber: number;
  failures: number;
  /** The number of look-ups that found nothing of it under this key, although it was sent again after the first time. */
  absences: number;
  wasSent: 0 | 1;
  firstSentAt: number | null;
  /** The service may have forgotten its key. */
  isForgotten: boolean;
  idempotencyKey: string;
  /** The mapped record as canonical JSON; null: it was erased. */
  record: string | null;
  doubt: Doubt;
  /** When it was claimed: what the service answers is of no earlier moment. */
  askedAt: ClockReading;
}

/**
 * A conflict is looked up until that was answered, once. A message that was parked unsent because its key belongs to
 * another record is no conflict of which the service knows. A record that the service acknowledged under another id
 * than we know is for a person: a look-up would find one of the two, and the other would be forgotten.
 */
const openConflict = `m.state='parked' AND m.park_class='conflict' AND m.operation='create' AND m.was_sent=1 AND NOT EXISTS
  (SELECT 1 FROM attempt a WHERE a.message_id=m.id AND a.purpose='look_up' AND a.verdict IN ('found','none','several','odd'))
  AND NOT EXISTS (SELECT 1 FROM attempt d JOIN binding w ON w.entity=m.entity AND w.source_key=m.source_key
                   WHERE d.message_id=m.id AND d.verdict='delivered')`;

/** Which creates are looked up. */
interface LookUpTerms {
  /** The records that the service can be asked for, by the reason to ask. */
  entities: Readonly<Record<LookUpMessage['cause'], readonly Entity[]>>;
  /** Only these records; null: all. */
  only: ReadonlyMap<Entity, ReadonlySet<string>> | null;
  /** The first try of a message in doubt lies before this time. */
  sentBeforeMs: number;
  limit: number;
}

/**
 * Takes creates that can't be resent blindly and can be looked up: those in doubt past the lifetime of their key or that failed
 * again and again, and conflicts. Each gets an attempt on record first. The caller's transaction has checked the epoch.
 */
export async function claimLookUps(
  tx: Tx,
  { entities, only, sentBeforeMs, limit }: LookUpTerms,
  epoch: number,
  now: ClockReading,
): Promise<LookUpMessage[]> {
  const found: number[] = [];
  for (const cause of ['in_doubt', 'conflict'] as const) {
    const condition =
      cause === 'in_doubt'
        ? `m.state='in_doubt' AND m.operation='create' AND ((m.was_sent=1 AND (m.first_sent_at IS NULL OR m.first_sent_at<${Math.trunc(sentBeforeMs)})) OR (${keepsFailing}))`
        : openConflict;
    for (const entity of entities[cause]) {
      const keys = only ? [...(only.get(entity) ?? [])] : null;
      if (keys?.length === 0) continue;
      const some = keys ? `AND m.source_key IN ${placeholders(keys.length)}` : '';
      const rows = await tx.rows<{ id: number }>(
        `SELECT m.id FROM outbox_message m
          WHERE ${condition} AND m.entity=? AND m.next_attempt_at<=? ${some}
          ORDER BY m.next_attempt_at, m.id LIMIT ${Math.trunc(limit)}${tx.skipLocked}`,
        [entity, now.wallMs, ...(keys ?? [])],
      );
      found.push(...rows.map(({ id }) => id));
    }
  }
  const ids = found.slice(0, limit);
  if (ids.length === 0) return [];
  const rows = await tx.rows<
    Omit<LookUpMessage, 'cause' | 'attemptId' | 'doubt' | 'askedAt' | 'isForgotten'> & DoubtColumns & { state: string }
  >(
    `SELECT m.id, m.entity, m.source_key, m.state, m.attempts+1 AS attempt_number, m.failures,
            COALESCE(m.absences, 0) AS absences, m.was_sent, m.first_sent_at, m.idempotency_key, b.record,
            ${doubtColumns}
       FROM outbox_message m LEFT JOIN message_body b ON b.message_id=m.id WHERE m.id IN ${placeholders(ids.length)}`,
    ids,
  );
  await claimForLookUp(
    tx,
    rows.map(({ id }) => id),
    epoch,
  );
  // A store that was recovered, or an earlier version, does not say since when they rest: from now on it is known.
  const unknown = rows.flatMap(({ id, state, endedAt }) => (state === 'in_doubt' && endedAt === null ? [id] : []));
  await noteEnds(tx, unknown, now);
  const intents = rows.map((row) => ({ messageId: row.id, number: row.attemptNumber }));
  const attemptIds = await intendLookUps(tx, intents, epoch, now.wallMs);
  return rows.map((row) => ({
    id: row.id,
    entity: row.entity,
    sourceKey: row.sourceKey,
    cause: row.state === 'parked' ? 'conflict' : 'in_doubt',
    attemptId: attemptIds.get(row.id) as number,
    attemptNumber: row.attemptNumber,
    failures: row.failures,
    absences: row.absences,
    wasSent: row.wasSent,
    firstSentAt: row.firstSentAt,
    isForgotten: row.firstSentAt === null || row.firstSentAt < sentBeforeMs,
    idempotencyKey: row.idempotencyKey,
    record: row.record,
    doubt: doubtOf(row),
    askedAt: now,
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
    const [row] = await tx.rows<{ due: number | null }>(
      `SELECT MIN(m.next_attempt_at) AS due FROM outbox_message m
        WHERE ${openConflict} AND m.entity=? ${keys ? `AND m.source_key IN ${placeholders(keys.length)}` : ''}`,
      [entity, ...(keys ?? [])],
    );
    times.push(row?.due ?? Number.POSITIVE_INFINITY);
  }
  const due = Math.min(...times);
  return Number.isFinite(due) ? due : null;
}
