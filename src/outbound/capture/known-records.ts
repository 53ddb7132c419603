import type { Entity } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { MessageState, Operation, ParkClass } from '../outbox/message.js';
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
