import type { CustomerRecord, JsonValue, OrderRecord } from '../model/record.js';
import { MultiIndex } from './multi-index.js';

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
