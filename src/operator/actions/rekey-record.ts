import { appendAudit } from '../../audit/audit-log.js';
import { type ErpReader, isStillThere } from '../../erp/erp-reader.js';
import type { RecoveryFact } from '../../model/facts/recovery.js';
import { type Entity, settingsOf, sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { acquireCaptureLease } from '../../outbound/capture/capture-result.js';
import { type KnownRecord, knownRecords } from '../../outbound/capture/known-records.js';
import { moveRecord, neverSentHere, unsentMessages } from '../../outbound/capture/move-record.js';
import { newestOf } from '../../outbound/capture/replaced-records.js';
import { ServiceLease } from '../../outbound/deliver/service-lease.js';
import { dateReasons } from '../../outbound/recovery/rename-records.js';
import { sourceKeysProblem } from '../../outbound/recovery/source-keys.js';
import { beginIncarnation } from '../../outbound/recovery/store-witness.js';
import type { Tx } from '../../store/store.js';
import { RekeyRefused } from './rekey.js';

export interface RecordRekey {
  entity: Entity;
  /** The key that the store knows the record by, and the one that it has in the ERP now. */
  from: string;
  to: string;
  reason: string;
  dryRun: boolean;
}

export interface RekeyedRecord {
  /** The id at the service; null: it has no binding (yet). */
  serviceId: string | null;
  number: string | null;
  /** Messages that were never sent, and say nothing now that the record is known. */
  closed: number;
}

/** The store's facts about both keys, and the ERP's rows of them. */
interface Facts {
  from: KnownRecord & { serviceId: string | null };
  to: KnownRecord & { serviceId: string | null };
  inErp: { from: boolean; to: boolean };
  /** Something of the new key may have reached the service. */
  toMayBeThere: boolean;
}

/** Why the record can't get its new key, or null. Pure: two records of the service never become one. */
function recordRekeyProblem({ entity, from, to }: RecordRekey, facts: Facts): RecoveryFact | null {
  if (from === to) return { code: 'same_keys' };
  if (!facts.from.newest && !facts.from.binding) return { code: 'record_not_known', entity, key: from };
  if (facts.inErp.from) return { code: 'erp_still_has', entity, from, to };
  if (!facts.inErp.to) return { code: 'erp_has_no_key', entity, key: to };
  const [fromId, toId] = [facts.from.serviceId, facts.to.serviceId];
  if (toId !== null) return { code: 'both_at_service', entity, from, fromId, to, toId };
  if (facts.toMayBeThere) return { code: 'new_key_may_be_there', entity, key: to };
  const { newest, binding } = facts.from;
  if (newest?.state === 'sending') return { code: 'request_about_key', key: from };
  if (!binding && newest?.operation === 'delete') return { code: 'removed_at_service', entity, from, to };
  return null;
}

/**
 * Gives one known record the key that its row has in the ERP now. Its binding, its messages and, for a customer, its orders go
 * along; what was captured under the new key and never sent is closed. Keys and bytes that the service may have seen stay.
 * @throws RekeyRefused
 */
export async function rekeyRecord(
  context: JobContext,
  reader: ErpReader,
  request: RecordRekey,
): Promise<RekeyedRecord> {
  const { entity, from, to, reason, dryRun } = request;
  const source = sourceOf(from);
  if (sourceOf(to) !== source) throw new RekeyRefused({ code: 'keys_of_two_sources', from, to });
  const settings = settingsOf(context.settings, source);
  const own = reader.bySource?.get(source) ?? reader;
  const capturing = await acquireCaptureLease({ ...context, settings });
  if ('code' in capturing) throw new RekeyRefused({ code: 'stop_daemon_first', reason: capturing });
  try {
    const service = await ServiceLease.acquire(context);
    if (!(service instanceof ServiceLease))
      throw new RekeyRefused({ code: 'stop_holder_first', holder: service.holder });
    try {
      const presence = await own.presence(entity, [from, to], true);
      const inErp = {
        from: isStillThere(presence, from, to) && !presence.cancelled.has(from),
        to: presence.existing?.has(to) ?? false,
      };
      return await service.write('give a record its new key', async (tx) => {
        const keys = await sourceKeysProblem(tx, settings, own.identity());
        if (keys !== null) throw new RekeyRefused(keys);
        const facts = { ...(await readFacts(tx, request)), inErp };
        const problem = recordRekeyProblem(request, facts);
        if (problem !== null) throw new RekeyRefused(problem);
        const unsent = await unsentMessages(tx, entity, from, to);
        const { serviceId, newest } = facts.from;
        const result = { serviceId, number: newest?.number ?? null, closed: unsent.length };
        if (!dryRun) await writeRekey(context, tx, request, facts.from, reason);
        return result;
      });
    } finally {
      await service.release();
    }
  } finally {
    await capturing.release();
  }
}

async function readFacts(tx: Tx, { entity, from, to }: RecordRekey): Promise<Omit<Facts, 'inErp'>> {
  const known = await knownRecords(tx, entity, [from, to], true);
  const ids = await tx.rows<{ sourceKey: string; serviceId: string }>(
    'SELECT source_key, service_id FROM binding WHERE entity=? AND source_key IN (?,?)',
    [entity, from, to],
  );
  const sent = await tx.value(
    `SELECT id FROM outbox_message WHERE entity=? AND source_key=?
        AND (NOT ${neverSentHere} OR state IN ('sending','in_doubt','delivered')) LIMIT 1`,
    [entity, to],
  );
  const of = (key: string) => ({
    ...(known.get(key) as KnownRecord),
    serviceId: ids.find(({ sourceKey }) => sourceKey === key)?.serviceId ?? null,
  });
  return { from: of(from), to: of(to), toMayBeThere: sent !== undefined };
}

async function writeRekey(
  { actor, nowMs }: JobContext,
  tx: Tx,
  { entity, from, to }: RecordRekey,
  known: KnownRecord,
  reason: string,
): Promise<void> {
  const at = nowMs();
  await moveRecord(tx, { entity, from, to, ...newestOf(known) }, at);
  await dateReasons(tx, entity);
  // The new key may have been used before: under another incarnation no key of an update was.
  await beginIncarnation(tx, []);
  const detail = { from, to, reason };
  await appendAudit(tx, { event: 'operator', outcome: 'rekey', entity, sourceKey: to, actor, detail }, at);
}
