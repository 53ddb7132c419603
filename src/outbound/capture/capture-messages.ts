import type { Entity } from '../../model/record.js';
import { insertRows, placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { MessageState, Operation, ParkClass } from '../outbox/message.js';
import { unknownContent } from '../outbox/unknown-content.js';
import type { ClosedBinding, KnownBinding, NewestMessage } from './next-revision.js';

export interface KnownRecord {
  newest: (NewestMessage & KnownDetails & { reason: string | null; number: string | null }) | null;
  binding: (KnownBinding & KnownDetails) | null;
  /** Of a record that was deleted at the service. */
  closed: ClosedBinding | null;
}

interface KnownDetails {
  mappingFingerprint: string;
  /** The columns that never change, as they were; null when they are not known. */
  identity: string | null;
}

/**
 * What is known of many records: the newest message and the binding of each. Two queries, whatever the number of keys.
 * @param lock holds the messages until the transaction ends: a message that was unsent when we looked must not be claimed
 *   before its successor is written, or two bodies would share one key
 */
export async function knownRecords(
  tx: Tx,
  entity: Entity,
  sourceKeys: readonly string[],
  lock = false,
): Promise<Map<string, KnownRecord>> {
  const known = new Map<string, KnownRecord>(
    sourceKeys.map((key) => [key, { newest: null, binding: null, closed: null }]),
  );
  if (sourceKeys.length === 0) return known;
  const keys = [...known.keys()];
  const newest = await tx.select(
    `SELECT id, source_key, revision, operation, generation, state, park_class, content_hash, first_sent_at, reason, number,
            mapping_fingerprint, identity
       FROM outbox_message
      WHERE entity=? AND source_key IN ${placeholders(keys.length)}
      ORDER BY revision${lock ? tx.forUpdate : ''}`,
    [entity, ...keys],
  );
  for (const row of newest) {
    const record = known.get(row.source_key);
    if (record)
      record.newest = {
        id: Number(row.id),
        revision: row.revision,
        operation: row.operation as Operation,
        generation: row.generation,
        state: row.state as MessageState,
        parkClass: row.park_class as ParkClass | null,
        contentHash: row.content_hash,
        firstSentAt: row.first_sent_at === null ? null : Number(row.first_sent_at),
        reason: row.reason,
        number: row.number,
        mappingFingerprint: row.mapping_fingerprint,
        identity: row.identity,
      };
  }
  const bindings = await tx.select(
    `SELECT b.source_key, b.revision, b.generation, b.content_hash, b.mapping_fingerprint, b.identity,
            a.adopted_at, a.differs, a.reviewed_at
       FROM binding b LEFT JOIN adoption a ON a.entity=b.entity AND a.source_key=b.source_key
      WHERE b.entity=? AND b.source_key IN ${placeholders(keys.length)}`,
    [entity, ...keys],
  );
  for (const row of bindings) {
    const record = known.get(row.source_key);
    if (record)
      record.binding = {
        revision: row.revision,
        generation: row.generation,
        contentHash: row.content_hash,
        mappingFingerprint: row.mapping_fingerprint,
        identity: row.identity,
        adoption:
          row.adopted_at === null
            ? null
            : {
                differs: row.differs === null ? null : JSON.parse(row.differs),
                isReviewed: row.reviewed_at !== null,
              },
      };
  }
  const closed = await tx.select(
    `SELECT source_key, revision, generation FROM closed_binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
    [entity, ...keys],
  );
  for (const row of closed) {
    const record = known.get(row.source_key);
    if (record) record.closed = { revision: row.revision, generation: row.generation };
  }
  return known;
}

/** What the service last acknowledged of these records, as canonical JSON. */
export async function acknowledgedRecords(
  tx: Tx,
  entity: Entity,
  sourceKeys: readonly string[],
): Promise<Map<string, string>> {
  if (sourceKeys.length === 0) return new Map();
  const rows = await tx.select<{ source_key: string; acknowledged: string }>(
    `SELECT source_key, acknowledged FROM binding
      WHERE entity=? AND acknowledged IS NOT NULL AND source_key IN ${placeholders(sourceKeys.length)}`,
    [entity, ...sourceKeys],
  );
  return new Map(rows.map((row) => [row.source_key, row.acknowledged]));
}

export interface NewMessage {
  entity: Entity;
  sourceKey: string;
  revision: number;
  operation: Operation;
  generation: number;
  /** The number that people know the record by. */
  number: string | null;
  /** The row's change cursor as the ERP wrote it. */
  changedAt?: string | null;
  /** Key of the customer whose binding it waits for, or null. */
  customerKey: string | null;
  contentHash: string;
  mappingFingerprint: string;
  /** The mapped record as canonical JSON; null for a row that can't be mapped. */
  record: string | null;
  /** Set for a create: its bytes are frozen here. An update is composed later. */
  idempotencyKey: string | null;
  /** When the same key and bytes went out before (`resync --force`). */
  firstSentAt?: number | null;
  /** Whatever is found or acknowledged of it proves nothing of its fields: an update follows. */
  isContentDoubted?: boolean;
  /** The columns that never change, as JSON. */
  identity?: string | null;
  /** One of many that a resync or a change of the mapping brings: it goes after what is new. */
  isBacklog?: boolean;
  /** When it may be sent; absent: now. */
  nextAttemptAt?: number;
  parked: { parkClass: ParkClass; reason: string } | null;
}

/** Writes new messages and their bodies, and returns their ids in the same order. */
export async function insertMessages(tx: Tx, messages: readonly NewMessage[], nowMs: number): Promise<number[]> {
  if (messages.length === 0) return [];
  await insertRows(
    tx,
    'outbox_message',
    messages.map((message) => ({
      entity: message.entity,
      source_key: message.sourceKey,
      revision: message.revision,
      operation: message.operation,
      generation: message.generation,
      number: message.number?.slice(0, 255) ?? null,
      source_changed_at: message.changedAt ?? null,
      customer_key: message.customerKey,
      idempotency_key: message.idempotencyKey,
      // The bytes of a create are its record: one text, one hash.
      body_hash: message.idempotencyKey === null ? null : message.contentHash,
      content_hash: message.isContentDoubted ? unknownContent : message.contentHash,
      mapping_fingerprint: message.mappingFingerprint,
      state: message.parked ? 'parked' : 'pending',
      park_class: message.parked?.parkClass ?? null,
      reason: message.parked?.reason.slice(0, 1000) ?? null,
      next_attempt_at: message.nextAttemptAt ?? nowMs,
      identity: message.identity ?? null,
      first_sent_at: message.firstSentAt ?? null,
      captured_at: nowMs,
      is_backlog: message.isBacklog ? 1 : 0,
    })),
  );
  await hurryWhatNewsWaitsFor(
    tx,
    messages.filter(({ isBacklog }) => !isBacklog),
  );
  // Ids of a multi-row insert are not promised to be consecutive: ask for them.
  const ids = new Map<string, number>();
  for (const entity of ['customer', 'order'] as const) {
    const keys = [...new Set(messages.filter((m) => m.entity === entity).map((m) => m.sourceKey))];
    if (keys.length === 0) continue;
    const rows = await tx.select(
      `SELECT id, source_key, revision FROM outbox_message WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
      [entity, ...keys],
    );
    for (const row of rows) ids.set(`${entity} ${row.revision} ${row.source_key}`, Number(row.id));
  }
  const inOrder = messages.map((m) => ids.get(`${m.entity} ${m.revision} ${m.sourceKey}`) as number);
  await insertRows(
    tx,
    'message_body',
    messages.flatMap((message, i) =>
      message.record === null ? [] : [{ message_id: inOrder[i] as number, record: message.record, body: null }],
    ),
  );
  return inOrder;
}

/** An older revision of the same record, or the customer of a new order, is no backlog any more: news waits for it. */
async function hurryWhatNewsWaitsFor(tx: Tx, news: readonly NewMessage[]): Promise<void> {
  const waitedFor = {
    customer: news.flatMap((m) =>
      m.entity === 'customer' ? [m.sourceKey] : m.customerKey === null ? [] : [m.customerKey],
    ),
    order: news.flatMap((m) => (m.entity === 'order' ? [m.sourceKey] : [])),
  };
  for (const entity of ['customer', 'order'] as const) {
    const keys = [...new Set(waitedFor[entity])];
    if (keys.length === 0) continue;
    await tx.run(
      `UPDATE outbox_message SET is_backlog=0
        WHERE source_key IN ${placeholders(keys.length)} AND entity=? AND is_backlog=1 AND state IN ('pending','sending','in_doubt')`,
      [...keys, entity],
    );
  }
}

/** Closes messages that a newer revision replaces. Only those that are still unsent or parked: others stay as they are. */
export async function supersedeMessages(tx: Tx, ids: readonly number[], nowMs: number): Promise<number> {
  if (ids.length === 0) return 0;
  return tx.run(
    `UPDATE outbox_message SET state='superseded', closed_at=?
      WHERE id IN ${placeholders(ids.length)} AND ((state='pending' AND first_sent_at IS NULL) OR state='parked')`,
    [nowMs, ...ids],
  );
}
