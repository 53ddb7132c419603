import type { Tx } from '../../store/store.js';
import { deleteStoreInfo, readStoreInfo, writeStoreInfo } from '../../store/store-info.js';
import type { UnboundFate } from './recover-messages.js';

/** The witness of a store that was lost; null: there is none. */
type Said = { incarnation: string; besideFirstKey?: number } | null;

/**
 * Counts a record that comes to the service otherwise than by the first key of its create: a resend of that key would make a
 * second record there. To be called in the transaction that claims or binds it. An unknown count stays unknown.
 */
export async function noteBesideFirstKey(tx: Tx): Promise<void> {
  const known = await readStoreInfo(tx, 'beside_first_key', true);
  if (known !== null) await writeStoreInfo(tx, 'beside_first_key', String(Number(known) + 1));
}

/**
 * True if the witness proves that every record which this store does not know came to the service by its first key. An older
 * copy of the very store has counted as many others as its witness.
 */
export async function areFirstKeysProven(tx: Tx, witness: Said): Promise<boolean> {
  if (witness?.besideFirstKey === undefined) return false;
  if (witness.besideFirstKey === 0) return true;
  const isSameStore = witness.incarnation === (await readStoreInfo(tx, 'incarnation'));
  return isSameStore && witness.besideFirstKey === Number((await readStoreInfo(tx, 'beside_first_key')) ?? 0);
}

/**
 * The fate of creates that the service may know by another key than the first one. Pure. Waybill asks for them where it can,
 * and a person looks where it can't.
 */
export function withoutFirstKeys(fate: UnboundFate, areProven: boolean, canLookUp: boolean): UnboundFate {
  if (fate.to === 'parked' || fate.lookUp || fate.firstKeys || areProven) return fate;
  return canLookUp ? { to: 'in_doubt', sentSince: null, lookUp: true } : { to: 'parked', besideFirstKey: true };
}

/** The successor of a store that is lost counts on from it; what is not known of it stays unknown. */
export async function inheritBesideFirstKey(tx: Tx, witness: Said): Promise<void> {
  const own = await readStoreInfo(tx, 'beside_first_key');
  if (own === null || witness?.besideFirstKey === undefined) await deleteStoreInfo(tx, 'beside_first_key');
  else await writeStoreInfo(tx, 'beside_first_key', String(Math.max(Number(own), witness.besideFirstKey)));
}
