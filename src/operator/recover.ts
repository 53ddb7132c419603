import { setTimeout as sleep } from 'node:timers/promises';
import { appendAudit } from '../audit/audit-log.js';
import type { ErpReader } from '../erp/erp-reader.js';
import { entities } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { killPoint } from '../ops/kill-point.js';
import { capture } from '../outbound/capture/capture.js';
import { unsettledStrangers } from '../outbound/capture/rows-aside.js';
import { endWritesOf } from '../outbound/deliver/attempts.js';
import {
  countUnbound,
  doubtParkedCreates,
  doubtUnmapped,
  markRecovered,
  settleUnbound,
  type UnboundFate,
} from '../outbound/recovery/recover-messages.js';
import {
  beginIncarnation,
  lockRecoveryHold,
  type RecoveryHold,
  readRecoveryHold,
} from '../outbound/recovery/store-witness.js';
import { type ExportedRow, type TakenOver, takeOverBindings } from '../outbound/recovery/take-over-bindings.js';
import { sweepAtNextPass } from '../store/job-runs.js';
import { lockCaptures } from '../store/lease.js';
import type { Tx } from '../store/store.js';
import { deleteStoreInfo, readStoreInfo } from '../store/store-info.js';
import { sync } from './sync.js';

interface RecoverOptions {
  fate: UnboundFate;
  /** In the order of the file. */
  bindings: AsyncIterable<ExportedRow> | null;
  reason: string;
}

interface RecoverResult extends TakenOver {
  /** Creates that the lost store may have sent, and what became of them. */
  unbound: number;
  to: UnboundFate['to'];
  /** Creates that were held or refused here and may have been sent from the lost store: parked as unproven. */
  unproven: number;
}

/** What there is to recover: writes nothing. */
export async function previewRecovery(
  context: JobContext,
  reader: ErpReader,
): Promise<{ hold: RecoveryHold | null; isRekeyed: boolean; customers: number; orders: number }> {
  const { orders, customers } = context.settings;
  const hold = await context.store.read('read the hold', readRecoveryHold);
  const rekeyedAt = await context.store.read('look for a rekey', (tx) => readStoreInfo(tx, 'rekeyed_at'));
  const waiting = await context.store.read('count what may have been sent', countUnbound);
  const { captured } = await capture(context, reader, { dryRun: true });
  return {
    hold,
    // What went on under another key was created under its first one.
    isRekeyed: rekeyedAt !== null || orders.replaces !== undefined || customers.replaces !== undefined,
    customers: waiting.customers + captured.customers,
    orders: waiting.orders + captured.orders,
  };
}

/**
 * Rebuilds what a lost or restored store has to know before anything may be sent, and ends the hold: bindings from a
 * file, what any binding says of the service doubted, then every eligible row of the ERP read, then each create that may
 * have been sent marked as such. The new incarnation keeps updates from using keys that the lost store has used.
 * @throws when the ERP could not be read to its end; the hold stays then. And when another recovery has ended the hold meanwhile
 */
export async function recover(context: JobContext, reader: ErpReader, options: RecoverOptions): Promise<RecoverResult> {
  const { store, nowMs, actor } = context;
  const hold = await store.read('read the hold', readRecoveryHold);
  if (!hold) throw new Error('There is nothing to recover.');
  const { bindings, doubtedBindings } = await takeOverBindings(context, hold, options.bindings, endWritesOf);
  await captureAll(context, reader);
  const ended = await store.transaction('end the recovery', async (tx) => {
    // Meanwhile no pass may replace a create that is judged here.
    await lockCaptures(tx);
    await lockRecoveryHold(tx, hold);
    const at = nowMs();
    // First what an operator may let go: once it is no longer parked, the next line finds it.
    const unproven = await doubtParkedCreates(tx, actor, at);
    await doubtUnmapped(tx, options.fate);
    const unbound = await settleUnbound(tx, options.fate, actor, at);
    const { refused: _, ...counts } = bindings;
    const result: RecoverResult = { bindings, doubtedBindings, unbound, to: options.fate.to, unproven };
    await markRecovered(tx);
    await succeed(tx, hold);
    await appendAudit(
      tx,
      {
        event: 'operator',
        outcome: 'recover',
        actor,
        detail: { loss: hold.reason, reason: options.reason, ...result, bindings: counts },
      },
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

/**
 * Until every row that is there now is captured: an order that waits for its lines would be taken for a new one after the recovery.
 */
async function captureAll(context: JobContext, reader: ErpReader): Promise<void> {
  const { capture: whole } = await sync(context, { reader, client: noClient }, { stages: ['capture'] });
  const [failed] = whole?.failed ?? [];
  if (failed)
    throw new Error(`The source ${failed.source || 'of the section erp'} could not be read: ${failed.reason}`);
  if (whole?.stopped) throw new Error(`The ERP could not be read to its end: ${whole.stopped.reason}`);
  const strangers = () => context.store.read('read who waits for lines', unsettledStrangers);
  let waiting = await strangers();
  const giveUpAt = performance.now() + 3 * context.settings.orders.settleSeconds * 1000 + 10_000;
  while (waiting.length > 0) {
    if (performance.now() > giveUpAt)
      throw new Error(
        `${waiting.length} orders still wait for their lines (the first is ${waiting[0]}), so afterwards it would be unknown whether they were sent. Run recover again when they have their lines.`,
      );
    await sleep(500);
    const { stopped, busy } = await capture(context, reader, {});
    if (stopped && !busy) throw new Error(`The ERP could not be read to its end: ${stopped.reason}`);
    const still = new Set(await strangers());
    waiting = waiting.filter((key) => still.has(key));
  }
}

/** A new incarnation takes the place of the lost one, and every machine's witness learns it from the store. */
async function succeed(tx: Tx, hold: RecoveryHold): Promise<void> {
  const { incarnation, predecessors = [] } = hold.witness;
  await beginIncarnation(tx, [...predecessors, incarnation]);
  await deleteStoreInfo(tx, 'recovery');
  // Removals were not decided meanwhile, and the cursors have moved past cancelled rows.
  for (const entity of entities) await sweepAtNextPass(tx, entity);
}

function noClient(): never {
  throw new Error('A recovery sends nothing.');
}
