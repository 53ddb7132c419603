import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { ErpReader } from '../../erp/erp-reader.js';
import type { Entity, JsonValue } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import type { Lease } from '../../store/lease.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { boundKeys, type CountingSweep, countMissing } from '../outbox/bindings.js';
import { isWholeRecord } from '../outbox/compose-update.js';
import { canonicalJson, sha256 } from '../outbox/content-hash.js';
import { removalAfterThisPass } from '../outbox/message.js';
import { insertMessages, type NewMessage } from '../outbox/new-messages.js';
import { supersedeUnsent } from '../outbox/transitions.js';
import { holdReason } from './brake.js';
import { decideRemoval, replacesRecord } from './decide-removal.js';
import { type KnownRecord, knownRecords } from './known-records.js';

/** Keys of the records whose create has not come to an end, after `afterId`. */
export async function openCreates(
  tx: Tx,
  entity: Entity,
  afterId: number,
  limit: number,
): Promise<{ id: number; sourceKey: string }[]> {
  return tx.rows<{ id: number; sourceKey: string }>(
    `SELECT id, source_key FROM outbox_message
      WHERE entity=? AND state IN ('pending','sending','in_doubt','parked') AND operation='create' AND id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [entity, afterId],
  );
}

/**
 * The record as it was last wanted: of the newest message, unless that gave way to what the service has; else what the service
 * acknowledged; and where nobody knows what the service holds of it, of the newest message all the same.
 */
export async function lastRecords(
  tx: Tx,
  entity: Entity,
  newest: ReadonlyMap<string, number | null>,
): Promise<Map<string, string>> {
  const records = new Map<string, string>();
  const keys = [...newest.keys()];
  if (keys.length === 0) return records;
  const bound = await tx.rows(
    `SELECT source_key, acknowledged FROM binding WHERE entity=? AND acknowledged IS NOT NULL AND source_key IN ${placeholders(keys.length)}`,
    [entity, ...keys],
  );
  for (const row of bound) records.set(row.sourceKey, row.acknowledged);
  const ids = [...newest.values()].filter((id) => id !== null);
  if (ids.length === 0) return records;
  const wanted = await tx.rows(
    `SELECT m.source_key, m.state, b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id
      WHERE m.id IN ${placeholders(ids.length)} AND m.operation<>'delete'`,
    ids,
  );
  for (const row of wanted)
    if (row.state !== 'superseded' || !records.has(row.sourceKey)) records.set(row.sourceKey, row.record);
  return records;
}

export interface RemovalPass {
  entity: Entity;
  lease: Lease;
  fingerprint: string;
  /** Asked before each page: why to stop, or null. */
  stop: () => Promise<string | null>;
}

type Fields = { [name: string]: JsonValue };

/** Absent in so many whole sweeps in a row means deleted: one may have met a table in the making. */
const sweepsUntilDeleted = 2;
const withdrawnReason = 'Cancelled in the ERP before it was sent.';
const nothingToReplace =
  'It was cancelled or deleted in the ERP, and a PUT needs the whole record, of which nothing is known any more. Change it at the service by hand, then say `waybill outbox discard`.';

/** Compares every record that the outbox knows with the ERP, a page of keys at a time. Part of a sweep. */
export async function sweepRemovals(
  context: JobContext,
  reader: ErpReader,
  pass: RemovalPass,
  sweep: CountingSweep,
): Promise<void> {
  const { store } = context;
  const { cancelled, onDeleted } = settingsOf(context, pass.entity);
  if (!cancelled && onDeleted === 'nothing') return;
  const limit = pageSize(context);
  for (let afterKey = ''; ; ) {
    if ((await pass.stop()) !== null) return;
    const keys = await store.read('read what is bound', (tx) => boundKeys(tx, pass.entity, afterKey, limit));
    if (keys.length === 0) break;
    afterKey = keys.at(-1) as string;
    await removePage(context, reader, pass, keys, sweep);
  }
  if (!cancelled) return;
  for (let afterId = 0; ; ) {
    if ((await pass.stop()) !== null) return;
    const unsent = await store.read('read what is unsent', (tx) => openCreates(tx, pass.entity, afterId, limit));
    const last = unsent.at(-1);
    if (!last) return;
    afterId = last.id;
    await removePage(context, reader, pass, [...new Set(unsent.map(({ sourceKey }) => sourceKey))], null);
  }
}

/** Cancellations among the changes since the cursor, so that nobody has to wait for the next sweep. */
export async function captureCancelled(
  context: JobContext,
  reader: ErpReader,
  pass: RemovalPass,
  since: string | null,
): Promise<void> {
  if (!settingsOf(context, pass.entity).cancelled) return;
  let from: Parameters<ErpReader['readChangedCancelled']>[1] = { since };
  for (;;) {
    if ((await pass.stop()) !== null) return;
    const page = await reader.readChangedCancelled(pass.entity, from, pageSize(context));
    if (page.keys.length > 0) await removePage(context, reader, pass, [...new Set(page.keys)], null);
    if (!page.more || !page.last) return;
    from = { after: page.last };
  }
}

async function removePage(
  context: JobContext,
  reader: ErpReader,
  pass: RemovalPass,
  keys: readonly string[],
  sweep: CountingSweep | null,
): Promise<void> {
  const { actor, nowMs } = context;
  const { entity, lease } = pass;
  const presence = await reader.presence(entity, keys);
  const { onCancelled, onDeleted } = settingsOf(context, entity);
  const written = await lease.write('write what was removed', async (tx) => {
    const { existing, cancelled } = presence;
    const absent = existing === null || sweep === null ? [] : keys.filter((key) => !existing.has(key));
    const missing =
      existing === null || sweep === null
        ? new Map<string, number>()
        : await countMissing(tx, entity, keys, new Set(absent), sweep);
    const deleted = new Set(absent.filter((key) => (missing.get(key) ?? 0) >= sweepsUntilDeleted));
    const removed = keys.filter((key) => cancelled.has(key) || deleted.has(key));
    if (removed.length === 0) return 0;
    const known = await knownRecords(tx, entity, removed, true);
    const records = await lastRecords(
      tx,
      entity,
      new Map(removed.map((key) => [key, known.get(key)?.newest?.id ?? null])),
    );
    const withdrawn: { id: number; sourceKey: string }[] = [];
    const superseded: number[] = [];
    const messages: NewMessage[] = [];
    for (const key of removed) {
      const record = known.get(key) as KnownRecord;
      const effect = cancelled.has(key) ? onCancelled : onDeleted;
      const patched = typeof effect === 'object' ? patchedRecord(effect, records.get(key) ?? null) : null;
      const body = patched === null ? '{}' : canonicalJson(patched);
      const hash = sha256(patched === null ? 'delete' : body);
      const kind = typeof effect === 'object' ? 'patch' : effect;
      const decision = decideRemoval(kind, record.newest, record.binding, hash);
      if (decision.action === 'withdraw') withdrawn.push({ id: decision.closes, sourceKey: key });
      if (decision.action !== 'write') continue;
      if (decision.supersedes !== null) superseded.push(decision.supersedes);
      const isReplaced = replacesRecord(context.settings, entity);
      const wouldClear = patched !== null && isReplaced && !isWholeRecord(entity, patched);
      const held = holdReason({
        operation: decision.operation,
        contentHash: hash,
        // That somebody cancelled it is no change of the mapping.
        mappingFingerprint: record.binding?.mappingFingerprint ?? record.newest?.mappingFingerprint ?? pass.fingerprint,
        newest: record.newest,
        binding: record.binding,
        replacesRecord: isReplaced,
        suspiciousCreate: null,
      });
      messages.push({
        entity,
        sourceKey: key,
        revision: decision.revision,
        operation: decision.operation,
        generation: decision.generation,
        number: record.newest?.number ?? null,
        customerKey: null,
        contentHash: hash,
        mappingFingerprint: pass.fingerprint,
        record: body,
        idempotencyKey: null,
        identity: record.binding?.identity ?? record.newest?.identity ?? null,
        nextAttemptAt: removalAfterThisPass,
        parked: wouldClear
          ? { parkClass: 'unmapped', reason: nothingToReplace }
          : held === null
            ? null
            : { parkClass: 'held', reason: held },
      });
    }
    await supersedeUnsent(tx, superseded, null, nowMs());
    await supersedeUnsent(
      tx,
      withdrawn.map(({ id }) => id),
      withdrawnReason,
      nowMs(),
    );
    const ids = await insertMessages(tx, messages, nowMs());
    await appendAudit(
      tx,
      [
        ...withdrawn.map(
          ({ id, sourceKey }): AuditEntry => ({
            event: 'superseded',
            outcome: 'withdrawn',
            entity,
            sourceKey,
            messageId: id,
            actor,
            detail: { reason: withdrawnReason },
          }),
        ),
        ...messages.map(
          (message, i): AuditEntry => ({
            event: 'captured',
            outcome: message.operation,
            entity,
            sourceKey: message.sourceKey,
            messageId: ids[i] as number,
            actor,
            detail: { revision: message.revision, because: cancelled.has(message.sourceKey) ? 'cancelled' : 'deleted' },
          }),
        ),
      ],
      nowMs(),
    );
    const count = withdrawn.length + messages.length;
    if (count > 0) killPoint('before-removal-commit');
    return count;
  });
  if (written > 0) killPoint('after-removal-commit');
}

/** The record as it was wanted last, with the configured fields; those alone where nobody knows more of it (null). */
function patchedRecord(effect: { patch: Fields }, record: string | null): Fields {
  return { ...(JSON.parse(record ?? '{}') as Fields), ...effect.patch };
}

function settingsOf({ settings }: JobContext, entity: Entity) {
  return entity === 'order' ? settings.orders : settings.customers;
}

function pageSize({ settings }: JobContext): number {
  return Math.min(settings.capture.pageSize, 500);
}
