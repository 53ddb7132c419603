import type { Entity } from '../../model/record.js';
import { leftBehind, leftBehindSince } from '../../model/record.js';
import { renameKeys, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { writeStoreInfo } from '../../store/store-info.js';
import { keepGenerations, refreshBindings } from '../outbox/bindings.js';
import { supersedeUnsent } from '../outbox/transitions.js';
import { renameRecords, restartRecords } from '../recovery/rename-records.js';

export interface Move {
  entity: Entity;
  from: string;
  to: string;
  /** The revision of the last message or binding under the old key: a record that gets that key goes on after it. */
  revision: number;
  generation: number;
}

/**
 * One record goes on under another key. A message that was captured under that key and never sent is closed, as is an
 * unsent removal under the old one; keys and bytes that the service may have seen stay. @returns the number of closed
 * messages
 */
export async function moveRecord(tx: Tx, { entity, from, to, ...used }: Move, nowMs: number): Promise<number> {
  const unsent = await unsentMessages(tx, entity, from, to);
  await supersedeUnsent(tx, unsent, { code: 'goes_on_under_key', entity, from, to }, nowMs);
  // Messages under the new key stay on record beside it. The orders of a customer keep the key, which is right now.
  const aside = leftBehind(leftBehindSince(nowMs), to);
  await renameKeys(tx, 'outbox_message', 'source_key', entity, new Map([[to, aside]]));
  await renameRecords(tx, entity, new Map([[from, to]]));
  await keepGenerations(tx, entity, [{ sourceKey: from, ...used }], nowMs);
  // Number and other columns of it may have changed with the key: the next pass learns them anew.
  await refreshBindings(tx, [{ entity, sourceKey: to, identity: null }]);
  await tx.run('UPDATE outbox_message SET identity=NULL WHERE entity=? AND source_key=?', [entity, to]);
  await restartRecords(tx, entity, [from, to]);
  await tx.run('UPDATE replaced_record SET replaced_by=? WHERE entity=? AND replaced_by=?', [to, entity, from]);
  await tx.run('DELETE FROM replaced_record WHERE entity=? AND source_key=?', [entity, to]);
  await noteReplaced(tx, entity, from, to, nowMs);
  await writeStoreInfo(tx, 'rekeyed_at', String(nowMs));
  return unsent.length;
}

/**
 * This store never sent it. A recovery may have left open whether another one did: a person who says that it is a known record has
 * looked at the service.
 */
export const neverSentHere = "(was_sent=0 OR (state='parked' AND attempts=0 AND first_sent_at IS NULL))";

/** The messages under the new key, and the removal that followed from the absence of the old one. */
export async function unsentMessages(tx: Tx, entity: Entity, from: string, to: string): Promise<number[]> {
  const rows = await tx.rows<{ id: number }>(
    `SELECT id FROM outbox_message WHERE entity=? AND state IN ('pending','parked') AND ${neverSentHere}
        AND (source_key=? OR (source_key=? AND removal IS NOT NULL))`,
    [entity, to, from],
  );
  return rows.map(({ id }) => id);
}

/** Puts on record which key the ERP has in place of this one. */
export async function noteReplaced(tx: Tx, entity: Entity, from: string, to: string, nowMs: number): Promise<void> {
  const row = { entity, source_key: from, replaced_by: to, at: nowMs };
  await upsertRows(tx, 'replaced_record', ['entity', 'source_key'], [row]);
}
