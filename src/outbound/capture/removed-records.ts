import { type Entity, sourceOf } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { MessageState } from '../outbox/message.js';
import { changedIdentity, renamedMark } from './brake.js';
import { acknowledgedRecords, type KnownRecord } from './known-records.js';

/*
 * What the store knows of records whose rows are gone.
 */

/**
 * The record as it was last wanted: that of the newest message. If that message was superseded,
 * what the service acknowledged, where that is known.
 */
export async function lastRecords(
  tx: Tx,
  entity: Entity,
  known: ReadonlyMap<string, KnownRecord>,
): Promise<Map<string, string>> {
  const records = await acknowledgedRecords(tx, entity, [...known.keys()]);
  const ids = [...known.values()].flatMap(({ newest }) => newest?.id ?? []);
  if (ids.length === 0) return records;
  const wanted = await tx.rows<{ sourceKey: string; state: MessageState; record: string }>(
    `SELECT m.source_key, m.state, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id
      WHERE m.id IN ${placeholders(ids.length)} AND m.operation<>'delete'`,
    ids,
  );
  for (const { sourceKey, state, record } of wanted)
    if (state !== 'superseded' || !records.has(sourceKey)) records.set(sourceKey, record);
  return records;
}

/**
 * Finds the key under which each of these orders, whose rows are gone, seems to go on. Under that key a person has to look at it,
 * or its row can't be sent as it is.
 */
export async function heldAsRenamed(tx: Tx, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const listed = placeholders(keys.length);
  const select = (table: string) =>
    `SELECT o.source_key, o.identity, h.source_key AS held_key, h.park_class, h.reason, h.identity AS held_identity FROM ${table} o
       JOIN outbox_message h ON h.number=o.number AND h.entity='order' AND h.source_key<>o.source_key
        AND h.state='parked' AND h.park_class IN ('held','unmapped') AND h.operation='create'
      WHERE o.entity='order' AND o.source_key IN ${listed}`;
  const rows = await tx.rows<SeemsRenamed>(`${select('outbox_message')} UNION ${select('binding')}`, [
    ...keys,
    ...keys,
  ]);
  return new Map(rows.filter(seemsRenamed).map(({ sourceKey, heldKey }) => [sourceKey, heldKey]));
}

interface SeemsRenamed {
  sourceKey: string;
  identity: string | null;
  heldKey: string;
  parkClass: 'held' | 'unmapped';
  reason: string;
  heldIdentity: string | null;
}

function seemsRenamed({ sourceKey, identity, heldKey, parkClass, reason, heldIdentity }: SeemsRenamed): boolean {
  if (parkClass === 'held') return reason.startsWith(renamedMark);
  if (sourceOf(sourceKey) !== sourceOf(heldKey)) return false;
  return identity !== null && heldIdentity !== null && changedIdentity(identity, heldIdentity) === null;
}
