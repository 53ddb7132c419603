import { isDeepStrictEqual } from 'node:util';
import type { Entity } from '../model/entity.js';
import type { JsonValue } from '../model/record.js';
import type { VerdictKind } from '../model/verdict.js';
import { sweepAtNextPass } from '../store/cursors.js';
import { insertRows, placeholders, updateRows, upsertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import type { ClaimedMessage, NothingToSend } from './claim-messages.js';
import { createKey } from './idempotency-key.js';
import type { Transition } from './message.js';
import { fromBeforeRecovery } from './recover-messages.js';
import { closeBindings } from './removal-rows.js';
import { provenRecord, unknownContent } from './unknown-content.js';

/** What became of one attempt, as it is kept. */
export interface AttemptOutcome {
  verdict: VerdictKind;
  reason: string | null;
  /** The record's state in the service's own word; null or absent: it said none. */
  serviceState?: string | null;
  /** An order's total as the service says it, in its unit. */
  serviceTotal?: number | null;
  startedAt: number | null;
  durationMs: number | null;
  status: number | null;
  requestId: string | null;
  /** Redacted and bounded; null when there was no body. */
  excerpt: string | null;
  excerptHash: string | null;
  /** It was answered 401 before, and went again with another credential. */
  repeatedAfter401?: true;
}

export interface SettledMessage {
  message: ClaimedMessage;
  transition: Transition;
  outcome: AttemptOutcome;
}

/** Ids of the attempts of these messages, by message id. */
export type AttemptIds = ReadonlyMap<number, number>;

/**
 * Writes a batch of outcomes: message, attempt, binding. The caller's transaction has checked the epoch and writes the audit.
 * A message that is no longer `sending` this attempt under this epoch is left alone: somebody else has it, or the batch was
 * committed already and only the database's word for it was lost.
 * @returns the attempts that were settled
 */
export async function settleMessages(
  tx: Tx,
  all: readonly SettledMessage[],
  epoch: number,
  nowMs: number,
): Promise<AttemptIds> {
  const settled = await doubtOldAnswers(tx, await stillSending(tx, all, epoch));
  if (settled.length === 0) return new Map();
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    settled.map(({ message, transition }) => ({
      id: message.id,
      state: transition.state,
      park_class: transition.parkClass,
      reason: transition.reason?.slice(0, 1000) ?? null,
      next_attempt_at: transition.nextAttemptAt,
      failures: transition.failures,
      invalid_answers: transition.invalidAnswers,
      customer_waits: transition.customerWaits,
      first_sent_at: transition.firstSentAt,
      service_id: transition.serviceId,
      flag: transition.flag?.slice(0, 500) ?? null,
      closed_at: transition.state === 'delivered' ? nowMs : null,
    })),
  );
  await updateRows(
    tx,
    'attempt',
    ['message_id', 'number'],
    settled.map(({ message, outcome }) => ({
      message_id: message.id,
      number: message.attemptNumber,
      started_at: outcome.startedAt,
      duration_ms: outcome.durationMs,
      status: outcome.status,
      verdict: outcome.verdict,
      reason: outcome.reason?.slice(0, 1000) ?? null,
      request_id: outcome.requestId?.slice(0, 255) ?? null,
      excerpt_hash: outcome.excerptHash,
    })),
  );
  const attemptIds = await idsOfAttempts(tx, settled);
  await insertRows(
    tx,
    'attempt_excerpt',
    settled.flatMap(({ message, outcome }) =>
      outcome.excerpt === null ? [] : [{ attempt_id: attemptIds.get(message.id) as number, excerpt: outcome.excerpt }],
    ),
  );
  await upsertRows(
    tx,
    'binding',
    ['entity', 'source_key'],
    settled
      .filter(({ message, transition }) => transition.state === 'delivered' && message.operation !== 'delete')
      .map(({ message, transition }) => ({
        entity: message.entity,
        source_key: message.sourceKey,
        service_id: transition.serviceId,
        revision: message.revision,
        generation: message.generation,
        content_hash: message.contentHash,
        mapping_fingerprint: message.mappingFingerprint,
        identity: message.identity,
        acknowledged: provenRecord(message.contentHash, message.record),
        acknowledged_at: nowMs,
      })),
  );
  await closeBindings(
    tx,
    settled
      .filter(({ message, transition }) => transition.state === 'delivered' && message.operation === 'delete')
      .map(({ message }) => message),
    nowMs,
  );
  return attemptIds;
}

/**
 * The answer to a create that a lost store may have sent can be an old one: something newer may have been said since. So its fields
 * are doubted, and a sweep at the next pass brings them up to date.
 */
async function doubtOldAnswers(tx: Tx, settled: readonly SettledMessage[]): Promise<SettledMessage[]> {
  const isCreated = ({ message, transition }: SettledMessage) =>
    transition.state === 'delivered' && message.operation === 'create' && message.contentHash !== unknownContent;
  if (!settled.some(isCreated)) return [...settled];
  const isFromBefore = await fromBeforeRecovery(tx);
  const isDoubted = (one: SettledMessage) => isCreated(one) && isFromBefore(one.message.id);
  const doubted = settled.filter(isDoubted).map(({ message }) => message);
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    doubted.map(({ id }) => ({ id, content_hash: unknownContent })),
  );
  for (const entity of new Set(doubted.map((message) => message.entity))) await sweepAtNextPass(tx, entity);
  return settled.map((one) =>
    isDoubted(one) ? { ...one, message: { ...one.message, contentHash: unknownContent } } : one,
  );
}

/** With the content that the store knows by now: a recovery may have doubted it since it was claimed. */
async function stillSending(tx: Tx, settled: readonly SettledMessage[], epoch: number): Promise<SettledMessage[]> {
  if (settled.length === 0) return [];
  const rows = await tx.select<{ id: number; attempts: number; content_hash: string }>(
    `SELECT id, attempts, content_hash FROM outbox_message
      WHERE id IN ${placeholders(settled.length)} AND state='sending' AND claim_epoch=?${tx.dialect === 'mysql' ? ' FOR UPDATE' : ''}`,
    [...settled.map(({ message }) => message.id), epoch],
  );
  const sending = new Map(rows.map((row) => [Number(row.id), row]));
  return settled.flatMap(({ message, transition, outcome }) => {
    const row = sending.get(message.id);
    if (row?.attempts !== message.attemptNumber) return [];
    return [{ message: { ...message, contentHash: row.content_hash }, transition, outcome }];
  });
}

async function idsOfAttempts(tx: Tx, settled: readonly SettledMessage[]): Promise<AttemptIds> {
  const wanted = new Map(settled.map(({ message }) => [message.id, message.attemptNumber]));
  const rows = await tx.select<{ id: number; message_id: number; number: number }>(
    `SELECT id, message_id, number FROM attempt WHERE message_id IN ${placeholders(wanted.size)}`,
    [...wanted.keys()],
  );
  return new Map(
    rows
      .filter((row) => wanted.get(Number(row.message_id)) === row.number)
      .map((row) => [Number(row.message_id), Number(row.id)]),
  );
}

/** Closes updates that have nothing to say any more, and moves their bindings on. */
export async function settleNothingToSend(tx: Tx, messages: readonly NothingToSend[], nowMs: number): Promise<void> {
  if (messages.length === 0) return;
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    messages.map(({ id }) => ({
      id,
      state: 'superseded',
      reason: 'The service holds these values already.',
      closed_at: nowMs,
    })),
  );
  await updateRows(
    tx,
    'binding',
    ['entity', 'source_key'],
    messages.map((message) => ({
      entity: message.entity,
      source_key: message.sourceKey,
      revision: message.revision,
      content_hash: message.contentHash,
      mapping_fingerprint: message.mappingFingerprint,
    })),
  );
}

/**
 * A create was refused with proof while a newer revision was waiting behind it as an update: that one becomes the create,
 * also when it waits for a person (held, or not mappable): as an update it would wait for ever for the record.
 * Not when the record is bound: then the refused one was a repetition, and the update finds its record at the service.
 * @param removals fields that say at the service that a record was removed; what carries them needs no create
 * @returns the id of the promoted message, or null
 */
export async function promoteWaitingUpdate(
  tx: Tx,
  refused: { id: number; entity: Entity; sourceKey: string; revision: number; generation: number },
  installation: string,
  replaysRefusals: boolean,
  nowMs: number,
  removals: readonly { [field: string]: JsonValue }[] = [],
): Promise<number | null> {
  const [next] = await tx.select<{ id: number; operation: string; park_class: string | null; record: string | null }>(
    `SELECT id, operation, park_class, (SELECT b.record FROM message_body b WHERE b.message_id=outbox_message.id) AS record
       FROM outbox_message
      WHERE entity=? AND source_key=? AND revision>? AND operation IN ('update','delete') AND first_sent_at IS NULL
        AND (state='pending' OR (state='parked' AND park_class IN ('held','unmapped')))
        AND NOT EXISTS (SELECT 1 FROM binding b WHERE b.entity=? AND b.source_key=?)
      ORDER BY revision DESC LIMIT 1`,
    [refused.entity, refused.sourceKey, refused.revision, refused.entity, refused.sourceKey],
  );
  if (!next) return null;
  // Nothing was made, so that nothing has to be removed.
  if (next.operation === 'delete' || removals.some((patch) => carries(next.record, patch))) {
    await tx.run("UPDATE outbox_message SET state='superseded', closed_at=? WHERE id IN (?,?)", [
      nowMs,
      refused.id,
      next.id,
    ]);
    return Number(next.id);
  }
  const generation = refused.generation + (replaysRefusals ? 1 : 0);
  if (next.park_class === 'unmapped')
    await tx.run("UPDATE outbox_message SET operation='create', generation=? WHERE id=?", [generation, next.id]);
  else
    await tx.run(
      `UPDATE outbox_message SET operation='create', generation=?, idempotency_key=?, body_hash=content_hash, next_attempt_at=? WHERE id=?`,
      [generation, createKey(installation, refused.entity, refused.sourceKey, generation), nowMs, next.id],
    );
  await tx.run("UPDATE outbox_message SET state='superseded', closed_at=? WHERE id=?", [nowMs, refused.id]);
  return Number(next.id);
}

function carries(record: string | null, patch: { [field: string]: JsonValue }): boolean {
  const fields = JSON.parse(record ?? '{}') as { [field: string]: JsonValue };
  const said = Object.entries(patch);
  // Fields that say nothing are carried by every record.
  return said.length > 0 && said.every(([name, value]) => isDeepStrictEqual(fields[name], value));
}

/**
 * After a takeover: what an older epoch was sending may have been sent. A conflict was only looked up, and stays one.
 * @returns the messages that are in doubt now
 */
export async function doubtOlderEpochs(
  tx: Tx,
  epoch: number,
  nowMs: number,
): Promise<{ id: number; entity: Entity; sourceKey: string }[]> {
  await tx.run(
    "UPDATE outbox_message SET state='parked' WHERE state='sending' AND claim_epoch<? AND claimed_from='parked'",
    [epoch],
  );
  const rows = await tx.select(
    "SELECT id, entity, source_key FROM outbox_message WHERE state='sending' AND claim_epoch<?",
    [epoch],
  );
  if (rows.length > 0) {
    await tx.run(
      `UPDATE outbox_message
          SET state='in_doubt', next_attempt_at=?, first_sent_at=COALESCE(first_sent_at,
                (SELECT a.intended_at FROM attempt a WHERE a.message_id=outbox_message.id AND a.number=outbox_message.attempts)),
              reason='The process that was sending it stopped without an outcome.'
        WHERE state='sending' AND claim_epoch<?`,
      [nowMs, epoch],
    );
  }
  await tx.run(
    "UPDATE attempt SET verdict='unknown', reason='May have been sent: the process stopped before the outcome was on record.' WHERE verdict IS NULL AND epoch<?",
    [epoch],
  );
  return rows.map((row) => ({ id: Number(row.id), entity: row.entity, sourceKey: row.source_key }));
}

/**
 * Whatever is past the key's lifetime at the service is never resent blindly: it is parked for a person.
 * @param except entities that are looked up instead
 */
export async function parkForgottenKeys(
  tx: Tx,
  sentBeforeMs: number,
  except: readonly Entity[] = [],
): Promise<{ id: number; entity: Entity; sourceKey: string }[]> {
  const found = await tx.select(
    "SELECT id, entity, source_key FROM outbox_message WHERE state='in_doubt' AND operation='create' AND first_sent_at<?",
    [sentBeforeMs],
  );
  const rows = found.filter((row) => !except.includes(row.entity));
  const ids = rows.map((row) => Number(row.id));
  if (ids.length > 0)
    await tx.run(
      `UPDATE outbox_message SET state='parked', park_class='unproven',
              reason='The service may have forgotten the key since the first try, so a resend could make a second record. Look at the service, then use outbox resolve.'
        WHERE id IN ${placeholders(ids.length)} AND state='in_doubt'`,
      ids,
    );
  return rows.map((row) => ({ id: Number(row.id), entity: row.entity, sourceKey: row.source_key }));
}
