import { type Entity, entities } from '../../model/record.js';
import { boundedText } from '../../store/bounded-text.js';
import { insertRows, placeholders, type Row, updateRows, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { deleteAdoptions } from './adoptions.js';
import { unknownContent } from './content-hash.js';

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
  /** Hash of the content that the service holds; `unknownContent` where that is not known. */
  contentHash: string;
  mappingFingerprint: string;
  /** The columns that never change, as JSON. */
  identity: string | null;
  /** The base of the next update, as canonical JSON; null: not known, so that every field is sent. */
  acknowledged: string | null;
}

const key = ['entity', 'source_key'];

/** Binds records, or brings their bindings up to date. */
export async function bindRecords(tx: Tx, bindings: readonly Binding[], nowMs: number): Promise<void> {
  await upsertRows(tx, 'binding', key, bindingRows(bindings, nowMs));
}

/** Binds records that are not bound yet. @throws when one is */
export async function bindNewRecords(tx: Tx, bindings: readonly Binding[], nowMs: number): Promise<void> {
  await insertRows(tx, 'binding', bindingRows(bindings, nowMs));
}

function bindingRows(bindings: readonly Binding[], nowMs: number): Row[] {
  return bindings.map((one) => ({
    entity: one.entity,
    source_key: one.sourceKey,
    service_id: one.serviceId,
    revision: one.revision,
    generation: one.generation,
    content_hash: one.contentHash,
    mapping_fingerprint: one.mappingFingerprint,
    identity: one.identity,
    acknowledged: one.acknowledged,
    acknowledged_at: nowMs,
  }));
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

/** What an unchanged row teaches: the mapping that yields the same content, and who the record is. */
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

/** What the service holds of these records is not known any more. */
export async function doubtBoundContents(tx: Tx, entity: Entity, sourceKeys: readonly string[]): Promise<void> {
  if (sourceKeys.length === 0) return;
  await tx.run(
    `UPDATE binding SET content_hash=?, acknowledged=NULL WHERE entity=? AND source_key IN ${placeholders(sourceKeys.length)}`,
    [unknownContent, entity, ...sourceKeys],
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
    await replaceByClosed(
      tx,
      entity,
      ofEntity.map((one) => ({
        entity,
        source_key: one.sourceKey,
        service_id: ids.get(one.sourceKey) ?? '',
        revision: one.revision,
        generation: one.generation,
        closed_at: nowMs,
      })),
    );
  }
}

async function replaceByClosed(tx: Tx, entity: Entity, closed: readonly ClosedBindingRow[]): Promise<void> {
  const keys = closed.map((row) => row.source_key);
  await upsertRows(tx, 'closed_binding', key, closed);
  await tx.run(`DELETE FROM binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`, [entity, ...keys]);
  await deleteAdoptions(tx, entity, keys);
}

/** Which sweep counts what is missing. */
export interface CountingSweep {
  /** When it began. */
  startedAt: number;
  /** When the last one began that came to its end; null: none has, or another one was asked for since. */
  lastStartedAt: number | null;
}

/**
 * In how many sweeps in a row these keys were absent, this one included; those that were found
 * start over. A sweep that broke off is tried again within seconds, so that it does not count: only
 * what the last whole one counted goes on from there.
 */
export async function countMissing(
  tx: Tx,
  entity: Entity,
  keys: readonly string[],
  missing: ReadonlySet<string>,
  { startedAt, lastStartedAt }: CountingSweep,
): Promise<Map<string, number>> {
  const found = keys.filter((one) => !missing.has(one));
  if (found.length > 0)
    await tx.run(
      `UPDATE binding SET missing_sweeps=0, missing_in_sweep_at=NULL WHERE entity=? AND missing_sweeps>0 AND source_key IN ${placeholders(found.length)}`,
      [entity, ...found],
    );
  if (missing.size === 0) return new Map();
  const absent = [...missing];
  await tx.run(
    `UPDATE binding SET missing_sweeps=CASE WHEN missing_in_sweep_at=? THEN missing_sweeps+1 ELSE 1 END, missing_in_sweep_at=?
      WHERE entity=? AND source_key IN ${placeholders(absent.length)}`,
    [lastStartedAt, startedAt, entity, ...absent],
  );
  const rows = await tx.rows<{ sourceKey: string; missingSweeps: number }>(
    `SELECT source_key, missing_sweeps FROM binding WHERE entity=? AND source_key IN ${placeholders(absent.length)}`,
    [entity, ...absent],
  );
  return new Map(rows.map((row) => [row.sourceKey, row.missingSweeps]));
}

/** `open`: read again and again. `final`: nothing more happens to it. `gone`: the service has it no more; asked for still. */
export type ReadState = 'open' | 'final' | 'gone';

/** What the service said of an order the last time; all null: it was never read. */
export interface OrderReading {
  state: ReadState;
  status: string | null;
  total: number | null;
  /** Why a person should look, or null. */
  flag: string | null;
}

/** Keeps what the service said, with the binding. */
export async function keepOrderRead(tx: Tx, sourceKey: string, reading: OrderReading, nowMs: number): Promise<void> {
  const flag = boundedText('binding.read_flag', reading.flag);
  await tx.run(
    `UPDATE binding SET read_state=?, read_asked_at=?, read_at=?, read_id=service_id, read_flag=?, service_status=?,
            service_total=?, gone_at=CASE WHEN ?='gone' THEN COALESCE(gone_at, ?) ELSE NULL END
      WHERE entity='order' AND source_key=?`,
    [reading.state, nowMs, nowMs, flag, reading.status, reading.total, reading.state, nowMs, sourceKey],
  );
}

/** It was asked for and there was no proper answer: the others have their turn before it is asked for again. */
export async function noteOrderAsked(tx: Tx, sourceKey: string, nowMs: number): Promise<void> {
  await tx.run("UPDATE binding SET read_asked_at=? WHERE entity='order' AND source_key=?", [nowMs, sourceKey]);
}

/**
 * Brings in line which orders are final: other states may be final now, an update of ours may have
 * followed, or the order may have another id. Reads every binding of an order, so it is done once
 * at the start.
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

export interface BindingRow extends Row {
  entity: string;
  source_key: string;
  service_id: string;
  revision: number;
  generation: number;
  content_hash: string;
}

/** What is remembered of a record that was removed at the service. */
export interface ClosedBindingRow extends Row {
  entity: string;
  source_key: string;
  service_id: string;
  revision: number;
  generation: number;
  closed_at: number;
}

/** Rows of an entity in the order of their keys, after `afterKey`. */
export async function bindingsAfter(tx: Tx, entity: Entity, afterKey: string, limit: number): Promise<BindingRow[]> {
  return rowsAfter(tx, 'binding', entity, afterKey, limit);
}

/** The same of what was removed at the service. */
export async function closedBindingsAfter(
  tx: Tx,
  entity: Entity,
  afterKey: string,
  limit: number,
): Promise<ClosedBindingRow[]> {
  return rowsAfter(tx, 'closed_binding', entity, afterKey, limit);
}

async function rowsAfter<T>(tx: Tx, table: string, entity: Entity, afterKey: string, limit: number): Promise<T[]> {
  return tx.select<T>(
    `SELECT * FROM ${table} WHERE entity=? AND source_key>? ORDER BY source_key LIMIT ${Math.trunc(limit)}`,
    [entity, afterKey],
  );
}

/** Takes over exported bindings, open ones or those of removed records, in place of what the store has of them. */
export async function importBindings(tx: Tx, bindings: readonly BindingRow[]): Promise<void> {
  await upsertRows(tx, 'binding', key, bindings);
}

export async function importClosedBindings(tx: Tx, entity: Entity, closed: readonly ClosedBindingRow[]): Promise<void> {
  if (closed.length > 0) await replaceByClosed(tx, entity, closed);
}

/** Keys of the records that the service has, in the order of the keys, after `afterKey`. */
export async function boundKeys(tx: Tx, entity: Entity, afterKey: string, limit: number): Promise<string[]> {
  const rows = await tx.rows<{ sourceKey: string }>(
    `SELECT source_key FROM binding WHERE entity=? AND source_key>? ORDER BY source_key LIMIT ${Math.trunc(limit)}`,
    [entity, afterKey],
  );
  return rows.map((row) => row.sourceKey);
}
