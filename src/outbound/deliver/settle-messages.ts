import type { VerdictKind } from '../../model/verdict.js';
import { insertRows, placeholders, updateRows, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { closeBindings } from '../outbox/bindings.js';
import { doubtContents, provenRecord, unknownContent } from '../outbox/content-hash.js';
import type { Transition } from '../outbox/message.js';
import { fromBeforeRecovery } from '../recovery/recover-messages.js';
import type { ClaimedMessage } from './claim-messages.js';

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
 * are doubted.
 */
async function doubtOldAnswers(tx: Tx, settled: readonly SettledMessage[]): Promise<SettledMessage[]> {
  const isCreated = ({ message, transition }: SettledMessage) =>
    transition.state === 'delivered' && message.operation === 'create' && message.contentHash !== unknownContent;
  if (!settled.some(isCreated)) return [...settled];
  const isFromBefore = await fromBeforeRecovery(tx);
  const isDoubted = (one: SettledMessage) => isCreated(one) && isFromBefore(one.message.id);
  await doubtContents(
    tx,
    settled.filter(isDoubted).map(({ message }) => message),
  );
  return settled.map((one) =>
    isDoubted(one) ? { ...one, message: { ...one.message, contentHash: unknownContent } } : one,
  );
}

/** As the store knows them by now: a recovery may have doubted their contents since they were claimed, and moved them behind a binding. */
async function stillSending(tx: Tx, settled: readonly SettledMessage[], epoch: number): Promise<SettledMessage[]> {
  if (settled.length === 0) return [];
  const rows = await tx.select<{
    id: number;
    attempts: number;
    content_hash: string;
    revision: number;
    generation: number;
  }>(
    `SELECT id, attempts, content_hash, revision, generation FROM outbox_message
      WHERE id IN ${placeholders(settled.length)} AND state='sending' AND claim_epoch=?${tx.forUpdate}`,
    [...settled.map(({ message }) => message.id), epoch],
  );
  const sending = new Map(rows.map((row) => [Number(row.id), row]));
  return settled.flatMap(({ message, transition, outcome }) => {
    const row = sending.get(message.id);
    if (row?.attempts !== message.attemptNumber) return [];
    const { content_hash: contentHash, revision, generation } = row;
    return [{ message: { ...message, contentHash, revision, generation }, transition, outcome }];
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
