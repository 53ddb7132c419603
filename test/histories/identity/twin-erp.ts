import type {
  ErpPage,
  ErpReader,
  Namesake,
  Presence,
  ReadCustomer,
  ReadOrder,
  ReadRow,
  RowFilter,
} from '../../../src/erp/erp-reader.js';
import type { Entity } from '../../../src/model/record.js';

export interface TwinCustomer {
  key: string;
  /** Two customers may have one. */
  code: string;
  name: string;
}

export interface TwinOrder {
  key: string;
  /** Two orders may have one. */
  number: string;
  customerKey: string;
  createdOn: string;
  qty: number;
  /** The number of times it was cancelled, and entered anew under another key that names the one before. */
  amended?: number;
  isCancelled?: boolean;
}

const price = 250;
const keys = 7;
/** From the key of an order to the one under which it is entered anew. */
const amendment = 100;

/** An ERP as it is seen through its reader, whose numbers and codes repeat, and whose keys may all become others at once. */
export class TwinErp implements ErpReader {
  readonly customers: TwinCustomer[] = [];
  readonly orders: TwinOrder[] = [];
  /** The number of times all keys became others. */
  moves = 0;

  /** The key of a row, as its table has it now: each move gives it that of another row. */
  keyOf(row: string): string {
    return String(((Number(row) - 1 + this.moves) % keys) + 1);
  }

  /** The row whose key this is now; null: a key that no row has any more. */
  rowOf(key: string): string | null {
    const first = Number(key) % amendment;
    return /^\d+$/.test(key) ? String(((first - 1 + keys * this.moves - this.moves) % keys) + 1) : null;
  }

  /** The key of an order now, or so many amendments before. */
  orderKeyOf(row: string, before = 0): string {
    const amended = this.orders.find(({ key }) => key === row)?.amended ?? 0;
    return String(Number(this.keyOf(row)) + amendment * (amended - before));
  }

  async sweep<E extends Entity>(
    entity: E,
    after: string[] | null,
    limit: number,
    filter?: RowFilter,
  ): Promise<ErpPage<ReadRow<E>>> {
    const wanted = this.orders.filter(({ isCancelled }) => !isCancelled);
    const rows = (entity === 'order' ? wanted.map((row) => this.#order(row)) : this.#customersOfOrders())
      .filter(({ sourceKey }) => after === null || Number(sourceKey) > Number(after[0]))
      .filter(({ sourceKey }) => filter?.keys === undefined || filter.keys.includes(sourceKey))
      .sort((a, b) => Number(a.sourceKey) - Number(b.sourceKey));
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      rows: page as ReadRow<E>[],
      customers: entity === 'order' ? this.#customersOfOrders() : [],
      last: last ? { changedAt: '', key: [last.sourceKey] } : null,
      more: rows.length > limit,
    };
  }

  async presence(entity: Entity, keys: readonly string[]): Promise<Presence> {
    const orders = this.orders.map(({ key }) => this.orderKeyOf(key));
    const existing = new Set(entity === 'order' ? orders : this.customers.map(({ key }) => this.keyOf(key)));
    const cancelled = this.orders.filter(({ isCancelled }) => isCancelled).map(({ key }) => this.orderKeyOf(key));
    return {
      existing: new Set(keys.filter((key) => existing.has(key))),
      cancelled: new Set(entity === 'order' ? cancelled.filter((key) => keys.includes(key)) : []),
    };
  }

  async eligible(entity: Entity, keys: readonly string[]): Promise<Set<string>> {
    const { existing, cancelled } = await this.presence(entity, keys);
    return new Set([...(existing ?? [])].filter((key) => !cancelled.has(key)));
  }

  async namesakes(entity: Entity, names: ReadonlyMap<string, string>): Promise<Map<string, Namesake[]>> {
    const rows =
      entity === 'order'
        ? this.orders.map((row) => this.#order(row)).map((row) => ({ name: row.number, row }))
        : this.customers.map(({ key, code }) => ({
            name: code,
            row: { sourceKey: this.keyOf(key), identity: JSON.stringify({ customer_code: code }) },
          }));
    const of = (key: string, name: string) =>
      rows.flatMap((one) => (one.name === name && one.row.sourceKey !== key ? [one.row] : []));
    return new Map([...names].map(([key, name]) => [key, of(key, name)]));
  }

  async equalKeys(_entity: Entity, keys: readonly string[]): Promise<Map<string, string[]>> {
    return new Map(keys.map((key) => [key, [key]]));
  }

  identity(): string {
    return `the ERP after ${this.moves} moves`;
  }

  async readChanged<E extends Entity>(): Promise<ErpPage<ReadRow<E>>> {
    return { rows: [], customers: [], last: null, more: false };
  }

  readChangedCancelled = async () => ({ keys: [], last: null, more: false });
  sourceEnd = async () => ({ isEmpty: false, changedAt: null, key: null });
  nowAsChangedAt = async () => null;
  count = async (entity: Entity) => (entity === 'order' ? this.orders.length : this.customers.length);
  countWithoutKey = async () => 0;
  countExcludedByStartFrom = async () => ({ older: 0, withoutStart: 0 });
  funnel = async () => null;
  standing = async (entity: Entity, keys: readonly string[]) =>
    // Amended twice between two passes: what stood in between names the one before.
    this.orders.flatMap(({ key, amended = 0 }) =>
      Array.from({ length: entity === 'order' ? amended : 0 }, (_, n) => n + 1)
        .map((before) => ({
          sourceKey: this.orderKeyOf(key, before),
          replaces: before === amended ? null : this.orderKeyOf(key, before + 1),
          row: {},
          unmet: [],
        }))
        .filter(({ sourceKey }) => keys.includes(sourceKey)),
    );
  check = async () => undefined;
  close = async () => undefined;

  #customersOfOrders(): ReadCustomer[] {
    return this.customers
      .filter(({ key }) => this.orders.some(({ customerKey }) => customerKey === key))
      .map(({ key, code, name }) => ({
        ...this.#base(key),
        entity: 'customer' as const,
        content: { mapped: true, record: { customer_code: code, name } },
      }));
  }

  #order({ key, number, customerKey, createdOn, qty, amended = 0 }: TwinOrder): ReadOrder {
    const code = this.customers.find((one) => one.key === customerKey)?.code ?? '';
    const total = String(qty * price);
    return {
      ...this.#base(key),
      sourceKey: this.orderKeyOf(key),
      ...(amended > 0 && { replaces: this.orderKeyOf(key, 1) }),
      entity: 'order',
      number,
      identity: JSON.stringify({ number, created_on: createdOn }),
      customerKey: this.keyOf(customerKey),
      content: { mapped: true, record: { customer_code: code, items: [{ sku: 'S', qty, price }], note: number } },
      totals: { lines: total, header: total },
    };
  }

  #base(key: string) {
    return { sourceKey: this.keyOf(key), changedAt: '2026-01-01 00:00:00', changedAtMs: null, ageSeconds: 1_000_000 };
  }
}
