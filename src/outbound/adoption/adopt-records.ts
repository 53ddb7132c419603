import { ErpError, type ErpReader, type ReadCustomer, type ReadOrder } from '../../erp/erp-reader.js';
import type { Entity } from '../../model/record.js';
import { sweepAtNextPass } from '../../store/job-runs.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { insertAdoptions, reviewAdoptions } from '../outbox/adoptions.js';
import { BindingHolders } from '../outbox/binding-holders.js';
import { bindRecords } from '../outbox/bindings.js';
import { provenRecord, setContentHashes } from '../outbox/content-hash.js';
import { closeAsSettled } from '../outbox/transitions.js';
import { noteBesideFirstKey } from '../recovery/first-keys.js';
import type { AdoptableMessage, AdoptableRecord, AdoptionClaim, AdoptionDecision } from './decide-adoption.js';

/**
 * The store's facts about records that a person wants to adopt: all but the row of the ERP.
 * @param lock holds the messages until the transaction ends, so that none of them is claimed in
 * between
 */
export async function knownOfClaims(
  tx: Tx,
  entity: Entity,
  claims: readonly Pick<AdoptionClaim, 'sourceKey' | 'serviceId'>[],
  lock = false,
): Promise<Map<string, Omit<AdoptableRecord, 'row'>>> {
  const known = new Map<string, Omit<AdoptableRecord, 'row'>>();
  if (claims.length === 0) return known;
  const keys = [...new Set(claims.map(({ sourceKey }) => sourceKey))];
  const ids = [...new Set(claims.map(({ serviceId }) => serviceId))];
  const listed = placeholders(keys.length);
  const ofKeys = [entity, ...keys];
  const messages = await tx.rows<AdoptableMessage & { sourceKey: string }>(
    `SELECT id, source_key, revision, operation, generation, state, park_class FROM outbox_message
      WHERE entity=? AND source_key IN ${listed} ORDER BY revision${lock ? tx.forUpdate : ''}`,
    ofKeys,
  );
  const bindings = await tx.rows<{ sourceKey: string; serviceId: string }>(
    `SELECT source_key, service_id FROM binding WHERE entity=? AND source_key IN ${listed}`,
    ofKeys,
  );
  const closed = await tx.rows<{ sourceKey: string; revision: number | null; generation: number }>(
    `SELECT source_key, revision, generation FROM closed_binding WHERE entity=? AND source_key IN ${listed}`,
    ofKeys,
  );
  const owners = await tx.rows<{ sourceKey: string; serviceId: string }>(
    `SELECT source_key, service_id FROM binding WHERE entity=? AND service_id IN ${placeholders(ids.length)}`,
    [entity, ...ids],
  );
  const removed = await tx.rows<{ serviceId: string }>(
    `SELECT service_id FROM removed_id WHERE entity=? AND service_id IN ${placeholders(ids.length)}`,
    [entity, ...ids],
  );
  const removedIds = new Set(removed.map(({ serviceId }) => serviceId));
  const messagesOf = new Map<string, AdoptableMessage[]>(keys.map((key) => [key, []]));
  for (const message of messages) messagesOf.get(message.sourceKey)?.push(message);
  const bindingOf = new Map(bindings.map((row) => [row.sourceKey, row]));
  const closedOf = new Map(closed.map((row) => [row.sourceKey, row]));
  for (const { sourceKey, serviceId } of claims) {
    const other = owners.find((owner) => owner.serviceId === serviceId && owner.sourceKey !== sourceKey);
    known.set(sourceKey, {
      binding: bindingOf.get(sourceKey) ?? null,
      closed: closedOf.get(sourceKey) ?? null,
      idBelongsTo: other?.sourceKey ?? null,
      isRemoved: removedIds.has(serviceId),
      messages: messagesOf.get(sourceKey) ?? [],
    });
  }
  return known;
}

export interface AdoptedRecord extends AdoptionClaim {
  decision: Extract<AdoptionDecision, { to: 'bound' }>;
  contentHash: string | null;
  mappingFingerprint: string;
  identity: string | null;
  /** The ERP's version, as canonical JSON. */
  record: string;
}

/**
 * Binds records as a person said. The ERP's version is the baseline: nothing is sent now, and a later update carries
 * the edits since. If it may have been ours, every field is sent at the next pass. The caller's transaction keeps
 * everybody else from claiming and capturing, and writes the audit.
 */
export async function bindClaimed(
  tx: Tx,
  records: readonly AdoptedRecord[],
  actor: string,
  nowMs: number,
): Promise<void> {
  await bindRecords(
    tx,
    records.map(({ decision, record, ...one }) => ({
      ...one,
      revision: decision.revision,
      generation: decision.generation,
      acknowledged: provenRecord(one.contentHash, record),
      words: null,
      said: null,
    })),
    await BindingHolders.of(tx, records),
    nowMs,
  );
  await noteBesideFirstKey(tx);
  await insertAdoptions(
    tx,
    records.map(({ entity, sourceKey, serviceId }) => ({
      entity,
      sourceKey,
      serviceId,
      from: 'file' as const,
      actor,
      differs: null,
    })),
    nowMs,
  );
  const superseded = records.flatMap(({ decision }) => decision.supersedes);
  await closeAsSettled(tx, superseded, { code: 'already_there_adopted' }, nowMs);
  // The newest message says what was captured last: an edit is told from the baseline by it.
  await setContentHashes(
    tx,
    records.flatMap(({ decision: { newest: id }, contentHash }) => (id === null ? [] : [{ id, contentHash }])),
  );
  const ours = records.filter(({ decision }) => decision.isOurs);
  for (const entity of new Set(ours.map((one) => one.entity))) {
    // It is ours that is written over: the person who said so has reviewed it.
    const keys = ours.flatMap((one) => (one.entity === entity ? [one.sourceKey] : []));
    await reviewAdoptions(tx, entity, keys, nowMs);
    await sweepAtNextPass(tx, entity);
  }
}

/** Keys of those of these customers that the service has acknowledged. */
export async function boundCustomers(tx: Tx, customerKeys: readonly string[]): Promise<Set<string>> {
  const keys = [...new Set(customerKeys)];
  if (keys.length === 0) return new Set();
  const rows = await tx.rows<{ sourceKey: string }>(
    `SELECT source_key FROM binding WHERE entity='customer' AND source_key IN ${placeholders(keys.length)}`,
    keys,
  );
  return new Set(rows.map((row) => row.sourceKey));
}

/** Eligible rows by key. A key in a form that no row can have is not found, and spoils nothing for the others. */
export async function readClaimedRows(
  reader: ErpReader,
  entity: Entity,
  keys: readonly string[],
): Promise<Map<string, ReadCustomer | ReadOrder>> {
  const rows = new Map<string, ReadCustomer | ReadOrder>();
  if (keys.length === 0) return rows;
  try {
    const filter = { keys: [...keys] };
    const page = await reader.sweep(entity, null, keys.length, filter);
    for (const row of page.rows) rows.set(row.sourceKey, row);
    return rows;
  } catch (error) {
    if (!(error instanceof ErpError) || error.kind !== 'request') throw error;
    if (keys.length === 1) return rows;
  }
  const half = Math.ceil(keys.length / 2);
  for (const part of [keys.slice(0, half), keys.slice(half)])
    for (const [key, row] of await readClaimedRows(reader, entity, part)) rows.set(key, row);
  return rows;
}
