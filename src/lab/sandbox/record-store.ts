import { DateTime, FixedOffsetZone } from 'luxon';
import type { OrderRecord } from '../../model/record.js';
import type { DeletedRecord, LedgerCustomer, LedgerOrder } from './ledger.js';

/** Orders by a value that several of them may carry. */
class OrderIndex {
  readonly #orders = new Map<string, Set<LedgerOrder>>();
  /** The number of values that more than one order carries. */
  repeatedCount = 0;

  add(value: string, order: LedgerOrder): void {
    const orders = this.#orders.get(value) ?? new Set();
    this.#orders.set(value, orders.add(order));
    if (orders.size === 2) this.repeatedCount++;
  }

  remove(value: string, order: LedgerOrder): void {
    const orders = this.#orders.get(value);
    if (orders?.delete(order) && orders.size === 1) this.repeatedCount--;
  }

  get(value: string): LedgerOrder[] {
    return [...(this.#orders.get(value) ?? [])];
  }

  repeated(): [value: string, orders: LedgerOrder[]][] {
    if (this.repeatedCount === 0) return [];
    return [...this.#orders].filter(([, { size }]) => size > 1).map(([value, orders]) => [value, [...orders]]);
  }
}

/** The customers and orders that the service holds, with the look-ups it needs to answer and to find duplicates. */
export class RecordStore {
  readonly customers = new Map<string, LedgerCustomer>();
  readonly orders = new Map<string, LedgerOrder>();
  readonly deleted: DeletedRecord[] = [];
  readonly ordersByReference = new OrderIndex();
  readonly #ordersByKey = new OrderIndex();

  constructor(readonly orderReferenceField: string) {}

  deleteCustomer({ customer_code: id, key }: LedgerCustomer): void {
    this.customers.delete(id);
    this.deleted.push({ entity: 'customer', id, reference: id, key });
  }

  /** @returns the order with its reference, as it is kept */
  addOrder(fields: Omit<LedgerOrder, 'reference'>): LedgerOrder {
    const order: LedgerOrder = { ...fields, reference: this.#referenceOf(fields.record) };
    this.orders.set(order.order_id, order);
    this.#ordersByKey.add(order.key, order);
    if (order.reference !== null) this.ordersByReference.add(order.reference, order);
    return order;
  }

  changeOrder(order: LedgerOrder, record: OrderRecord, total: number): void {
    const before = order.reference;
    const after = this.#referenceOf(record);
    Object.assign(order, { record, total, reference: after });
    if (before === after) return;
    if (before !== null) this.ordersByReference.remove(before, order);
    if (after !== null) this.ordersByReference.add(after, order);
  }

  deleteOrder(order: LedgerOrder): void {
    const { order_id: id, reference, key } = order;
    this.orders.delete(id);
    this.#ordersByKey.remove(key, order);
    if (reference !== null) this.ordersByReference.remove(reference, order);
    this.deleted.push({ entity: 'order', id, reference, key });
  }

  /** The orders with this reference, this key, or both; null stands for "any". */
  findOrders(reference: string | null, key: string | null): LedgerOrder[] {
    const found = reference === null ? this.#ordersByKey.get(key ?? '') : this.ordersByReference.get(reference);
    return found.filter((order) => key === null || order.key === key);
  }

  #referenceOf(record: OrderRecord): string | null {
    const value = record[this.orderReferenceField];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
  }
}

/** Ids that are unique within a run and, by their random part, very likely among runs. */
export function idSequence(name: string, random: () => number): () => string {
  const part = Math.floor(random() * 36 ** 6).toString(36);
  let last = 0;
  return () => `${name}_${part.padStart(6, '0')}_${++last}`;
}

/** ISO 8601 with a UTC offset, to the second, e.g. `2026-01-05T10:20:30+07:00`. */
export function timestamp(ms: number, utcOffsetMinutes: number): string {
  const time = DateTime.fromMillis(ms, { zone: FixedOffsetZone.instance(utcOffsetMinutes) });
  return time.toFormat("yyyy-MM-dd'T'HH:mm:ssZZ");
}
