import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { ErpReader } from '../../erp/erp-reader.js';
import type { Fact } from '../../model/facts/fact.js';
import type { LeftFact, RecordFact } from '../../model/facts/records.js';
import { defaultSource, type Entity, type JsonValue, keysBefore, nextKey, sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { before, noteElapsed } from '../../store/elapsed-time.js';
import type { Lease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { type CountingSweep, countMissing } from '../outbox/bindings.js';
import { isWholeRecord } from '../outbox/compose-update.js';
import { canonicalJson, sha256 } from '../outbox/content-hash.js';
import { boundKeys } from '../outbox/exported-bindings.js';
import type { Removal } from '../outbox/message.js';
import { insertMessages, type NewMessage } from '../outbox/new-messages.js';
import { supersedeUnsent } from '../outbox/transitions.js';
import type { TouchedRecord } from './capture-page.js';
import { type KnownRecord, knownRecords, knownSpellings } from './known-records.js';
import { noteLeftOrders } from './left-orders.js';
import { decideRemoval, replacesRecord } from './next-revision.js';
import { findRenamed, lastRecords, renamedReason } from './removed-records.js';
import { holdReason } from './safety-limits.js';

/**
 * The questions of delivery before a removal leaves: is the record back, or does it go on under another key, and of
 * which ERP.
 */
export type ErpPresence = Pick<ErpReader, 'identity' | 'presence' | 'eligible' | 'namesakes'>;

export interface RemovalPass {
  entity: Entity;
  /** Null in a dry run. */
  lease: Lease | null;
  /** Records that a dry run leaves out: they would go on under another key by now. */
  replaced: ReadonlySet<string>;
  fingerprint: string;
  /** Asked before each page: why to stop, or null. */
  stop: () => Promise<Fact | null>;
  /** Told what a page has written, or would write. */
  report: (removed: readonly TouchedRecord[]) => void;
}

type Fields = { [name: string]: JsonValue };

const withdrawnReason: RecordFact = { code: 'cancelled_before_sending' };

/** Compares every record that the outbox knows with the ERP, a page of keys at a time. Part of a sweep. */
export async function sweepRemovals(
  context: JobContext,
  reader: ErpReader,
  pass: RemovalPass,
  sweep: CountingSweep,
): Promise<void> {
  const { store } = context;
  const { cancelled, onDeleted } = settingsOf(context, pass.entity);
  const completed = pass.entity === 'order' ? context.settings.orders.completed : undefined;
  const left = completed === undefined ? null : new Map<string, LeftFact>();
  if (pass.entity === 'order' && pass.lease && left === null) await noteLeftOrders(context, pass.lease, null);
  if (!cancelled && onDeleted === 'nothing' && left === null) return;
  const limit = pageSize(context);
  const { source = defaultSource } = context.settings;
  for (let afterKey: string | null = keysBefore(source); afterKey !== null; ) {
    if ((await pass.stop()) !== null) return;
    const from: string = afterKey;
    const found = await store.read('read what is bound', (tx) => boundKeys(tx, pass.entity, from, limit));
    afterKey = nextKey(source, found.at(-1));
    const keys = found.filter((key) => sourceOf(key) === source);
    for (const [key, reason] of await removePage(context, reader, pass, keys, sweep)) left?.set(key, reason);
  }
  if (left !== null && pass.lease) await noteLeftOrders(context, pass.lease, left);
  if (!cancelled) return;
  for (let afterId = 0; ; ) {
    if ((await pass.stop()) !== null) return;
    const unsent = await store.read('read what is unsent', (tx) =>
      openCreates(tx, pass.entity, source, afterId, limit),
    );
    const last = unsent.at(-1);
    if (!last) return;
    afterId = last.id;
    await removePage(context, reader, pass, [...new Set(unsent.map(({ sourceKey }) => sourceKey))], null);
  }
}

/** Cancellations among the changes since the cursor: they need not wait for the next sweep. */
export async function captureCancelled(
  context: JobContext,
  reader: ErpReader,
  pass: RemovalPass,
  since: string | null,
): Promise<void> {
  let from: Parameters<ErpReader['readChangedCancelled']>[1] = { since };
  for (;;) {
    if ((await pass.stop()) !== null) return;
    const page = await reader.readChangedCancelled(pass.entity, from, pageSize(context));
    const known = await knownSpellings(context.store, reader, pass.entity, page.keys);
    const keys = new Set(page.keys.map((key) => known.get(key)?.key ?? key));
    if (keys.size > 0) await removePage(context, reader, pass, [...keys], null);
    if (!page.more || !page.last) return;
    from = { after: page.last };
  }
}

/** The message for a record that was removed. */
type PlannedRemoval = { because: Removal } & (
  | { withdraws: number; sourceKey: string; number: string | null }
  | { message: NewMessage; supersedes: number | null }
);

/** @returns orders that left `pending` and nothing says why, with what their rows say */
async function removePage(
  context: JobContext,
  reader: ErpReader,
  pass: RemovalPass,
  keys: readonly string[],
  sweep: CountingSweep | null,
): Promise<ReadonlyMap<string, LeftFact>> {
  const { entity, lease } = pass;
  const { clock } = context;
  // With the time in which a machine slept.
  const askedBootMs = clock.sinceBoot().bootMs;
  const { existing, cancelled, left = new Map() } = await reader.presence(entity, keys);
  const missing = existing && new Set(keys.filter((key) => !existing.has(key)));
  const renamed = await findRenamed(context, reader, entity, missing && sweep ? [...missing] : []);
  const plan = async (tx: Tx) => {
    const deletedAfterMs = context.settings.capture.deletedAfterMinutes * 60_000;
    // A dry run counts nothing: it shows what becomes of a record that stays away for long enough.
    let counted: Iterable<string> | null = missing;
    if (missing && sweep && lease) {
      const answeredAt = await noteElapsed(tx, context);
      const askedAt = before(answeredAt, Math.max(0, clock.sinceBoot().bootMs - askedBootMs));
      counted = await countMissing(tx, entity, { keys, missing, askedAt, answeredAt, deletedAfterMs }, sweep);
    }
    const deleted = new Set(sweep ? counted : []);
    const goesOn = (key: string) => pass.replaced.has(`${entity} ${key}`);
    const removed = keys.filter((key) => (cancelled.has(key) || deleted.has(key)) && !goesOn(key));
    if (removed.length === 0) return [];
    const known = await knownRecords(tx, entity, removed, lease !== null);
    const last = await lastRecords(tx, entity, known);
    return removed.flatMap((key) => {
      return planRemoval(context, pass, known.get(key) as KnownRecord, {
        sourceKey: key,
        because: cancelled.has(key) ? 'cancelled' : 'deleted',
        last: last.get(key) ?? null,
        renamedTo: deleted.has(key) ? renamed.get(key) : undefined,
      });
    });
  };
  if (lease === null) {
    const planned = await context.store.read('look for what was removed', plan);
    pass.report(planned.map((one) => asTouched(entity, one)));
    return left;
  }
  const written = await lease.write('write what was removed', async (tx) => {
    const planned = await plan(tx);
    await writeRemovals(context, tx, entity, planned);
    if (planned.length > 0) killPoint('before-removal-commit');
    return planned;
  });
  if (written.length > 0) killPoint('after-removal-commit');
  pass.report(written.map((one) => asTouched(entity, one)));
  return left;
}

function asTouched(entity: Entity, planned: PlannedRemoval): TouchedRecord {
  const { because } = planned;
  const common = {
    entity,
    because,
    changedAt: null,
    customerKey: null,
    total: null,
    currency: null,
    skippedLines: 0,
    fields: [],
  };
  if ('withdraws' in planned) {
    const { sourceKey, number, withdraws: supersedes } = planned;
    return { ...common, sourceKey, number, operation: 'withdraw', counts: null, parked: null, supersedes };
  }
  const { message, supersedes } = planned;
  const { sourceKey, number, operation } = message;
  const parked = message.parked?.reason ?? null;
  return { ...common, sourceKey, number, operation, counts: parked === null ? 'removals' : null, parked, supersedes };
}

interface RemovedRecord {
  sourceKey: string;
  because: Removal;
  /** The record as it was wanted last, as JSON; null: nothing is known of it. */
  last: string | null;
  /** As `findRenamed` found it. */
  renamedTo: string | null | undefined;
}

/** Plans the message that removes a record, or the withdrawal of its create. Pure. */
function planRemoval(
  context: JobContext,
  pass: RemovalPass,
  { newest, binding }: KnownRecord,
  { sourceKey, because, last, renamedTo }: RemovedRecord,
): PlannedRemoval[] {
  const { entity } = pass;
  const { onCancelled, onDeleted } = settingsOf(context, entity);
  const effect = because === 'cancelled' ? onCancelled : onDeleted;
  const patched: Fields | null = typeof effect === 'object' ? { ...JSON.parse(last ?? '{}'), ...effect.patch } : null;
  const body = patched === null ? '{}' : canonicalJson(patched);
  const hash = sha256(patched === null ? 'delete' : body);
  const decision = decideRemoval(typeof effect === 'object' ? 'patch' : effect, newest, binding, hash);
  if (decision.action === 'withdraw')
    return [{ withdraws: decision.closes, sourceKey, number: newest?.number ?? null, because }];
  if (decision.action !== 'write') return [];
  const { operation, revision, generation, supersedes } = decision;
  const isReplaced = replacesRecord(context.settings, entity);
  const wouldClear = patched !== null && isReplaced && !isWholeRecord(entity, patched);
  const isRenamed = renamedTo === undefined ? null : renamedReason(entity, sourceKey, renamedTo);
  const held =
    isRenamed ??
    holdReason({
      operation,
      contentHash: hash,
      // A cancellation is no change of the mapping.
      mappingFingerprint: binding?.mappingFingerprint ?? newest?.mappingFingerprint ?? pass.fingerprint,
      newest,
      binding,
      replacesRecord: isReplaced,
      suspiciousCreate: null,
    });
  const message: NewMessage = {
    entity,
    sourceKey,
    revision,
    operation,
    generation,
    number: newest?.number ?? null,
    customerKey: null,
    contentHash: hash,
    mappingFingerprint: pass.fingerprint,
    record: body,
    idempotencyKey: null,
    identity: binding?.identity ?? newest?.identity ?? null,
    waitsForScan: true,
    removal: because,
    parked: parkedFor(wouldClear, held),
  };
  return [{ message, supersedes, because }];
}

function parkedFor(wouldClear: boolean, held: Fact | null): NewMessage['parked'] {
  if (wouldClear) return { parkClass: 'unmapped', reason: { code: 'nothing_to_replace' } };
  return held === null ? null : { parkClass: 'held', reason: held };
}

async function writeRemovals(
  { actor, nowMs }: JobContext,
  tx: Tx,
  entity: Entity,
  planned: readonly PlannedRemoval[],
): Promise<void> {
  const withdrawn = planned.flatMap((one) => ('withdraws' in one ? [one] : []));
  const written = planned.flatMap((one) => ('message' in one ? [one] : []));
  const superseded = written.flatMap(({ supersedes }) => supersedes ?? []);
  await supersedeUnsent(tx, superseded, null, nowMs());
  const withdrawnIds = withdrawn.map(({ withdraws }) => withdraws);
  await supersedeUnsent(tx, withdrawnIds, withdrawnReason, nowMs());
  const messages = written.map(({ message }) => message);
  const ids = await insertMessages(tx, messages, nowMs());
  const entries = withdrawn.map(
    ({ withdraws: messageId, sourceKey }): AuditEntry => ({
      event: 'superseded',
      outcome: 'withdrawn',
      entity,
      sourceKey,
      messageId,
      actor,
      detail: { reason: withdrawnReason },
    }),
  );
  for (const [i, { message, because }] of written.entries()) {
    const { sourceKey, operation, revision } = message;
    const messageId = ids[i] as number;
    const detail = { revision, because };
    entries.push({ event: 'captured', outcome: operation, entity, sourceKey, messageId, actor, detail });
  }
  await appendAudit(tx, entries, nowMs());
}

/** Keys of the records whose create has not come to an end, after `afterId`. */
async function openCreates(
  tx: Tx,
  entity: Entity,
  source: string,
  afterId: number,
  limit: number,
): Promise<{ id: number; sourceKey: string }[]> {
  return tx.rows(
    `SELECT id, source_key FROM outbox_message
      WHERE entity=? AND source=? AND state IN ('pending','sending','in_doubt','parked') AND operation='create' AND id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [entity, source, afterId],
  );
}

function settingsOf({ settings }: JobContext, entity: Entity) {
  return entity === 'order' ? settings.orders : settings.customers;
}

function pageSize({ settings }: JobContext): number {
  return Math.min(settings.capture.pageSize, 500);
}
