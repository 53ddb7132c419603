import { type Entity, entities, type JsonValue } from '../../model/record.js';
import { placeholders, type Row, upsertRows } from '../../store/rows.js';
import type { SqlValue, Tx } from '../../store/store.js';
import { composePatch } from './compose-update.js';

/** The way in which it came out which record at the service is ours. */
export type AdoptedFrom =
  /** The answer "already exists" carried it. */
  | 'answer'
  /** The service was asked. */
  | 'look_up'
  /** A person said so (`waybill adopt`). */
  | 'file';

export interface Adoption {
  entity: Entity;
  sourceKey: string;
  serviceId: string;
  from: AdoptedFrom;
  adoptedAt: number;
  actor: string;
  /** Names of the fields that differed when it was adopted; null: they were not compared. */
  differs: string[] | null;
  /** When a person said what becomes of it; null: not yet. */
  reviewedAt: number | null;
}

/** Names of fields that are kept; a record that differs in more is another one. */
const maxNames = 100;

export async function insertAdoptions(
  tx: Tx,
  adoptions: readonly Omit<Adoption, 'reviewedAt' | 'adoptedAt'>[],
  nowMs: number,
): Promise<void> {
  await upsertRows(
    tx,
    'adoption',
    ['entity', 'source_key'],
    adoptions.map(({ entity, sourceKey, serviceId, from, actor, differs }) => ({
      entity,
      source_key: sourceKey,
      service_id: serviceId,
      adopted_from: from,
      adopted_at: nowMs,
      actor,
      differs: differs && JSON.stringify(differs.slice(0, maxNames)),
      reviewed_at: null,
    })),
  );
}

/** A person has looked at these records: what the ERP says of them from here on is sent. */
export async function reviewAdoptions(
  tx: Tx,
  entity: Entity,
  sourceKeys: readonly string[],
  nowMs: number,
): Promise<void> {
  if (sourceKeys.length === 0) return;
  await tx.run(
    `UPDATE adoption SET reviewed_at=? WHERE reviewed_at IS NULL AND entity=? AND source_key IN ${placeholders(sourceKeys.length)}`,
    [nowMs, entity, ...sourceKeys],
  );
}

/** A record that was removed at the service and comes back is made by us. */
export async function deleteAdoptions(tx: Tx, entity: Entity, sourceKeys: readonly string[]): Promise<void> {
  if (sourceKeys.length === 0) return;
  await tx.run(`DELETE FROM adoption WHERE entity=? AND source_key IN ${placeholders(sourceKeys.length)}`, [
    entity,
    ...sourceKeys,
  ]);
}

/** An adoption of which it came out that the id is another record's. */
export async function deleteAdoption(
  tx: Tx,
  { entity, sourceKey, serviceId }: Pick<Adoption, 'entity' | 'sourceKey' | 'serviceId'>,
): Promise<void> {
  await tx.run('DELETE FROM adoption WHERE entity=? AND source_key=? AND service_id=?', [entity, sourceKey, serviceId]);
}

export async function adoptionOf(tx: Tx, entity: Entity, sourceKey: string): Promise<Adoption | null> {
  const [row] = await tx.rows('SELECT * FROM adoption WHERE entity=? AND source_key=?', [entity, sourceKey]);
  return row ? adoptionOfRow(row) : null;
}

interface AdoptionFilter {
  entity?: Entity;
  /** Only records with differences that no person has looked at. */
  onlyOpen?: boolean;
}

const isOpen = "reviewed_at IS NULL AND differs IS NOT NULL AND differs<>'[]'";

/** Adopted records in the order of their keys, from the one after `after`. */
export async function listAdoptions(
  tx: Tx,
  { entity, onlyOpen }: AdoptionFilter,
  after: Pick<Adoption, 'entity' | 'sourceKey'> | null,
  limit: number,
): Promise<Adoption[]> {
  const conditions = ['1=1'];
  const parameters: SqlValue[] = [];
  const add = (condition: string, ...values: SqlValue[]) => {
    conditions.push(condition);
    parameters.push(...values);
  };
  if (entity !== undefined) add('entity=?', entity);
  if (onlyOpen) add(isOpen);
  if (after !== null) add('(entity>? OR (entity=? AND source_key>?))', after.entity, after.entity, after.sourceKey);
  const rows = await tx.rows(
    `SELECT * FROM adoption WHERE ${conditions.join(' AND ')} ORDER BY entity, source_key LIMIT ${Math.trunc(limit)}`,
    parameters,
  );
  return rows.map(adoptionOfRow);
}

/** An adoption with every column it has, as it is exported and imported. */
export interface AdoptionRow extends Row {
  entity: string;
  source_key: string;
  service_id: string;
  adopted_from: string;
}

/** Adoptions of an entity in the order of their keys, after `afterKey`. */
export async function adoptionsAfter(tx: Tx, entity: Entity, afterKey: string, limit: number): Promise<AdoptionRow[]> {
  return tx.select<AdoptionRow>(
    `SELECT * FROM adoption WHERE entity=? AND source_key>? ORDER BY source_key LIMIT ${Math.trunc(limit)}`,
    [entity, afterKey],
  );
}

/** Takes over adoptions that were exported, with what a person has said of them. */
export async function importAdoptions(tx: Tx, rows: readonly AdoptionRow[]): Promise<void> {
  await upsertRows(tx, 'adoption', ['entity', 'source_key'], rows);
}

interface AdoptionCounts {
  customers: number;
  orders: number;
  /** Differ from the ERP, and no person has said what becomes of it. */
  open: number;
}

export async function countAdoptions(tx: Tx): Promise<AdoptionCounts> {
  const [counts] = await tx.rows<AdoptionCounts>(
    `SELECT COUNT(CASE WHEN entity='customer' THEN 1 END) AS customers, COUNT(CASE WHEN entity='order' THEN 1 END) AS orders,
            COUNT(CASE WHEN ${isOpen} THEN 1 END) AS open FROM adoption`,
  );
  return counts as AdoptionCounts;
}

function adoptionOfRow({ adoptedFrom, differs, ...row }: AdoptionColumns): Adoption {
  return { ...row, from: adoptedFrom, differs: differs === null ? null : JSON.parse(differs) };
}

interface AdoptionColumns extends Omit<Adoption, 'from' | 'differs'> {
  adoptedFrom: AdoptedFrom;
  differs: string | null;
}

/** A field in which the ERP and the service differ. Undefined: that side does not have it, or does not show it. */
interface DifferingField {
  field: string;
  erp: JsonValue | undefined;
  service: JsonValue | undefined;
}

/** The fields that an update would write over in these records, by source key, as far as the store still knows both sides. */
export async function differingFields(
  tx: Tx,
  adoptions: readonly Pick<Adoption, 'entity' | 'sourceKey'>[],
): Promise<Map<string, DifferingField[]>> {
  const fields = new Map<string, DifferingField[]>();
  for (const entity of entities) {
    const keys = adoptions.filter((one) => one.entity === entity).map(({ sourceKey }) => sourceKey);
    if (keys.length === 0) continue;
    const rows = await tx.rows<{ sourceKey: string; acknowledged: string; record: string }>(
      `SELECT w.source_key, w.acknowledged, b.record
         FROM binding w
         JOIN outbox_message m ON m.entity=w.entity AND m.source_key=w.source_key AND m.state='parked' AND m.park_class='held'
         JOIN message_body b ON b.message_id=m.id
        WHERE w.entity=? AND w.acknowledged IS NOT NULL AND w.source_key IN ${placeholders(keys.length)} ORDER BY m.revision`,
      [entity, ...keys],
    );
    for (const row of rows) {
      const service = JSON.parse(row.acknowledged) as { [name: string]: JsonValue };
      const erp = JSON.parse(row.record) as { [name: string]: JsonValue };
      const value = (side: { [name: string]: JsonValue }, name: string) =>
        Object.hasOwn(side, name) ? side[name] : undefined;
      fields.set(
        `${entity} ${row.sourceKey}`,
        Object.keys(composePatch(service, erp) ?? {})
          .sort()
          .map((field) => ({ field, erp: value(erp, field), service: value(service, field) })),
      );
    }
  }
  return fields;
}
