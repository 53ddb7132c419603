import { setTimeout as sleep } from 'node:timers/promises';
import { appendAudit } from '../audit/audit-log.js';
import type { ErpReader } from '../erp/erp-reader.js';
import { Refused } from '../model/facts/failure.js';
import { entities, pluralOf } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { killPoint } from '../ops/kill-point.js';
import { capture } from '../outbound/capture/capture.js';
import type { TouchedRecord } from '../outbound/capture/capture-page.js';
import { unsettledStrangers } from '../outbound/capture/rows-aside.js';
import { endWritesOf } from '../outbound/deliver/attempts.js';
import { oldAnswerMs } from '../outbound/deliver/gate-state.js';
import { areFirstKeysProven, inheritBesideFirstKey, withoutFirstKeys } from '../outbound/recovery/first-keys.js';
import {
  doubtParkedCreates,
  doubtUnmapped,
  markRecovered,
  settleUnbound,
  type UnboundFate,
  type UnprovenCreate,
  unprovenCreates,
} from '../outbound/recovery/recover-messages.js';
import {
  beginIncarnation,
  endHold,
  lockRecoveryHold,
  type RecoveryHold,
  readRecoveryHold,
  releaseSameStore,
  stateLoss,
} from '../outbound/recovery/store-witness.js';
import {
  type ExportedBindings,
  type ForeseenTakeOver,
  foreseeTakeOver,
  type TakenOver,
  takeOverBindings,
} from '../outbound/recovery/take-over-bindings.js';
import { readClock } from '../store/clock.js';
import { sweepAtNextPass } from '../store/job-runs.js';
import { lockCaptures } from '../store/lease.js';
import { isAnyAtWork } from '../store/lease-rows.js';
import type { Tx } from '../store/store.js';
import { readStoreInfo, writeStoreInfo } from '../store/store-info.js';
import { sync } from './sync.js';

interface RecoverOptions {
  fate: UnboundFate;
  bindings: ExportedBindings | null;
  reason: string;
}

export interface RecoverResult extends TakenOver {
  /** Creates that the lost store may have sent, and what became of them. */
  unbound: number;
  to: UnboundFate['to'];
  /** Creates that were held or refused here and may have been sent from the lost store: parked as unproven. */
  unproven: number;
}

/** Why delivery is held; null: it is not. And what is known of the keys of records that were sent before. */
export async function readRecoveryState({
  store,
  settings: { orders, customers },
}: JobContext): Promise<{ hold: RecoveryHold | null; isRekeyed: boolean; areFirstKeysProven: boolean }> {
  return store.read('read the hold', async (tx) => {
    const hold = await readRecoveryHold(tx);
    const rekeyedAt = hold?.witness?.rekeyedAt ?? (await readStoreInfo(tx, 'rekeyed_at'));
    // A record that goes on under another key was created under its first one.
    return {
      hold,
      isRekeyed: rekeyedAt !== null || [orders, customers].some(({ replaces }) => replaces !== undefined),
      areFirstKeysProven: await areFirstKeysProven(tx, hold?.witness ?? null),
    };
  });
}

/** Preview of a recovery; it writes nothing. */
export interface ForeseenRecovery {
  bindings: Omit<ForeseenTakeOver, 'bound' | 'binds'>;
  doubtedBindings: number;
  /** Creates that may have been sent before, of these entities. */
  customers: number;
  orders: number;
  /** Those of them that are parked in any case, because they are held or refused. */
  unproven: number;
}

/** Foresees a recovery: what the export would bind, and what nothing would prove after it. */
export async function previewRecovery(
  context: JobContext,
  reader: ErpReader,
  exported: ExportedBindings | null,
): Promise<ForeseenRecovery> {
  const { store } = context;
  const hold = await store.read('read the hold', readRecoveryHold);
  const { bound, binds, ...bindings } = await foreseeTakeOver(context, hold, exported);
  const counts = { customers: 0, orders: 0, unproven: 0 };
  const count = ({ entity, sourceKey, isParked }: Omit<UnprovenCreate, 'id'>) => {
    if (binds(entity, sourceKey)) return;
    counts[pluralOf(entity)]++;
    if (isParked) counts.unproven++;
  };
  const superseded = new Set<number>();
  await capture(context, reader, {
    dryRun: true,
    onTouched: (records: readonly TouchedRecord[]) => {
      for (const { supersedes, operation, parked, entity, sourceKey } of records) {
        if (supersedes !== null) superseded.add(supersedes);
        if (operation === 'create' && parked === null) count({ entity, sourceKey, isParked: false });
      }
    },
  });
  for (let afterId = 0; ; ) {
    const page = await store.read('count what may have been sent', (tx) => unprovenCreates(tx, afterId, 1_000));
    for (const create of page) if (!superseded.has(create.id)) count(create);
    const last = page.at(-1);
    if (last === undefined) break;
    afterId = last.id;
  }
  return { bindings, doubtedBindings: bound, ...counts };
}

/** A recovery that can't be done now. Delivery stays held. */
export class RecoveryRefused extends Refused {
  override readonly name = 'RecoveryRefused';
}

/**
 * Holds delivery for a recovery that a person asks for, durably and in every process, and waits until nothing is under way that
 * left before.
 * @throws when requests of another process do not come to their end; delivery stays held
 */
async function holdDelivery(
  { store, clock, settings, actor, nowMs }: JobContext,
  reason: string,
): Promise<RecoveryHold> {
  const hold = await store.transaction('hold delivery', async (tx) => {
    const known = await readRecoveryHold(tx);
    if (known) return known;
    const at = nowMs();
    const stated = await stateLoss(tx, at);
    const detail = { loss: stated.reason, reason };
    await appendAudit(tx, { event: 'operator', outcome: 'loss_stated', actor, detail }, at);
    return stated;
  });
  // The witness holds a store before anything is sent from it.
  if (hold.kind !== 'stated') return hold;
  // The gate of another process trusts its last answer for this long.
  await clock.sleep(oldAnswerMs + 5);
  const giveUpAt = performance.now() + 2 * settings.service.deadlineSeconds * 1000 + 10_000;
  while (await store.read('look what is under way', isUnderWay)) {
    if (performance.now() > giveUpAt) throw new RecoveryRefused({ code: 'earlier_requests_open' });
    await sleep(100);
  }
  return hold;
}

/** Requests of a process that is at work. Those of one that ended stay on record as what may have been sent. */
async function isUnderWay(tx: Tx): Promise<boolean> {
  const sending = await tx.value("SELECT 1 FROM outbox_message WHERE state='sending' LIMIT 1");
  return sending !== undefined && (await isAnyAtWork(tx));
}

/** Ends the hold on the word of a person that the store is the one that ran here last. */
export async function keepSameStore({ store, actor, nowMs }: JobContext, reason: string): Promise<void> {
  await store.transaction('keep the same store', async (tx) => {
    const hold = await readRecoveryHold(tx);
    if (!hold) throw new RecoveryRefused({ code: 'nothing_is_held' });
    await releaseSameStore(tx, hold);
    const detail = { loss: hold.reason, reason };
    await appendAudit(tx, { event: 'operator', outcome: 'same_store', actor, detail }, nowMs());
  });
}

/**
 * Rebuilds what a lost or restored store has to know before anything may be sent, and ends the hold, which it begins itself
 * where there is none. It takes bindings from a file, doubts what any binding says of the service, reads every eligible row of
 * the ERP, and marks each create that may have been sent. The new incarnation keeps updates from using keys that the lost store
 * has used.
 * @throws when the ERP could not be read to its end; the hold stays then. And when another recovery has ended the hold meanwhile
 */
export async function recover(context: JobContext, reader: ErpReader, options: RecoverOptions): Promise<RecoverResult> {
  const { store, nowMs, actor } = context;
  const hold = await holdDelivery(context, options.reason);
  const { bindings, doubtedBindings } = await takeOverBindings(context, hold, options.bindings, endWritesOf);
  await captureAll(context, reader);
  const ended = await store.transaction('end the recovery', async (tx) => {
    // Meanwhile no pass may replace a create that is judged here.
    await lockCaptures(tx);
    await lockRecoveryHold(tx, hold);
    const at = nowMs();
    // First what an operator may let go: once it is no longer parked, the next line finds it.
    const unproven = await doubtParkedCreates(tx, actor, at);
    const areProven = await areFirstKeysProven(tx, hold.witness);
    const canLookUp = context.settings.service.endpoints.lookUpOrder !== undefined;
    const fate = withoutFirstKeys(options.fate, areProven, canLookUp);
    await doubtUnmapped(tx, fate);
    const unbound = await settleUnbound(tx, { fate, areFirstKeysProven: areProven }, actor, readClock(context));
    const { refused: _, ...counts } = bindings;
    const result: RecoverResult = { bindings, doubtedBindings, unbound, to: fate.to, unproven };
    await markRecovered(tx);
    await succeed(tx, hold, options.bindings?.rekeyedAt ?? null);
    await appendAudit(
      tx,
      {
        event: 'operator',
        outcome: 'recover',
        actor,
        detail: { loss: hold.reason, reason: options.reason, ...result, bindings: counts, ...vouched(fate) },
      },
      at,
    );
    killPoint('before-recover-commit');
    return result;
  });
  killPoint('after-recover-commit');
  // The messages that have to follow the creates that may have been sent: their changes, and removals, which were not
  // decided meanwhile.
  await sync(context, { reader, client: noClient }, { stages: ['capture'] });
  return ended;
}

/**
 * Until every row that is there now is captured: an order that waits for its lines would be taken for a new one after the recovery.
 */
async function captureAll(context: JobContext, reader: ErpReader): Promise<void> {
  const { capture: whole } = await sync(context, { reader, client: noClient }, { stages: ['capture'] });
  const [failed] = whole?.failed ?? [];
  if (failed) throw new RecoveryRefused({ code: 'source_unreadable', source: failed.source, reason: failed.reason });
  if (whole?.stopped) throw new RecoveryRefused({ code: 'erp_not_read_whole', reason: whole.stopped.reason });
  const strangers = () => context.store.read('read who waits for lines', unsettledStrangers);
  let waiting = await strangers();
  const giveUpAt = performance.now() + 3 * context.settings.orders.settleSeconds * 1000 + 10_000;
  while (waiting.length > 0) {
    if (performance.now() > giveUpAt)
      throw new RecoveryRefused({ code: 'lines_still_missing', orders: waiting.length, first: waiting[0] ?? '' });
    await sleep(500);
    const { stopped, busy } = await capture(context, reader, {});
    if (stopped && !busy) throw new RecoveryRefused({ code: 'erp_not_read_whole', reason: stopped.reason });
    const still = new Set(await strangers());
    waiting = waiting.filter((key) => still.has(key));
  }
}

/** The word of a person that the recovery has relied on. */
function vouched(fate: UnboundFate): { firstKeys?: true } {
  return fate.to === 'in_doubt' && fate.firstKeys ? { firstKeys: true } : {};
}

/** A new incarnation takes the place of the lost one, and every machine's witness learns it from the store. */
async function succeed(tx: Tx, hold: RecoveryHold, exportedRekeyedAt: number | null): Promise<void> {
  const { witness } = hold;
  await beginIncarnation(tx, witness === null ? [] : [...(witness.predecessors ?? []), witness.incarnation]);
  const rekeyedAt = witness?.rekeyedAt ?? exportedRekeyedAt;
  if (rekeyedAt !== null && (await readStoreInfo(tx, 'rekeyed_at')) === null)
    await writeStoreInfo(tx, 'rekeyed_at', String(rekeyedAt));
  await inheritBesideFirstKey(tx, witness);
  await endHold(tx, hold);
  // Removals were not decided meanwhile, and the cursors have moved past cancelled rows.
  for (const entity of entities) await sweepAtNextPass(tx, entity);
}

function noClient(): never {
  throw new Error('A recovery sends nothing.');
}
