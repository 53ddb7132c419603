import {
  type BindingRow,
  bindingsAfter,
  type ClosedBindingRow,
  closedBindingsAfter,
} from '../../../src/outbound/outbox/exported-bindings.js';
import type { ExportedBindings, ExportedRow } from '../../../src/outbound/recovery/take-over-bindings.js';
import { insertRows, type Row } from '../../../src/store/rows.js';
import { readStoreInfo, writeStoreInfo } from '../../../src/store/store-info.js';
import type { StoreKit } from '../../store/stores.js';

const tables = [
  'outbox_message',
  'message_body',
  'binding',
  'closed_binding',
  'removed_id',
  'capture_cursor',
  'attempt',
];

/**
 * As the program finds it when it opens an empty store, or an older copy, although there was another one before. The witness
 * has counted what the store has.
 */
export function holdAsLost(kit: StoreKit, more: object = {}): Promise<void> {
  return kit.store.transaction('hold', async (tx) => {
    const besideFirstKey = Number((await readStoreInfo(tx, 'beside_first_key')) ?? 0);
    const hold = {
      kind: 'lost',
      reason: 'the store is empty',
      witness: { incarnation: 'the lost one', auditId: 1, besideFirstKey },
      copyAt: null,
      ...more,
    };
    await writeStoreInfo(tx, 'recovery', JSON.stringify(hold));
    await writeStoreInfo(tx, 'beside_first_key', '0');
  });
}

export function loseEverything(kit: StoreKit): Promise<void> {
  return kit.store.transaction('lose everything', async (tx) => {
    for (const table of tables) await tx.run(`DELETE FROM ${table}`);
  });
}

export function exportRows(kit: StoreKit): Promise<(BindingRow | ClosedBindingRow)[]> {
  return kit.store.read('export', async (tx) => {
    const rows = [];
    for (const entity of ['customer', 'order'] as const)
      rows.push(...(await bindingsAfter(tx, entity, '', 100)), ...(await closedBindingsAfter(tx, entity, '', 100)));
    return rows;
  });
}

export async function* each<T>(rows: readonly T[]): AsyncGenerator<T> {
  yield* rows;
}

/** An export of these rows that does not say which store wrote it. */
export function exportOf(rows: readonly ExportedRow[]): ExportedBindings {
  return { lineage: null, rekeyedAt: null, rows: each(rows) };
}

/** Keeps what the store knows. @returns puts it back in the place of all that came since */
export async function copyStore(kit: StoreKit): Promise<() => Promise<void>> {
  const copy: [string, Row[]][] = [];
  for (const table of tables) copy.push([table, await kit.rows(`SELECT * FROM ${table}`)]);
  return async () => {
    await loseEverything(kit);
    await kit.store.transaction('put the copy back', async (tx) => {
      for (const [table, rows] of copy) await insertRows(tx, table, rows);
    });
  };
}
