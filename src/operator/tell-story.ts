import type { Fact } from '../model/facts/fact.js';
import type { Entity } from '../model/record.js';
import { type Adoption, adoptionOf } from '../outbound/outbox/adoptions.js';
import type { SaidBinding } from '../outbound/outbox/binding-holders.js';
import type { MessageState, Operation, ParkClass, WaitsFor } from '../outbound/outbox/message.js';
import { factOf, withFact } from '../store/fact-columns.js';
import type { Tx } from '../store/store.js';

export interface StoryMessage {
  id: number;
  revision: number;
  operation: Operation;
  generation: number;
  number: string | null;
  customerKey: string | null;
  idempotencyKey: string | null;
  bodyHash: string | null;
  state: MessageState;
  parkClass: ParkClass | null;
  reason: Fact | null;
  /** When it is tried or looked up next; null: see `waitsFor`, or it has come to its end. */
  nextAttemptAt: number | null;
  waitsFor: WaitsFor | null;
  attempts: number;
  /** When it was last claimed for sending. */
  claimedAt: number | null;
  wasSent: 0 | 1;
  firstSentAt: number | null;
  /** When the last request for it had ended here at the latest; null: it had none, or its end is not known. */
  endedAt: number | null;
  serviceId: string | null;
  flag: Fact | null;
  capturedAt: number;
  closedAt: number | null;
}

export interface StoryAttempt {
  /** null: it delivered its message, and stands there. */
  id: number | null;
  messageId: number;
  number: number;
  purpose: string;
  intendedAt: number;
  startedAt: number | null;
  durationMs: number | null;
  status: number | null;
  /** null: no outcome is on record. */
  verdict: string | null;
  reason: Fact | null;
  requestId: string | null;
  traceId: string | null;
  excerpt: string | null;
}

interface StoryBinding {
  serviceId: string;
  revision: number;
  /** When the service acknowledged it, or a person said that it is there. */
  acknowledgedAt: number;
  /** The person who said that it is there, and the service's answer then; null: the service acknowledged it. */
  said: SaidBinding | null;
  /** The service's words about it when it was read back; null: it was never read. */
  atService: OrderAtService | null;
}

export interface OrderAtService {
  status: string | null;
  /** In the service's unit of money. */
  total: number | null;
  readAt: number;
  /** It is read no more: nothing happens to it any more. */
  isFinal: boolean;
  /** Since when the service has it no more; null: it has. */
  goneAt: number | null;
  /** Why a person should look, or null. */
  flag: Fact | null;
}

/** The place of the customer that an order waits for. */
export interface StoryCustomer {
  sourceKey: string;
  binding: StoryBinding | null;
  /** Its newest message, or null when none was captured. */
  newest: StoryMessage | null;
}

/** Everything that the store knows about one record, oldest first. */
export interface RecordStory {
  entity: Entity;
  sourceKey: string;
  number: string | null;
  binding: StoryBinding | null;
  /** Set when the service had the record before us. */
  adoption: Adoption | null;
  messages: StoryMessage[];
  attempts: StoryAttempt[];
  /** The number of older attempts that are not in the list. */
  attemptsLeftOut: number;
  customer: StoryCustomer | null;
  /** Set while the order waits for its lines. */
  unsettled: { firstSeenAt: number; reason: Fact } | null;
  /** Set while the order is not pending any more, and nothing says why. */
  left: { sinceAt: number; reason: Fact | null } | null;
  /** The replacement in the ERP: this record by another one, or another one by this. */
  replaced: { sourceKey: string; replacedBy: string; at: number }[];
}

/** A record that was retried for weeks has thousands. */
const maxAttempts = 200;
const maxMessages = 200;

export async function tellStory(tx: Tx, entity: Entity, sourceKey: string): Promise<RecordStory> {
  const messages = await messagesOf(tx, entity, sourceKey, maxMessages);
  const newest = messages.at(-1) ?? null;
  const customerKey = newest?.customerKey ?? null;
  const [unsettled = null] =
    entity === 'order'
      ? await tx.rows('SELECT first_seen_at, reason_code, reason_data FROM unsettled WHERE source_key=?', [sourceKey])
      : [];
  const [left = null] =
    entity === 'order'
      ? await tx.rows('SELECT since_at, reason_code, reason_data FROM left_order WHERE source_key=?', [sourceKey])
      : [];
  return {
    entity,
    sourceKey,
    number: newest?.number ?? null,
    binding: await bindingOf(tx, entity, sourceKey),
    adoption: await adoptionOf(tx, entity, sourceKey),
    messages,
    ...(await attemptsOf(tx, entity, sourceKey)),
    customer:
      customerKey === null
        ? null
        : {
            sourceKey: customerKey,
            binding: await bindingOf(tx, 'customer', customerKey),
            newest: (await messagesOf(tx, 'customer', customerKey, 1))[0] ?? null,
          },
    unsettled: unsettled && {
      firstSeenAt: unsettled.firstSeenAt,
      reason: factOf(unsettled.reasonCode, unsettled.reasonData) as Fact,
    },
    left: left && { sinceAt: left.sinceAt, reason: factOf(left.reasonCode, left.reasonData) },
    replaced: await tx.rows(
      `SELECT source_key, replaced_by, at FROM replaced_record
        WHERE entity=? AND (source_key=? OR replaced_by=?) ORDER BY at, source_key LIMIT 20`,
      [entity, sourceKey, sourceKey],
    ),
  };
}

async function messagesOf(tx: Tx, entity: Entity, sourceKey: string, limit: number): Promise<StoryMessage[]> {
  const rows = await tx.rows<Omit<StoryMessage, 'reason' | 'flag'>>(
    `SELECT id, revision, operation, generation, number, customer_key, idempotency_key, body_hash, state, park_class, reason_code,
            reason_data, next_attempt_at, waits_for, attempts, claimed_at, was_sent, first_sent_at, ended_at, service_id, flag_code, flag_data, captured_at, closed_at
       FROM outbox_message WHERE entity=? AND source_key=? ORDER BY revision DESC LIMIT ${limit}`,
    [entity, sourceKey],
  );
  return rows.reverse().map((row) => withFact(withFact(row, 'reason'), 'flag'));
}

async function attemptsOf(
  tx: Tx,
  entity: Entity,
  sourceKey: string,
): Promise<Pick<RecordStory, 'attempts' | 'attemptsLeftOut'>> {
  const name = [entity, sourceKey];
  const from = 'FROM attempt a JOIN outbox_message m ON m.id=a.message_id WHERE m.entity=? AND m.source_key=?';
  const all = (await tx.value<number>(`SELECT COUNT(*) ${from}`, name)) ?? 0;
  const others = await tx.rows<Omit<StoryAttempt, 'reason'>>(
    `SELECT a.id, a.message_id, a.number, a.purpose, a.intended_at, a.started_at, a.duration_ms, a.status, a.verdict,
            a.reason_code, a.reason_data, a.request_id, a.trace_id, a.excerpt
       ${from} ORDER BY a.id DESC LIMIT ${maxAttempts}`,
    name,
  );
  const delivered = await tx.rows<StoryAttempt>(
    `SELECT NULL AS id, id AS message_id, attempts AS number, operation AS purpose, claimed_at AS intended_at, started_at,
            duration_ms, status, 'delivered' AS verdict, NULL AS reason, request_id, trace_id, NULL AS excerpt
       FROM outbox_message WHERE entity=? AND source_key=? AND state='delivered' AND started_at IS NOT NULL
      ORDER BY revision DESC LIMIT ${maxMessages}`,
    name,
  );
  const undelivered = others.reverse().map((row) => withFact(row, 'reason'));
  const attempts = [...undelivered, ...delivered.reverse()].sort((a, b) => a.intendedAt - b.intendedAt);
  return { attempts, attemptsLeftOut: all - others.length };
}

async function bindingOf(tx: Tx, entity: Entity, sourceKey: string): Promise<StoryBinding | null> {
  const [row] = await tx.rows(
    `SELECT service_id, revision, acknowledged_at, said_by, said_check, read_state, read_at, read_id, read_flag_code, read_flag_data, gone_at,
            service_status AS status, service_total AS total
       FROM binding WHERE entity=? AND source_key=?`,
    [entity, sourceKey],
  );
  if (!row) return null;
  const {
    serviceId,
    revision,
    acknowledgedAt,
    saidBy,
    saidCheck,
    readId,
    readState,
    readFlagCode,
    readFlagData,
    ...read
  } = row;
  const flag = factOf(readFlagCode, readFlagData);
  const wasRead = read.readAt !== null && readId === serviceId;
  return {
    serviceId,
    revision,
    acknowledgedAt,
    said: saidBy === null ? null : { by: saidBy, check: saidCheck ?? '' },
    atService: wasRead ? { ...read, flag, isFinal: readState === 'final' } : null,
  };
}
