import type { InSource } from '../model/record.js';
import { placeholders, upsertRows } from './rows.js';
import type { Tx } from './store.js';

/** Facts about the store itself, each under one name. */
type StoreInfoName =
  | 'incarnation'
  | 'go_live'
  | 'environment'
  /** The meaning of the keys of an entity. */
  | InSource<'source_keys.customer'>
  | InSource<'source_keys.order'>
  /** When records got other keys: those of their creates at the service are not made of the ones that they have now. */
  | 'rekeyed_at'
  /** Number of times that records came to the service otherwise than by their first keys; no value: it is not known. */
  | 'beside_first_key'
  /** Why delivery waits for `waybill recover`. */
  | 'recovery'
  /** Incarnations that this one has replaced. */
  | 'predecessors'
  /** The newest message when the last recovery ended. */
  | 'recovered_to'
  /** The audit line that the witness was told of last. Retention may remove the line. */
  | 'witnessed'
  /** Machines and folders where a witness of a store on a server was written. */
  | 'witness_places'
  /** The last attempt, and the last line of the audit, that the figures count. */
  | 'figures'
  /** The last time on the wall clock, beside the time since the machine started; a node of a cluster has its own. */
  | 'clock'
  | `clock/${string}`
  /** Record of the time that surely passed, see `ClockRecord`. */
  | 'elapsed'
  /** Rows of a table that were removed lately, see `quotaLeft`. */
  | `pruned/${string}`
  /** The audit says already that the clocks keep rows from being removed. */
  | 'prune_deferred';

/** With `forUpdate`, no other transaction changes or removes the row until this one ends. */
export async function readStoreInfo(tx: Tx, name: StoreInfoName, forUpdate = false): Promise<string | null> {
  const lock = forUpdate ? tx.forUpdate : '';
  return (await tx.value<string>(`SELECT value FROM store_info WHERE name=?${lock}`, [name])) ?? null;
}

/** Several at once; what has no value is left out. */
export async function readStoreInfos<Name extends StoreInfoName>(
  tx: Tx,
  names: readonly Name[],
): Promise<Map<Name, string>> {
  const rows = await tx.rows<{ name: Name; value: string }>(
    `SELECT name, value FROM store_info WHERE name IN ${placeholders(names.length)}`,
    names,
  );
  return new Map(rows.map(({ name, value }) => [name, value]));
}

export async function writeStoreInfo(tx: Tx, name: StoreInfoName, value: string): Promise<void> {
  await upsertRows(tx, 'store_info', ['name'], [{ name, value }]);
}

export async function deleteStoreInfo(tx: Tx, name: StoreInfoName): Promise<void> {
  await tx.run('DELETE FROM store_info WHERE name=?', [name]);
}
