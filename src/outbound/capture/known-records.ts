import type { Entity } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { ClosedBinding, KnownBinding, NewestMessage } from './next-revision.js';

export interface KnownRecord {
  newest: (NewestMessage & KnownDetails & { reason: string | null; number: string | null }) | null;
  binding: (KnownBinding & KnownDetails) | null;
  /** The binding of a record that was deleted at the service. */
  closed: ClosedBinding | null;
}

interface KnownDetails {
  mappingFingerprint: string;
  /** The columns that never change, as they were; null when they are not known. */
  identity: string | null;
}

/**
 * What is known of many records: the newest message and the bindings of each, by source key. Three
 * queries, whatever the number of keys.
 * @param lock holds the messages until the transaction ends: a message that was unsent when we
 * looked must not be claimed   before its successor is written, or two bodies would share one key
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
  const listed = placeholders(keys.length);
  const note = ({ sourceKey, ...facts }: { sourceKey: string } & Partial<KnownRecord>) => {
    const record = known.get(sourceKey);
    if (record) Object.assign(record, facts);
  };
  const messages = await tx.rows<{ sourceKey: string } & NonNullable<KnownRecord['newest']>>(
    `SELECT id, source_key, revision, operation, generation, state, park_class, content_hash, first_sent_at, found_at, reason, number,
            mapping_fingerprint, identity
       FROM outbox_message
      WHERE entity=? AND source_key IN ${listed}
      ORDER BY revision${lock ? tx.forUpdate : ''}`,
    [entity, ...keys],
  );
  for (const { sourceKey, ...newest } of messages) note({ sourceKey, newest });
  const bindings = await tx.rows(
    `SELECT b.source_key, b.revision, b.generation, b.content_hash, b.mapping_fingerprint, b.identity,
            a.adopted_at, a.differs, a.reviewed_at
       FROM binding b LEFT JOIN adoption a ON a.entity=b.entity AND a.source_key=b.source_key
      WHERE b.entity=? AND b.source_key IN ${listed}`,
    [entity, ...keys],
  );
  for (const { sourceKey, adoptedAt, differs, reviewedAt, ...binding } of bindings) {
    const adoption = adoptedAt === null ? null : { differs: JSON.parse(differs), isReviewed: reviewedAt !== null };
    note({ sourceKey, binding: { ...binding, adoption } });
  }
  const closed = await tx.rows<{ sourceKey: string } & ClosedBinding>(
    `SELECT source_key, revision, generation FROM closed_binding WHERE entity=? AND source_key IN ${listed}`,
    [entity, ...keys],
  );
  for (const { sourceKey, ...one } of closed) note({ sourceKey, closed: one });
  return known;
}

/** What the service last acknowledged of these records, as canonical JSON by source key. */
export async function acknowledgedRecords(
  tx: Tx,
  entity: Entity,
  sourceKeys: readonly string[],
): Promise<Map<string, string>> {
  if (sourceKeys.length === 0) return new Map();
  const rows = await tx.rows<{ sourceKey: string; acknowledged: string }>(
    `SELECT source_key, acknowledged FROM binding
      WHERE entity=? AND acknowledged IS NOT NULL AND source_key IN ${placeholders(sourceKeys.length)}`,
    [entity, ...sourceKeys],
  );
  return new Map(rows.map((row) => [row.sourceKey, row.acknowledged]));
}
