import type {
  ChangedFrom,
  ChangePosition,
  ErpPage,
  ErpReader,
  MappedContent,
  Namesake,
  Presence,
  ReadCustomer,
  ReadOrder,
  ReadRow,
  RowFilter,
  SourceEnd,
} from '../../src/erp/erp-reader.js';
import { outside } from '../../src/model/outside.js';
import type { CustomerRecord, Entity, OrderRecord } from '../../src/model/record.js';

export interface CustomerRow {
  key: string;
  changedAtMs: number;
  name: string;
}

export interface OrderRow {
  key: string;
  changedAtMs: number;
  /** When somebody really wrote it; its changed-at need not say so. */
  touchedAtMs: number;
  customerKey: string;
  qty: number;
  status: 'confirmed' | 'draft' | 'cancelled';
  /** A row that can't be mapped. */
  isBad: boolean;
  /** Fewer lines than the header says: saved apart, and not all there yet. */
  isHalf: boolean;
}

const price = 250;

/** An ERP as it is seen through its reader, without a database: two tables that anybody may edit. */
export class MemoryErp implements ErpReader {
  readonly customers = new Map<string, CustomerRow>();
  readonly orders = new Map<string, OrderRow>();
  /** Keys are never given twice. */
  given = 0;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  insert(row: Omit<OrderRow, 'key'>): void {
    const key = String(++this.given);
    this.orders.set(key, { key, ...row });
  }

  /** Keys of all orders that there ever were. */
  everyKey(): string[] {
    return Array.from({ length: this.given }, (_, index) => String(index + 1));
  }

  /** The record that the service should hold of a customer. */
  static customerRecord({ key, name }: CustomerRow): CustomerRecord {
    return { customer_code: `C-${key}`, name };
  }

  /** The record that the service should hold of an order. */
  static orderRecord({ key, customerKey, qty }: OrderRow): OrderRecord {
    return { customer_code: `C-${customerKey}`, items: [{ sku: 'SKU-1', qty, price }], note: `SO-${key}` };
  }

  static isEligible({ status }: OrderRow): boolean {
    return status === 'confirmed';
  }

  async nowAsChangedAt(): Promise<string> {
    return asText(this.#nowMs());
  }

  async readChanged<E extends Entity>(entity: E, from: ChangedFrom, limit: number): Promise<ErpPage<ReadRow<E>>> {
    const page =
      entity === 'order'
        ? this.#orderPage(changed(this.#eligible(), from), limit, true)
        : this.#customerPage(changed([...this.customers.values()], from), limit, true);
    return page as ErpPage<ReadRow<E>>;
  }

  async sweep<E extends Entity>(
    entity: E,
    afterKey: string[] | null,
    limit: number,
    filter?: RowFilter,
  ): Promise<ErpPage<ReadRow<E>>> {
    const named = new Set(this.#eligible().map(({ customerKey }) => customerKey));
    const customers = [...this.customers.values()].filter(({ key }) => named.has(key));
    const page =
      entity === 'order'
        ? this.#orderPage(swept(this.#eligible(), afterKey, filter), limit, false)
        : this.#customerPage(swept(customers, afterKey, filter), limit, false);
    return page as ErpPage<ReadRow<E>>;
  }

  async presence(entity: Entity, keys: readonly string[]): Promise<Presence> {
    const rows: ReadonlyMap<string, object> = entity === 'order' ? this.orders : this.customers;
    const cancelled = entity === 'order' ? keys.filter((key) => this.orders.get(key)?.status === 'cancelled') : [];
    return { existing: new Set(keys.filter((key) => rows.has(key))), cancelled: new Set(cancelled) };
  }

  async eligible(entity: Entity, keys: readonly string[]): Promise<Set<string>> {
    const { existing, cancelled } = await this.presence(entity, keys);
    return new Set(keys.filter((key) => existing?.has(key) && !cancelled.has(key)));
  }

  /** Each row has a number of its own. */
  namesakes = async () => new Map<string, Namesake[]>();

  async equalKeys(_entity: Entity, keys: readonly string[]): Promise<Map<string, string[]>> {
    return new Map(keys.map((key) => [key, [key]]));
  }

  async readChangedCancelled(
    entity: Entity,
    from: ChangedFrom,
    limit: number,
  ): Promise<{ keys: string[]; last: ChangePosition | null; more: boolean }> {
    const cancelled = [...this.orders.values()].filter(({ status }) => status === 'cancelled');
    const rows = entity === 'order' ? changed(cancelled, from) : [];
    const page = rows.slice(0, limit);
    return { keys: page.map(({ key }) => key), last: positionOf(page.at(-1), true), more: rows.length > limit };
  }

  async sourceEnd(entity: Entity): Promise<SourceEnd> {
    const rows = [...(entity === 'order' ? this.orders : this.customers).values()];
    if (rows.length === 0) return { isEmpty: true, changedAt: null, key: null };
    const latest = Math.max(...rows.map(({ changedAtMs }) => changedAtMs));
    return { isEmpty: false, changedAt: asText(latest), key: String(Math.max(...rows.map(({ key }) => Number(key)))) };
  }

  async count(entity: Entity): Promise<number> {
    return entity === 'order' ? this.#eligible().length : this.customers.size;
  }

  async countWithoutKey(): Promise<number> {
    return 0;
  }

  async countExcludedByStartFrom() {
    return { older: 0, withoutStart: 0 };
  }

  async funnel(): Promise<null> {
    return null;
  }

  async standing(): Promise<[]> {
    return [];
  }

  async check(): Promise<void> {}

  identity(): string {
    return 'memory';
  }

  async close(): Promise<void> {}

  #eligible(): OrderRow[] {
    return [...this.orders.values()].filter(MemoryErp.isEligible);
  }

  #orderPage(rows: OrderRow[], limit: number, isByChange: boolean): ErpPage<ReadOrder> {
    const page = rows.slice(0, limit);
    const keys = new Set(page.map(({ customerKey }) => customerKey));
    const customers = [...keys].flatMap((key) => this.customers.get(key) ?? []);
    return {
      rows: page.map((row) => this.#readOrder(row)),
      customers: customers.map((row) => this.#readCustomer(row)),
      last: positionOf(page.at(-1), isByChange),
      more: rows.length > limit,
    };
  }

  #customerPage(rows: CustomerRow[], limit: number, isByChange: boolean): ErpPage<ReadCustomer> {
    const page = rows.slice(0, limit);
    return {
      rows: page.map((row) => this.#readCustomer(row)),
      customers: [],
      last: positionOf(page.at(-1), isByChange),
      more: rows.length > limit,
    };
  }

  #readCustomer(row: CustomerRow): ReadCustomer {
    return { entity: 'customer', ...this.#base(row), content: mapped(MemoryErp.customerRecord(row)) };
  }

  #readOrder(row: OrderRow): ReadOrder {
    const total = String(row.qty * price);
    return {
      entity: 'order',
      ...this.#base(row),
      number: `SO-${row.key}`,
      identity: JSON.stringify({ number: `SO-${row.key}` }),
      customerKey: row.customerKey,
      content: row.isBad
        ? {
            mapped: false,
            problems: [{ code: 'not_a_number', column: 'qty', value: outside('many') }],
            fingerprint: `${row.qty}`,
          }
        : mapped(MemoryErp.orderRecord(row)),
      totals: row.isBad ? null : { lines: total, header: row.isHalf ? `${total}0` : total },
    };
  }

  #base({ key, changedAtMs }: { key: string; changedAtMs: number }) {
    const ageSeconds = Math.floor((this.#nowMs() - changedAtMs) / 1000);
    return { sourceKey: key, changedAt: asText(changedAtMs), changedAtMs, ageSeconds };
  }
}

interface AnyRow {
  key: string;
  changedAtMs: number;
}

function changed<R extends AnyRow>(rows: R[], from: ChangedFrom): R[] {
  const isWanted = (row: R) => {
    const at = asText(row.changedAtMs);
    if ('since' in from) return from.since === null || at >= from.since;
    const { changedAt, key } = from.after;
    return at > changedAt || (at === changedAt && Number(row.key) > Number(key[0]));
  };
  const order = (row: R) => asText(row.changedAtMs) + row.key.padStart(9, '0');
  return rows.filter(isWanted).sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

function swept<R extends AnyRow>(rows: R[], after: string[] | null, filter: RowFilter | undefined): R[] {
  return rows
    .filter(({ key }) => after === null || Number(key) > Number(after[0]))
    .filter(({ key }) => filter?.keys === undefined || filter.keys.includes(key))
    .sort((a, b) => Number(a.key) - Number(b.key));
}

function positionOf(row: AnyRow | undefined, isByChange: boolean): ChangePosition | null {
  return row ? { changedAt: isByChange ? asText(row.changedAtMs) : '', key: [row.key] } : null;
}

function mapped<R>(record: R): MappedContent<R> {
  return { mapped: true, record };
}

function asText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}
