import type { JobContext } from '../../ops/job-context.js';
import { lockLease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { type AdoptionRow, importAdoptions } from '../outbox/adoptions.js';
import {
  type BindingRow,
  type ClosedBindingRow,
  type ImportedBindings,
  importBindings,
  importClosedBindings,
} from '../outbox/binding-export.js';
import { inChunks } from '../outbox/in-chunks.js';
import { boundKeys } from '../outbox/removal-rows.js';
import { doubtBindings } from './recover-messages.js';
import { lockRecoveryHold, type RecoveryHold } from './store-witness.js';

/** A line of what `waybill bindings export` wrote. */
export type ExportedRow = AdoptionRow | BindingRow | ClosedBindingRow;

export interface TakenOver {
  /** `removed`: records that the service has no more. */
  bindings: ImportedBindings & { removed: number };
  /** Records whose acknowledged values are not certain any more, so that every field of them is sent again. */
  doubtedBindings: number;
}

/**
 * Takes over what an export says, and believes no binding any more. Nobody captures in those transactions: a pass that has read what
 * is known before a binding comes would write a create beside it. Nor does anybody deliver: each of them looks for the hold again.
 * @throws when another recovery has ended the hold meanwhile
 */
export async function takeOverBindings(
  context: JobContext,
  hold: RecoveryHold,
  exported: AsyncIterable<ExportedRow> | null,
): Promise<TakenOver> {
  const bindings = { imported: 0, older: 0, closed: 0, removed: 0 };
  for await (const chunk of inChunks(exported, 500)) {
    const done = await context.store.transaction('import bindings', (tx) => importRows(context, tx, hold, chunk));
    for (const name of ['imported', 'older', 'closed', 'removed'] as const) bindings[name] += done[name];
  }
  return { bindings, doubtedBindings: await doubtAllBindings(context, hold) };
}

async function importRows(
  { nowMs }: JobContext,
  tx: Tx,
  hold: RecoveryHold,
  rows: readonly ExportedRow[],
): Promise<TakenOver['bindings']> {
  await lockLease(tx, 'capture');
  await lockRecoveryHold(tx, hold);
  const open = rows.filter((row): row is BindingRow => !('closed_at' in row) && !('adopted_from' in row));
  const cameBack = (one: ClosedBindingRow) =>
    open.some((row) => row.entity === one.entity && row.source_key === one.source_key && row.revision > one.revision);
  const closed = rows.filter((row): row is ClosedBindingRow => 'closed_at' in row).filter((row) => !cameBack(row));
  const removed = await importClosedBindings(tx, closed, nowMs());
  const adoptions = rows.filter((row): row is AdoptionRow => 'adopted_from' in row);
  await importAdoptions(tx, adoptions);
  return { ...(await importBindings(tx, open, nowMs())), removed };
}

/**
 * A copy and an export tell what the service held when they were made. No changed-at proves that a row is as it was then:
 * many ERPs write lines without touching it.
 */
async function doubtAllBindings({ store }: JobContext, hold: RecoveryHold): Promise<number> {
  let doubted = 0;
  for (const entity of ['customer', 'order'] as const)
    for (let after = ''; ; ) {
      const keys = await store.transaction('doubt older bindings', async (tx) => {
        await lockLease(tx, 'capture');
        await lockRecoveryHold(tx, hold);
        const found = await boundKeys(tx, entity, after, 1_000);
        await doubtBindings(tx, entity, found);
        return found;
      });
      const last = keys.at(-1);
      if (last === undefined) break;
      doubted += keys.length;
      after = last;
    }
  return doubted;
}
