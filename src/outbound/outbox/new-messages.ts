import type { Fact } from '../../model/facts/fact.js';
import { type Entity, entities, foldKey, sourceOf } from '../../model/record.js';
import { factRow } from '../../store/fact-columns.js';
import { insertRows, padded, placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import {
  type FirstSend,
  type Operation,
  type ParkClass,
  type Removal,
  type Schedule,
  scheduleColumns,
} from './message.js';

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
  /** The total of an order's lines, in the service's unit of money, so that the record need not be read to check an answer. */
  total?: string | null;
  /** Set for a create: its bytes are frozen here. An update is composed later. */
  idempotencyKey: string | null;
  /** The first time that the same key and bytes went out (`resync --force`); absent: never. */
  sentBefore?: FirstSend;
  /** The form in which its key was shown to the service then. */
  presentedAs?: string | null;
  /** Whatever is found or acknowledged of it proves nothing of its fields: an update follows. */
  isContentDoubted?: boolean;
  /** The columns that never change, as JSON. */
  identity?: string | null;
  /** One of many that a resync or a change of the mapping brings: it goes after what is new. */
  isBacklog?: boolean;
  /** It may be sent once the scan that found it has ended, unless it is put on hold then; absent: at once. */
  waitsForScan?: boolean;
  /** Why the record has to go at the service; absent: it has not. */
  removal?: Removal;
  parked: { parkClass: ParkClass; reason: Fact } | null;
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
      source: sourceOf(message.sourceKey),
      folded_key: foldKey(message.sourceKey),
      revision: message.revision,
      operation: message.operation,
      generation: message.generation,
      number: message.number,
      source_changed_at: message.changedAt ?? null,
      customer_key: message.customerKey,
      idempotency_key: message.idempotencyKey,
      // The bytes of a create are its record: one text, one hash.
      body_hash: message.idempotencyKey === null ? null : message.contentHash,
      content_hash: message.isContentDoubted ? null : message.contentHash,
      mapping_fingerprint: message.mappingFingerprint,
      state: message.parked ? 'parked' : 'pending',
      park_class: message.parked?.parkClass ?? null,
      ...factRow('reason', message.parked?.reason ?? null),
      ...scheduleColumns(scheduleOf(message, nowMs)),
      identity: message.identity ?? null,
      was_sent: message.sentBefore?.wasSent ?? 0,
      first_sent_at: message.sentBefore?.firstSentAt ?? null,
      presented_as: message.presentedAs ?? null,
      captured_at: nowMs,
      is_backlog: message.isBacklog ? 1 : 0,
      removal: message.removal ?? null,
      total: message.total ?? null,
    })),
  );
  await hurryWhatNewsWaitsFor(
    tx,
    messages.filter(({ isBacklog }) => !isBacklog),
  );
  // Ids of a multi-row insert are not promised to be consecutive: ask for them.
  const ids = new Map<string, number>();
  for (const entity of entities) {
    const keys = padded([...new Set(messages.filter((m) => m.entity === entity).map((m) => m.sourceKey))]);
    if (keys.length === 0) continue;
    const rows = await tx.rows<{ id: number; sourceKey: string; revision: number }>(
      `SELECT id, source_key, revision FROM outbox_message WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
      [entity, ...keys],
    );
    for (const { id, revision, sourceKey } of rows) ids.set(`${entity} ${revision} ${sourceKey}`, id);
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

function scheduleOf({ parked, waitsForScan }: NewMessage, nowMs: number): Schedule {
  if (parked) return { waitsFor: 'person' };
  return waitsForScan ? { waitsFor: 'scan' } : { at: nowMs };
}

/** An older revision of the same record, or the customer of a new order, is no backlog any more: news waits for it. */
async function hurryWhatNewsWaitsFor(tx: Tx, news: readonly NewMessage[]): Promise<void> {
  const waitedFor = {
    customer: news.flatMap((m) => (m.entity === 'customer' ? m.sourceKey : (m.customerKey ?? []))),
    order: news.flatMap((m) => (m.entity === 'order' ? [m.sourceKey] : [])),
  };
  for (const entity of entities) {
    const keys = padded([...new Set(waitedFor[entity])]);
    if (keys.length === 0) continue;
    // The CASE keeps SQLite from reading the whole backlog, of which it expects little.
    await tx.run(
      `UPDATE outbox_message SET is_backlog=0
        WHERE source_key IN ${placeholders(keys.length)} AND entity=?
          AND CASE WHEN is_backlog=1 AND state IN ('pending','sending','in_doubt') THEN 1 ELSE 0 END=1`,
      [...keys, entity],
    );
  }
}
