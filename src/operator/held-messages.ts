import type { Entity } from '../model/record.js';
import { reviewAdoptions } from '../outbound/outbox/adoptions.js';
import { advanceBindings, type Binding, refreshBindings } from '../outbound/outbox/bindings.js';
import { changedFields } from '../outbound/outbox/compose-update.js';
import type { Operation, ParkClass } from '../outbound/outbox/message.js';
import { discardMessages, releaseHeld } from '../outbound/outbox/transitions.js';
import { placeholders } from '../store/rows.js';
import type { SqlValue, Tx } from '../store/store.js';

export interface HeldMessage {
  id: number;
  entity: Entity;
  sourceKey: string;
  number: string | null;
  operation: Operation;
  reason: string;
  /** Names of the fields that an update would change at the service. */
  fields: string[];
}

/** What a person says about what is held. */
export const confirmations = ['send', 'adopt', 'discard'] as const;
export type Confirmation = (typeof confirmations)[number];

export interface HeldFilter {
  entity?: Entity;
  /** Only these records. Named by key, also those whose key belongs to another record now. */
  keys?: readonly string[];
}

/** Messages that wait for `waybill confirm`, oldest first. */
export async function heldMessages(tx: Tx, filter: HeldFilter, afterId: number, limit: number): Promise<HeldMessage[]> {
  const { where, parameters } = heldSql(filter);
  const rows = await tx.rows(
    `SELECT m.id, m.entity, m.source_key, m.number, m.operation, m.reason, b.record, w.acknowledged
       FROM outbox_message m
       LEFT JOIN message_body b ON b.message_id=m.id
       LEFT JOIN binding w ON w.entity=m.entity AND w.source_key=m.source_key
      WHERE ${where} AND m.id>? ORDER BY m.id LIMIT ${Math.trunc(limit)}`,
    [...parameters, afterId],
  );
  return rows.map(({ record, acknowledged, ...row }) => ({
    ...row,
    reason: row.reason ?? '',
    fields: row.operation === 'update' ? changedFields(acknowledged, record) : [],
  }));
}

/** Whether anything of the entity waits for `waybill confirm`. */
export async function isAnythingHeld(tx: Tx, entity: Entity): Promise<boolean> {
  const rows = await tx.select(
    "SELECT id FROM outbox_message WHERE state='parked' AND entity=? AND park_class='held' LIMIT 1",
    [entity],
  );
  return rows.length > 0;
}

/** An update of a never sent identity conflict is sendable; a create of one has no key. */
function heldSql({ entity, keys }: HeldFilter): { where: string; parameters: SqlValue[] } {
  const conditions = ["m.state='parked'"];
  const parameters: SqlValue[] = [];
  conditions.push(
    keys === undefined
      ? "m.park_class='held'"
      : "(m.park_class='held' OR (m.park_class='conflict' AND m.operation='update' AND m.first_sent_at IS NULL))",
  );
  if (entity !== undefined) {
    conditions.push('m.entity=?');
    parameters.push(entity);
  }
  if (keys !== undefined) {
    conditions.push(`m.source_key IN ${placeholders(keys.length)}`);
    parameters.push(...keys);
  }
  return { where: conditions.join(' AND '), parameters };
}

interface ConfirmedRow
  extends Pick<Binding, 'entity' | 'sourceKey' | 'revision' | 'contentHash' | 'mappingFingerprint'> {
  id: number;
  operation: Operation;
  parkClass: ParkClass;
}

/**
 * Does what the person said, with those of the messages that are still held. `adopt` makes what the ERP says the baseline
 * without sending it: the service keeps what it has until the record changes again. Returns what was done; the caller audits.
 */
export async function confirmMessages(
  tx: Tx,
  ids: readonly number[],
  filter: HeldFilter,
  confirmation: Confirmation,
  reason: string,
  nowMs: number,
): Promise<{ id: number; entity: Entity; sourceKey: string }[]> {
  if (ids.length === 0) return [];
  const { where, parameters } = heldSql(filter);
  const found = await tx.rows<ConfirmedRow>(
    `SELECT m.id, m.entity, m.source_key, m.operation, m.park_class, m.revision, m.content_hash, m.mapping_fingerprint
       FROM outbox_message m WHERE m.id IN ${placeholders(ids.length)} AND ${where}
      ORDER BY m.id${tx.forUpdate}`,
    [...ids, ...parameters],
  );
  // There is no baseline for what the service never had: a create waits on, until it is sent or discarded.
  const rows = found.filter((row) => confirmation !== 'adopt' || row.operation !== 'create');
  if (rows.length === 0) return [];
  const confirmed = rows.map(({ id }) => id);
  for (const entity of ['customer', 'order'] as const)
    await reviewAdoptions(
      tx,
      entity,
      rows.filter((row) => row.entity === entity).map((row) => row.sourceKey),
      nowMs,
    );
  // Who the record is now is learnt from the next sweep.
  const renamed = confirmation === 'discard' ? [] : rows.filter((row) => row.parkClass === 'conflict');
  if (renamed.length > 0)
    await tx.run(
      `UPDATE outbox_message SET identity=NULL WHERE id IN ${placeholders(renamed.length)}`,
      renamed.map(({ id }) => id),
    );
  await refreshBindings(
    tx,
    renamed.map(({ entity, sourceKey }) => ({ entity, sourceKey, identity: null })),
  );
  if (confirmation === 'send') await releaseHeld(tx, confirmed, nowMs);
  else {
    const said = confirmation === 'adopt' ? `Adopted as the new baseline: ${reason}` : reason;
    await discardMessages(tx, 'parked', confirmed, said, nowMs);
  }
  if (confirmation === 'adopt')
    await advanceBindings(
      tx,
      rows.filter((row) => row.operation === 'update'),
    );
  return rows.map(({ id, entity, sourceKey }) => ({ id, entity, sourceKey }));
}
