import { type Entity, entities, foldKey } from '../../model/record.js';
import { before, type Elapsed } from '../../store/elapsed-time.js';
import { factColumns } from '../../store/fact-columns.js';
import { boundedText, insertRows, placeholders, renameKeys, updateRows, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { deleteAdoptions } from './adoptions.js';
import {
  type BindingClaim,
  type BindingHolders,
  type OrderReading,
  type OrderWords,
  problemInWords,
  type SaidBinding,
} from './binding-holders.js';
import { keepingUsed, leftKey } from './closed-bindings.js';
import type { ContentHash } from './content-hash.js';
import type { BindingRow, ClosedBindingRow } from './exported-bindings.js';

/**
 * The only file that writes bindings: which record of the service is which of the ERP, and what the
 * service last acknowledged of it. A closed binding remembers a record that was removed at the
 * service, so that its keys are not used again.
 */

interface RecordName {
  entity: Entity;
  sourceKey: string;
}

export interface Binding extends RecordName {
  serviceId: string;
  revision: number;
  generation: number;
  /** The hash of the content that the service holds. */
  contentHash: ContentHash;
  mappingFingerprint: string;
  /** The columns that never change, as JSON. */
  identity: string | null;
  /** The base of the next update, as canonical JSON; null: not known, so that every field is sent. */
  acknowledged: string | null;
}

/** A binding to be written, with what the service said of the record just now; null: nothing that is newer than before. */
export interface NewBinding extends Binding {
  words: OrderWords | null;
  /** A person's word for it; null: the service acknowledged it, or showed it by itself. */
  said: SaidBinding | null;
  /** As in `BindingClaim`. */
  renamedFrom?: string | null | undefined;
}

const key = ['entity', 'source_key'];

/**
 * Binds records, or brings their bindings up to date; of several for one record the last counts.
 * @param holders what was asked for these bindings in this transaction
 * @throws when another record holds one of the ids, or a record has another id: the caller has parked or refused it before
 */
export async function bindRecords(
  tx: Tx,
  bindings: readonly NewBinding[],
  holders: BindingHolders,
  nowMs: number,
): Promise<void> {
  await writeBindings(tx, bindingRows(bindings, holders, nowMs), bindings, holders);
}

/**
 * Takes over exported bindings in place of what the store has of them. @throws as `bindRecords` does
 * @param from.isSuccessor the export is of a store that went on from this one: where an id was changed there, it is changed here
 */
export async function importBindings(
  tx: Tx,
  rows: readonly BindingRow[],
  holders: BindingHolders,
  { isSuccessor }: { isSuccessor: boolean },
): Promise<void> {
  const claims = rows.map(({ entity, source_key: sourceKey, service_id: serviceId }) => {
    const boundTo = isSuccessor ? holders.boundTo(entity, sourceKey) : null;
    return { entity, sourceKey, serviceId, renamedFrom: boundTo === serviceId ? null : boundTo };
  });
  await writeBindings(tx, rows, claims, holders);
}

async function writeBindings(
  tx: Tx,
  bindings: readonly BindingRow[],
  claims: readonly BindingClaim[],
  holders: BindingHolders,
): Promise<void> {
  for (const claim of claims) {
    const problem = holders.problemOf(claim);
    if (problem !== null)
      throw new Error(`The ${claim.entity} ${claim.sourceKey} must not be bound: ${problemInWords(claim, problem)}.`);
    const { entity, sourceKey, serviceId, renamedFrom } = claim;
    if (renamedFrom && holders.boundTo(entity, sourceKey) === renamedFrom)
      await moveBinding(tx, { entity, sourceKey }, { from: renamedFrom, to: serviceId });
  }
  // No upsert: on MySQL it would write over the row of another record that holds the id. An export may have folded keys another way.
  const folded = bindings.map((row) => ({ ...row, folded_key: foldKey(row.source_key) }));
  const rows = [...new Map(folded.map((row) => [`${row.entity} ${row.source_key}`, row])).values()];
  const isBound = (row: BindingRow) => holders.isBound(row.entity, row.source_key);
  const known = rows.filter(isBound);
  // The id is compared, and so never set to another one: `moveBinding` alone does that.
  const matched = await updateRows(tx, 'binding', key, known, { guard: 't.service_id=v.service_id' });
  if (matched !== known.length) throw new Error(`${known.length - matched} bindings have another id at the service.`);
  await insertRows(
    tx,
    'binding',
    rows.filter((row) => !isBound(row)),
  );
}

/**
 * Gives a record another id at the service. The only statement that changes the id of a binding: a person has named both ids, or
 * the id is a field of ours and the service acknowledged its new value.
 * @throws when the record does not have the id `from`, or another record has `to`
 */
export async function moveBinding(
  tx: Tx,
  { entity, sourceKey }: { entity: string; sourceKey: string },
  { from, to, said = null }: { from: string; to: string; said?: SaidBinding | null },
): Promise<void> {
  const moved = await tx.run(
    `UPDATE binding SET service_id=?, said_by=?, said_check=?, service_status=NULL, service_total=NULL, read_state='open',
            gone_at=NULL
      WHERE entity=? AND source_key=? AND service_id=?`,
    [to, boundedText('binding.said_by', said?.by ?? null), said?.check ?? null, entity, sourceKey, from],
  );
  if (moved !== 1) throw new Error(`The ${entity} ${sourceKey} is not ${from} at the service any more.`);
}

/** A state that the service leaves out stays; a total that it leaves out may not be the one before. The order is read again. */
function bindingRows(bindings: readonly NewBinding[], holders: BindingHolders, nowMs: number): BindingRow[] {
  return bindings.map((one) => ({
    entity: one.entity,
    source_key: one.sourceKey,
    // Its place, because an object that gets another field when it is copied gets a hidden class of its own.
    folded_key: '',
    service_id: one.serviceId,
    revision: one.revision,
    generation: one.generation,
    content_hash: one.contentHash,
    mapping_fingerprint: one.mappingFingerprint,
    identity: one.identity,
    acknowledged: one.acknowledged,
    acknowledged_at: nowMs,
    service_status: one.words?.status ?? holders.wordsOf(one).status,
    service_total: one.words ? one.words.total : holders.wordsOf(one).total,
    read_state: 'open',
    gone_at: null,
    said_by: one.said?.by ?? null,
    said_check: one.said?.check ?? null,
  }));
}

/** Messages that are about to be forgotten leave the numbers of orders with their bindings. */
export async function keepNumbers(tx: Tx, messageIds: readonly number[]): Promise<void> {
  if (messageIds.length === 0) return;
  const rows = await tx.rows<{ sourceKey: string; number: string }>(
    `SELECT source_key, number FROM outbox_message
      WHERE id IN ${placeholders(messageIds.length)} AND entity='order' AND number IS NOT NULL ORDER BY revision`,
    messageIds,
  );
  const newest = new Map(rows.map(({ sourceKey, number }) => [sourceKey, number]));
  await updateRows(
    tx,
    'binding',
    key,
    [...newest].map(([sourceKey, number]) => ({ entity: 'order', source_key: sourceKey, number })),
  );
}

/** The service holds what these revisions say, or a person takes it for that: nothing was sent. */
export async function advanceBindings(
  tx: Tx,
  revisions: readonly Pick<Binding, 'entity' | 'sourceKey' | 'revision' | 'contentHash' | 'mappingFingerprint'>[],
): Promise<void> {
  await updateRows(
    tx,
    'binding',
    key,
    revisions.map((one) => ({
      entity: one.entity,
      source_key: one.sourceKey,
      revision: one.revision,
      content_hash: one.contentHash,
      mapping_fingerprint: one.mappingFingerprint,
    })),
  );
}

/** A mapping that is left out stays as it is; an identity that is null is learnt again. */
export type RefreshedBinding = RecordName & Pick<Binding, 'identity'> & Partial<Pick<Binding, 'mappingFingerprint'>>;

/** The lessons of an unchanged row: the mapping that yields the same content, and the record's identity. */
export async function refreshBindings(tx: Tx, records: readonly RefreshedBinding[]): Promise<void> {
  await updateRows(
    tx,
    'binding',
    key,
    records.map(({ entity, sourceKey, mappingFingerprint, identity }) => ({
      entity,
      source_key: sourceKey,
      ...(mappingFingerprint !== undefined && { mapping_fingerprint: mappingFingerprint }),
      identity,
    })),
  );
}

/** Erases what is known of the fields of a customer; that it is bound stays known. */
export async function eraseAcknowledged(tx: Tx, { entity, sourceKey }: RecordName): Promise<void> {
  await tx.run('UPDATE binding SET acknowledged=NULL WHERE entity=? AND source_key=?', [entity, sourceKey]);
}

/** The service's content of these records is not known any more. */
export async function doubtBoundContents(tx: Tx, entity: Entity, sourceKeys: readonly string[]): Promise<void> {
  if (sourceKeys.length === 0) return;
  await tx.run(
    `UPDATE binding SET content_hash=NULL, acknowledged=NULL WHERE entity=? AND source_key IN ${placeholders(sourceKeys.length)}`,
    [entity, ...sourceKeys],
  );
}

/** The service has these records no more: their bindings are closed, and a row that comes back is a new create. */
export async function closeBindings(
  tx: Tx,
  removed: readonly (RecordName & { revision: number; generation: number })[],
  nowMs: number,
): Promise<void> {
  for (const entity of entities) {
    const ofEntity = removed.filter((one) => one.entity === entity);
    if (ofEntity.length === 0) continue;
    const keys = ofEntity.map((one) => one.sourceKey);
    const rows = await tx.rows<Pick<Binding, 'sourceKey' | 'serviceId'>>(
      `SELECT source_key, service_id FROM binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
      [entity, ...keys],
    );
    const ids = new Map(rows.map((row) => [row.sourceKey, row.serviceId]));
    await importClosedBindings(
      tx,
      entity,
      ofEntity.map((one) => ({
        entity,
        source_key: one.sourceKey,
        service_id: ids.get(one.sourceKey) ?? null,
        revision: one.revision,
        generation: one.generation,
        closed_at: nowMs,
      })),
    );
  }
}

/** Closed bindings take the place of open ones. */
export async function importClosedBindings(tx: Tx, entity: Entity, closed: readonly ClosedBindingRow[]): Promise<void> {
  if (closed.length === 0) return;
  const keys = closed.map((row) => row.source_key);
  await upsertRows(tx, 'closed_binding', key, await keepingUsed(tx, entity, closed));
  await rememberRemoved(tx, entity, closed);
  await tx.run(`DELETE FROM binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`, [entity, ...keys]);
  await deleteAdoptions(tx, entity, keys);
}

/** A service may go on showing these records, so no look-up and no list may take them for live ones. */
async function rememberRemoved(tx: Tx, entity: Entity, closed: readonly ClosedBindingRow[]): Promise<void> {
  const removedAt = new Map(
    closed.flatMap(({ service_id: id, closed_at: at }) => (id === null ? [] : [[id, at] as const])),
  );
  const rows = [...removedAt].map(([id, at]) => ({ entity, service_id: id, removed_at: at }));
  if (rows.length > 0) await upsertRows(tx, 'removed_id', ['entity', 'service_id'], rows);
}

/** A sweep that looks for deleted records. */
export interface CountingSweep {
  /** When it began. */
  startedAt: number;
  /** When the last one began that came to its end; null: none has, or another one was asked for since. */
  lastStartedAt: number | null;
}

/** The ERP's answer to the question which of these records exist. */
interface PresenceAnswer {
  keys: readonly string[];
  missing: ReadonlySet<string>;
  askedAt: Elapsed;
  answeredAt: Elapsed;
  /** The time for which a record has to be missing before it counts as deleted. */
  deletedAfterMs: number;
}

/**
 * Notes which records are missing; those that were found start over. A sweep that broke off is tried again within seconds, so
 * that only what the last whole one missed goes on from there. Whole ones may follow each other within seconds as well, while
 * an ERP writes a row anew: the time that surely passed since the record was first missed counts too.
 * @returns the keys that count as deleted: missed by the last whole sweep and by this one, and for long enough
 */
export async function countMissing(
  tx: Tx,
  entity: Entity,
  { keys, missing, askedAt, answeredAt, deletedAfterMs }: PresenceAnswer,
  { startedAt, lastStartedAt }: CountingSweep,
): Promise<string[]> {
  const found = keys.filter((one) => !missing.has(one));
  if (found.length > 0)
    await tx.run(
      `UPDATE binding SET missing_since_elapsed=NULL, missing_in_sweep_at=NULL WHERE entity=? AND missing_since_elapsed IS NOT NULL AND source_key IN ${placeholders(found.length)}`,
      [entity, ...found],
    );
  if (missing.size === 0) return [];
  const absent = [...missing];
  const listed = placeholders(absent.length);
  const deleted = await tx.rows<{ sourceKey: string }>(
    `SELECT source_key FROM binding WHERE entity=? AND missing_in_sweep_at=? AND missing_since_elapsed<=? AND source_key IN ${listed}`,
    [entity, lastStartedAt, before(askedAt, deletedAfterMs), ...absent],
  );
  // A moment ahead was a wall time in an older version, or was not noted before the machine lost its power: count from now.
  await tx.run(
    `UPDATE binding SET missing_since_elapsed=CASE WHEN missing_in_sweep_at=? AND missing_since_elapsed<=? THEN missing_since_elapsed ELSE ? END,
            missing_in_sweep_at=?
      WHERE entity=? AND source_key IN ${listed}`,
    [lastStartedAt, askedAt, answeredAt, startedAt, entity, ...absent],
  );
  return deleted.map(({ sourceKey }) => sourceKey);
}

/** Keeps what the service said, with the binding. */
export async function keepOrderRead(tx: Tx, sourceKey: string, reading: OrderReading, nowMs: number): Promise<void> {
  const flag = factColumns(reading.flag);
  await tx.run(
    `UPDATE binding SET read_state=?, read_asked_at=?, read_at=?, read_id=service_id, read_flag_code=?, read_flag_data=?, service_status=?,
            service_total=?, gone_at=CASE WHEN ?='gone' THEN COALESCE(gone_at, ?) ELSE NULL END
      WHERE entity='order' AND source_key=?`,
    [reading.state, nowMs, nowMs, flag.code, flag.data, reading.status, reading.total, reading.state, nowMs, sourceKey],
  );
}

/** It was asked for and there was no proper answer: the others have their turn before it is asked for again. */
export async function noteOrderAsked(tx: Tx, sourceKey: string, nowMs: number): Promise<void> {
  await tx.run("UPDATE binding SET read_asked_at=? WHERE entity='order' AND source_key=?", [nowMs, sourceKey]);
}

/**
 * Brings in line which orders are final: other states may be final now, an update of ours may have followed, or the order may
 * have another id. Reads every binding of an order, so it is done once at the start.
 */
export async function reviseFinal(tx: Tx, finalStates: readonly string[]): Promise<void> {
  const isFinal = finalStates.length === 0 ? '1=0' : `service_status IN ${placeholders(finalStates.length)}`;
  await tx.run(
    `UPDATE binding SET read_state='open' WHERE entity='order' AND read_state='final'
        AND (read_id<>service_id OR acknowledged_at>read_at OR NOT (${isFinal}))`,
    finalStates,
  );
  await tx.run(
    `UPDATE binding SET read_state='final' WHERE entity='order' AND read_state='open' AND read_id=service_id
        AND acknowledged_at<=read_at AND ${isFinal}`,
    finalStates,
  );
}

export async function renameBindings(tx: Tx, entity: Entity, renames: ReadonlyMap<string, string>): Promise<void> {
  await renameKeys(tx, 'binding', 'source_key', entity, renames);
}

/** Another record may get one of these keys: its create, and after the revision its updates, must use no key of this one's. */
export async function keepGenerations(
  tx: Tx,
  entity: Entity,
  used: readonly (Pick<Binding, 'sourceKey' | 'generation'> & { revision?: number })[],
  nowMs: number,
): Promise<void> {
  const rows = used.map((one) => leftKey(entity, one, nowMs));
  await upsertRows(tx, 'closed_binding', key, await keepingUsed(tx, entity, rows));
}

/** Has orders read at the service next, because an answer leaves in doubt what became of them there. */
export async function readSoon(tx: Tx, orderKeys: readonly string[]): Promise<void> {
  if (orderKeys.length === 0) return;
  const listed = `entity='order' AND source_key IN ${placeholders(orderKeys.length)}`;
  await tx.run(`UPDATE binding SET read_state='open', read_asked_at=NULL WHERE ${listed}`, [...orderKeys]);
}
