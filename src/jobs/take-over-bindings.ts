import { type AdoptionRow, importAdoptions } from '../outbox/adoptions.js';
import { type BindingRow, type ImportedBindings, importBindings } from '../outbox/binding-rows.js';
import { type ClosedBindingRow, importClosedBindings } from '../outbox/closed-binding-rows.js';
import { doubtBindings } from '../outbox/recover-messages.js';
import { boundKeys } from '../outbox/removal-rows.js';
import { assertEpoch } from '../store/lease.js';
import { CaptureLease } from './capture-lease.js';
import { inChunks } from './in-chunks.js';
import type { JobContext } from './job-context.js';

/** What `waybill bindings export` wrote. */
export type ExportedBindings = AsyncIterable<AdoptionRow | BindingRow | ClosedBindingRow>;

export interface TakenOver {
  /** `removed`: records that the service has no more. */
  bindings: ImportedBindings & { removed: number };
  /** Records whose acknowledged values are not certain any more, so that every field of them is sent again. */
  doubtedBindings: number;
}

/**
 * Takes over what an export says, and believes no binding any more. Nobody captures meanwhile: a pass that has read what is known
 * before a binding comes would write a create beside it.
 */
export async function takeOverBindings(context: JobContext, rows: ExportedBindings | null): Promise<TakenOver> {
  const lease = await CaptureLease.acquireWhenFree(context);
  if (typeof lease === 'string') throw new Error(`${lease}. Nothing was done: try again.`);
  try {
    const bindings = await importRows(context, lease, rows);
    return { bindings, doubtedBindings: await doubtAllBindings(context, lease) };
  } finally {
    await lease.release();
  }
}

async function importRows(
  { store, settings, nowMs }: JobContext,
  lease: CaptureLease,
  rows: ExportedBindings | null,
): Promise<TakenOver['bindings']> {
  const bindings = { imported: 0, older: 0, closed: 0, removed: 0 };
  for await (const chunk of inChunks(rows, 500)) {
    await lease.keep();
    const done = await store.transaction('import bindings', async (tx) => {
      await assertEpoch(tx, lease.lease);
      const closed = chunk.filter((row): row is ClosedBindingRow => 'closed_at' in row);
      bindings.removed += await importClosedBindings(tx, settings.installation, closed);
      await importAdoptions(
        tx,
        chunk.filter((row): row is AdoptionRow => 'adopted_from' in row),
      );
      const open = chunk.filter((row): row is BindingRow => !('closed_at' in row) && !('adopted_from' in row));
      return importBindings(tx, open, nowMs());
    });
    for (const name of ['imported', 'older', 'closed'] as const) bindings[name] += done[name];
  }
  return bindings;
}

/**
 * A copy and an export tell what the service held when they were made. No changed-at proves that a row is as it was then:
 * many ERPs write lines without touching it.
 */
async function doubtAllBindings({ store }: JobContext, lease: CaptureLease): Promise<number> {
  let doubted = 0;
  for (const entity of ['customer', 'order'] as const)
    for (let after = ''; ; ) {
      await lease.keep();
      const keys = await store.transaction('doubt older bindings', async (tx) => {
        await assertEpoch(tx, lease.lease);
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
