import { randomUUID } from 'node:crypto';
import { appendAudit } from '../audit/audit-log.js';
import type { ErpReader } from '../erp/erp-reader.js';
import { type AdoptionRow, importAdoptions } from '../outbox/adoptions.js';
import { type BindingRow, type ImportedBindings, importBindings } from '../outbox/binding-rows.js';
import { type ClosedBindingRow, importClosedBindings } from '../outbox/closed-binding-rows.js';
import {
  countUnbound,
  doubtBindings,
  doubtParkedCreates,
  markRecovered,
  settleUnbound,
  type UnboundFate,
} from '../outbox/recover-messages.js';
import { boundKeys } from '../outbox/removal-rows.js';
import { sweepAtNextPass } from '../store/cursors.js';
import type { Tx } from '../store/store.js';
import { deleteStoreInfo, readStoreInfo, writeStoreInfo } from '../store/store-info.js';
import { capture } from './capture.js';
import { inChunks } from './in-chunks.js';
import type { JobContext } from './job-context.js';
import { killPoint } from './kill-point.js';
import { type RecoveryHold, readPredecessors, readRecoveryHold } from './store-witness.js';
import { sync } from './sync.js';

export interface RecoverOptions {
  fate: UnboundFate;
  /** Exported bindings, in the order of the file. */
  bindings: AsyncIterable<AdoptionRow | BindingRow | ClosedBindingRow> | null;
  reason: string;
}

export interface RecoverResult {
  /** `removed`: records that the service has no more. */
  bindings: ImportedBindings & { removed: number };
  /** Records whose acknowledged values are not certain any more, so that every field of them is sent again. */
  doubtedBindings: number;
  /** Creates that the lost store may have sent, and what became of them. */
  unbound: number;
  to: UnboundFate['to'];
  /** Creates that were held or refused here, and that somebody may have let go in the lost store: parked as unproven. */
  unproven: number;
}

/** What there is to recover: writes nothing. */
export async function previewRecovery(
  context: JobContext,
  reader: ErpReader,
): Promise<{ hold: RecoveryHold | null; customers: number; orders: number }> {
  const hold = await context.store.read('read the hold', readRecoveryHold);
  const waiting = await context.store.read('count what may have been sent', countUnbound);
  const { captured } = await capture(context, reader, { dryRun: true, sweep: true });
  return {
    hold,
    customers: waiting.customers + captured.customers,
    orders: waiting.orders + captured.orders,
  };
}

/**
 * Rebuilds what a lost or restored store has to know before anything may be sent, and ends the hold: bindings from a
 * file, what any binding says of the service doubted, then every eligible row of the ERP read, then each create that may
 * have been sent marked as such. The new incarnation keeps updates from using keys that the lost store has used.
 * @throws when the ERP could not be read to its end; the hold stays then
 */
export async function recover(context: JobContext, reader: ErpReader, options: RecoverOptions): Promise<RecoverResult> {
  const { store, nowMs, actor } = context;
  const hold = await store.read('read the hold', readRecoveryHold);
  if (!hold) throw new Error('There is nothing to recover.');
  const bindings = { imported: 0, older: 0, closed: 0, removed: 0 };
  for await (const chunk of inChunks(options.bindings, 500)) {
    const done = await store.transaction('import bindings', async (tx) => {
      const closed = chunk.filter((row): row is ClosedBindingRow => 'closed_at' in row);
      bindings.removed += await importClosedBindings(tx, context.settings.installation, closed);
      await importAdoptions(
        tx,
        chunk.filter((row): row is AdoptionRow => 'adopted_from' in row),
      );
      const open = chunk.filter((row): row is BindingRow => !('closed_at' in row) && !('adopted_from' in row));
      return importBindings(tx, open, nowMs());
    });
    for (const name of ['imported', 'older', 'closed'] as const) bindings[name] += done[name];
  }
  const doubtedBindings = await doubtAllBindings(context);
  const captured = await sync(context, { reader, client: noClient }, { stages: ['capture'] });
  if (captured.capture?.stopped)
    throw new Error(`The ERP could not be read to its end: ${captured.capture.stopped.reason}`);

  const ended = await store.transaction('end the recovery', async (tx) => {
    const at = nowMs();
    const unbound = await settleUnbound(tx, options.fate, actor, at);
    const unproven = await doubtParkedCreates(tx, actor, at);
    const result: RecoverResult = { bindings, doubtedBindings, unbound, to: options.fate.to, unproven };
    await markRecovered(tx);
    await succeed(tx, hold);
    await appendAudit(
      tx,
      [
        {
          event: 'operator',
          outcome: 'recover',
          actor,
          detail: { loss: hold.reason, reason: options.reason, ...result, bindings: { ...bindings } },
        },
      ],
      at,
    );
    killPoint('before-recover-commit');
    return result;
  });
  killPoint('after-recover-commit');
  // What has to follow the creates that may have been sent: their changes, and removals, which were not decided meanwhile.
  await sync(context, { reader, client: noClient }, { stages: ['capture'] });
  return ended;
}

/** A new incarnation takes the place of the lost one, and every machine's witness learns it from the store. */
async function succeed(tx: Tx, hold: RecoveryHold): Promise<void> {
  const before = (await readStoreInfo(tx, 'incarnation')) ?? '';
  const { incarnation, predecessors: earlier = [] } = hold.witness;
  const predecessors = new Set([...(await readPredecessors(tx)), ...earlier, before, incarnation]);
  await writeStoreInfo(tx, 'incarnation', randomUUID());
  await writeStoreInfo(tx, 'predecessors', JSON.stringify([...predecessors]));
  await deleteStoreInfo(tx, 'recovery');
  // Removals were not decided meanwhile, and the cursors have gone past what was cancelled.
  for (const entity of ['customer', 'order'] as const) await sweepAtNextPass(tx, entity);
}

/**
 * A copy and an export tell what the service held when they were made. No changed-at proves that a row is as it was then:
 * many ERPs write lines without touching it.
 */
async function doubtAllBindings({ store }: JobContext): Promise<number> {
  let doubted = 0;
  for (const entity of ['customer', 'order'] as const)
    for (let after = ''; ; ) {
      const keys = await store.transaction('doubt older bindings', async (tx) => {
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

function noClient(): never {
  throw new Error('A recovery sends nothing.');
}
