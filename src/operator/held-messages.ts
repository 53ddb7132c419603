import type { Entity } from '../model/record.js';
import { reviewAdoptions } from '../outbound/outbox/adoptions.js';
import { changedFields } from '../outbound/outbox/compose-update.js';
import type { Operation } from '../outbound/outbox/message.js';
import { placeholders, updateRows } from '../store/rows.js';
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
  const rows = await tx.select(
    `SELECT m.id, m.entity, m.source_key, m.number, m.operation, m.reason, b.record, w.acknowledged
       FROM outbox_message m
       LEFT JOIN message_body b ON b.message_id=m.id
       LEFT JOIN binding w ON w.entity=m.entity AND w.source_key=m.source_key
      WHERE ${where} AND m.id>? ORDER BY m.id LIMIT ${Math.trunc(limit)}`,
    [...parameters, afterId],
  );
  return rows.map((row) => ({
    id: Number(row.id),
    entity: row.entity,
    sourceKey: row.source_key,
    number: row.number,
    operation: row.operation,
    reason: row.reason ?? '',
    fields: row.operation === 'update' ? changedFields(row.acknowledged, row.record) : [],
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
  const found = await tx.select(
    `SELECT m.id, m.entity, m.source_key, m.operation, m.park_class, m.revision, m.content_hash, m.mapping_fingerprint, m.identity
       FROM outbox_message m WHERE m.id IN ${placeholders(ids.length)} AND ${where}
      ORDER BY m.id${tx.forUpdate}`,
    [...ids, ...parameters],
  );
  // There is no baseline for what the service never had: a create waits on, until it is sent or discarded.
  const rows = found.filter((row) => confirmation !== 'adopt' || row.operation !== 'create');
  if (rows.length === 0) return [];
  const confirmed = rows.map((row) => Number(row.id));
  for (const entity of ['customer', 'order'] as const)
    await reviewAdoptions(
      tx,
      entity,
      rows.filter((row) => row.entity === entity).map((row) => row.source_key),
      nowMs,
    );
  // Who the record is now is learnt from the next sweep.
  const renamed = confirmation === 'discard' ? [] : rows.filter((row) => row.park_class === 'conflict');
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    renamed.map((row) => ({ id: Number(row.id), identity: null })),
  );
  await updateRows(
    tx,
    'binding',
    ['entity', 'source_key'],
    renamed.map((row) => ({ entity: row.entity, source_key: row.source_key, identity: null })),
  );
  if (confirmation === 'send') {
    await tx.run(
      `UPDATE outbox_message SET state='pending', park_class=NULL, reason=NULL, next_attempt_at=?
        WHERE id IN ${placeholders(confirmed.length)}`,
      [nowMs, ...confirmed],
    );
  } else {
    const said = confirmation === 'adopt' ? `Adopted as the new baseline: ${reason}` : reason;
    await tx.run(
      `UPDATE outbox_message SET state='discarded', reason=?, closed_at=? WHERE id IN ${placeholders(confirmed.length)}`,
      [said.slice(0, 1000), nowMs, ...confirmed],
    );
  }
  if (confirmation === 'adopt')
    await updateRows(
      tx,
      'binding',
      ['entity', 'source_key'],
      rows
        .filter((row) => row.operation === 'update')
        .map((row) => ({
          entity: row.entity,
          source_key: row.source_key,
          revision: row.revision,
          content_hash: row.content_hash,
          mapping_fingerprint: row.mapping_fingerprint,
        })),
    );
  return rows.map((row) => ({ id: Number(row.id), entity: row.entity, sourceKey: row.source_key }));
}
