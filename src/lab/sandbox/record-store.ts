import type { CustomerRecord, JsonValue, OrderRecord } from '../../model/record.js';

/** A value to the ids of the records that carry it, and how many values are carried by more than one. */
export class MultiIndex {
  readonly #ids = new Map<string, string[]>();
  #repeated = 0;

  add(value: string, id: string): void {
    const ids = this.#ids.get(value);
    if (!ids) {
      this.#ids.set(value, [id]);
      return;
    }
    ids.push(id);
    if (ids.length === 2) this.#repeated++;
  }

  remove(value: string, id: string): void {
    const ids = this.#ids.get(value);
    const at = ids?.indexOf(id) ?? -1;
    if (!ids || at < 0) return;
    ids.splice(at, 1);
    if (ids.length === 1) this.#repeated--;
    if (ids.length === 0) this.#ids.delete(value);
  }

  get(value: string): readonly string[] {
    return this.#ids.get(value) ?? [];
  }

  /** The number of values that more than one record carries. */
  get repeatedCount(): number {
    return this.#repeated;
  }

  *repeated(): Iterable<[value: string, ids: readonly string[]]> {
    if (this.#repeated === 0) return;
    for (const entry of this.#ids) if (entry[1].length > 1) yield entry;
  }
}

export interface StoredCustomer {
  readonly customerCode: string;
  readonly key: string;
  readonly createdAt: string;
  readonly requestIds: string[];
  record: CustomerRecord;
}

export interface StoredOrder {
  readonly orderId: string;
  readonly key: string;
  readonly createdAt: string;
  readonly requestIds: string[];
  record: OrderRecord;
  status: string;
  total: number;
}

export type StoredRecord = StoredCustomer | StoredOrder;

/** What was deleted, kept for the ledger only. */
export interface DeletedRecord {
  readonly entity: 'customer' | 'order';
  readonly id: string;
  readonly reference: string | null;
  readonly key: string;
}

/** The customers and orders that the service holds, with the look-ups it needs to answer and to find duplicates. */
export class RecordStore {
  readonly customers = new Map<string, StoredCustomer>();
  readonly orders = new Map<string, StoredOrder>();
  readonly deleted: DeletedRecord[] = [];
  readonly ordersByReference = new MultiIndex();
  readonly ordersByKey = new MultiIndex();

  constructor(readonly orderReferenceField: string) {}

  referenceOf(order: StoredOrder): string | null {
    const value: JsonValue | undefined = order.record[this.orderReferenceField];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  }

  addOrder(order: StoredOrder): void {
    this.orders.set(order.orderId, order);
    this.ordersByKey.add(order.key, order.orderId);
    const reference = this.referenceOf(order);
    if (reference !== null) this.ordersByReference.add(reference, order.orderId);
  }

  changeOrder(order: StoredOrder, record: OrderRecord, total: number): void {
    const before = this.referenceOf(order);
    order.record = record;
    order.total = total;
    const after = this.referenceOf(order);
    if (before === after) return;
    if (before !== null) this.ordersByReference.remove(before, order.orderId);
    if (after !== null) this.ordersByReference.add(after, order.orderId);
  }

  deleteOrder(order: StoredOrder): void {
    const reference = this.referenceOf(order);
    this.orders.delete(order.orderId);
    this.ordersByKey.remove(order.key, order.orderId);
    if (reference !== null) this.ordersByReference.remove(reference, order.orderId);
    this.deleted.push({ entity: 'order', id: order.orderId, reference, key: order.key });
  }

  deleteCustomer(customer: StoredCustomer): void {
    const { customerCode, key } = customer;
    this.customers.delete(customerCode);
    this.deleted.push({ entity: 'customer', id: customerCode, reference: customerCode, key });
  }

  findOrders(ids: readonly string[]): StoredOrder[] {
    return ids.flatMap((id) => this.orders.get(id) ?? []);
  }
}

/** Ids that are unique within a run and, by their random part, very likely among runs. */
export class IdSequence {
  readonly #prefix: string;
  #last = 0;

  constructor(name: string, random: () => number) {
    this.#prefix = `${name}_${Math.floor(random() * 36 ** 6)
      .toString(36)
      .padStart(6, '0')}_`;
  }

  next(): string {
    return this.#prefix + String(++this.#last);
  }
}

/** ISO 8601 with a UTC offset, to the second, e.g. `2026-01-05T10:20:30+07:00`. */
export function timestamp(ms: number, utcOffsetMinutes: number): string {
  const sign = utcOffsetMinutes < 0 ? '-' : '+';
  const offset = Math.abs(utcOffsetMinutes);
  const hours = String(Math.floor(offset / 60)).padStart(2, '0');
  const minutes = String(offset % 60).padStart(2, '0');
  return `${localIso(ms, utcOffsetMinutes).slice(0, 19)}${sign}${hours}:${minutes}`;
}

/** The date at that offset, YYYY-MM-DD. */
export function dateAt(ms: number, utcOffsetMinutes: number): string {
  return localIso(ms, utcOffsetMinutes).slice(0, 10);
}

function localIso(ms: number, utcOffsetMinutes: number): string {
  return new Date(ms + utcOffsetMinutes * 60_000).toISOString();
}
