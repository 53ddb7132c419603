import { createHash } from 'node:crypto';
import type { Settings } from '../../config/settings.js';
import { sentCurrency } from '../../erp/mapping/money.js';
import type { Fact } from '../../model/facts/fact.js';
import { type Entity, type OrderItem, orderTotal } from '../../model/record.js';
import type { ParkClass } from '../../outbound/outbox/message.js';
import { factOf } from '../../store/fact-columns.js';
import { placeholders } from '../../store/rows.js';
import type { Store, Tx } from '../../store/store.js';
import type { FoundRecord } from '../find-records.js';
import { likeness } from '../likeness.js';

/** The likeness of parked messages: the class, and the reason without its values, as a hash that holds nobody’s data. */
export interface Cause {
  parkClass: ParkClass | null;
  reasonHash: string;
}

/** Parked messages that share a cause. */
export interface ParkedGroup extends Cause {
  /** That of one of them; null: none is on record. */
  reason: Fact | null;
  count: number;
  /** Sum of qty × price of its orders by currency, in minor units; `unknown` where nothing tells the currency. */
  totals: Map<string, bigint>;
  firstAt: number;
  lastAt: number;
  samples: FoundRecord[];
}

interface ParkedRow {
  entity: Entity;
  sourceKey: string;
  number: string | null;
  parkClass: ParkClass | null;
  reasonCode: string | null;
  reasonData: string | null;
  capturedAt: number;
  record: string | null;
}

const mostSamples = 5;

/**
 * Messages that wait for a person, grouped by cause, the largest group first. `isAll` is false where more than `most`
 * wait: the rest is not counted.
 */
export async function groupParked(
  tx: Tx,
  settings: Pick<Settings, 'amounts' | 'orders'>,
  most: number,
): Promise<{ groups: ParkedGroup[]; isAll: boolean }> {
  const rows = await tx.rows<ParkedRow>(
    `SELECT m.entity, m.source_key, m.number, m.park_class, m.reason_code, m.reason_data, m.captured_at, b.record
       FROM outbox_message m LEFT JOIN message_body b ON b.message_id=m.id
      WHERE m.state='parked' LIMIT ${Math.trunc(most) + 1}`,
  );
  return { groups: groupByCause(rows.slice(0, most), settings), isAll: rows.length <= most };
}

/** Pure. */
function groupByCause(rows: readonly ParkedRow[], settings: Pick<Settings, 'amounts' | 'orders'>): ParkedGroup[] {
  const groups = new Map<string, ParkedGroup>();
  for (const row of rows) {
    const { entity, sourceKey, number, parkClass, capturedAt, record } = row;
    const reasonHash = hashOfReason(row);
    const name = `${parkClass} ${reasonHash}`;
    let group = groups.get(name);
    if (group === undefined) {
      const reason = factOf<Fact>(row.reasonCode, row.reasonData);
      const known = { count: 0, totals: new Map(), firstAt: capturedAt, lastAt: capturedAt, samples: [] };
      group = { parkClass, reasonHash, reason, ...known };
      groups.set(name, group);
    }
    group.count++;
    group.firstAt = Math.min(group.firstAt, capturedAt);
    group.lastAt = Math.max(group.lastAt, capturedAt);
    if (group.samples.length < mostSamples) group.samples.push({ entity, sourceKey, number });
    if (entity !== 'order' || record === null) continue;
    addOrder(group.totals, record, settings);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || a.firstAt - b.firstAt);
}

/** Reasons that differ in the values of their records alone have one cause. */
function hashOfReason({ reasonCode, reasonData }: Pick<ParkedRow, 'reasonCode' | 'reasonData'>): string {
  const fact = factOf<Fact>(reasonCode, reasonData);
  return createHash('sha256')
    .update(fact === null ? '' : likeness(fact))
    .digest('hex');
}

/** The oldest parked messages of a cause, at most so many. */
export async function idsOfCause(tx: Tx, { parkClass, reasonHash }: Cause, most: number): Promise<number[]> {
  const found: number[] = [];
  for (let after = 0, count = batchSize; found.length < most && count === batchSize; ) {
    const rows = await tx.rows<Pick<ParkedRow, 'reasonCode' | 'reasonData'> & { id: number }>(
      `SELECT id, reason_code, reason_data FROM outbox_message
        WHERE state='parked' AND COALESCE(park_class,'')=? AND id>? ORDER BY id LIMIT ${batchSize}`,
      [parkClass ?? '', after],
    );
    found.push(...rows.filter((row) => hashOfReason(row) === reasonHash).map(({ id }) => id));
    count = rows.length;
    after = rows.at(-1)?.id ?? after;
  }
  return found.slice(0, most);
}

const batchSize = 500;

/** The sums of the orders of these messages, by currency, in minor units. */
export async function sumOrders(
  store: Store,
  settings: Pick<Settings, 'amounts' | 'orders'>,
  ids: readonly number[],
): Promise<Map<string, bigint>> {
  const totals = new Map<string, bigint>();
  for (let from = 0; from < ids.length; from += batchSize) {
    const batch = ids.slice(from, from + batchSize);
    const rows = await store.read('add up orders', (tx) =>
      tx.rows<{ record: string }>(
        `SELECT b.record FROM outbox_message m JOIN message_body b ON b.message_id=m.id
          WHERE m.entity='order' AND m.id IN ${placeholders(batch.length)}`,
        batch,
      ),
    );
    for (const { record } of rows) addOrder(totals, record, settings);
  }
  return totals;
}

function addOrder(totals: Map<string, bigint>, record: string, settings: Pick<Settings, 'amounts' | 'orders'>): void {
  const currency = sentCurrency(settings, record) ?? 'unknown';
  const { items = [] } = JSON.parse(record) as { items?: OrderItem[] };
  totals.set(currency, (totals.get(currency) ?? 0n) + orderTotal(items));
}
