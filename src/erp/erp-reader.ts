import type { AmountsSettings } from '../config/sections/amounts.js';
import type { CustomersSettings } from '../config/sections/customers.js';
import type { ErpSettings } from '../config/sections/erp.js';
import type { OrdersSettings } from '../config/sections/orders.js';
import type { CustomerRecord, Entity, OrderRecord } from '../model/record.js';

/** Where a pass over the changes stands: the change cursor as the database wrote it, and the key parts. Both are text. */
export interface ChangePosition {
  changedAt: string;
  key: string[];
}

/** What became of one ERP row: a record to send, or the reason why it can not be one. */
export type MappedContent<R> =
  | { mapped: true; record: R }
  /** `reason` names the column, the value and what to do. `fingerprint` is the raw row as text: equal rows give equal text. */
  | { mapped: false; reason: string; fingerprint: string };

interface ReadBase {
  /** The primary key as text. Parts of a composite key are joined with `/`, with `%` and `/` in a part percent-encoded. */
  sourceKey: string;
  /** The change cursor of the row as the database wrote it, or null when the mapping has none (or the row holds NULL). */
  changedAt: string | null;
  /** Seconds since changedAt by the ERP's own clock; null when it is not known. Negative for a date in the future. */
  ageSeconds: number | null;
}

export interface ReadCustomer extends ReadBase {
  entity: 'customer';
  content: MappedContent<CustomerRecord>;
}

export interface ReadOrder extends ReadBase {
  entity: 'order';
  /** The order number that people know, if the mapping names its column. */
  number: string | null;
  /** The columns that never change, as JSON of column → value; null when there are none. */
  identity: string | null;
  /** Key of the customer (same form as sourceKey), or null where customers are not sent or the column is NULL. */
  customerKey: string | null;
  content: MappedContent<OrderRecord>;
  /**
   * Both totals in minor units as decimal text, when the mapping names a total column and the lines could be read.
   * They are compared by the caller: an order whose lines don't add up yet may only need time.
   */
  totals: { lines: string; header: string } | null;
}

export interface ErpPage<T> {
  rows: T[];
  /** Customers of the orders on this page, read in the same snapshot. Empty when customers are not sent. */
  customers: ReadCustomer[];
  /** Position of the last row, or null when the page was empty. */
  last: ChangePosition | null;
  /** false when the source had no more rows after this page. */
  more: boolean;
}

/** A filter for `resync` and `--key`. Dates are half-open [from, to) in erp.timeZone on the startFrom column, else changedAt. */
export interface RowFilter {
  keys?: string[];
  from?: string;
  to?: string;
}

/** Which of some keys the ERP still has, and which of them are cancelled; null: not asked, because nothing follows. */
export interface Presence {
  existing: Set<string> | null;
  cancelled: Set<string>;
}

/** Where the whole source ends, whatever is eligible: what only ever grows, unless the ERP was restored. */
export interface SourceEnd {
  isEmpty: boolean;
  /** The highest change cursor as the database wrote it. */
  changedAt: string | null;
  /** The highest key; null where keys are texts or composite, which have no order in time. */
  key: string | null;
}

/** The only door to the ERP's tables. Every read is one consistent snapshot of header, lines and customers. */
export interface ErpReader {
  /** Runs each query once for no rows and checks every column that the mapping names; throws one error that lists all faults. */
  check(): Promise<void>;
  /** The ERP's clock, in the frame and the text form of the entity's changedAt column; null when there is none. */
  nowAsChangedAt(entity: Entity): Promise<string | null>;
  /** Rows in (changedAt, key) order, strictly after `after`, or from `since` (inclusive) when there is no position yet. */
  readChangedOrders(
    from: { after: ChangePosition } | { since: string | null },
    limit: number,
  ): Promise<ErpPage<ReadOrder>>;
  /** Every customer that `customers.pending` lets through, whoever refers to it; empty when customers are not sent. */
  readChangedCustomers(
    from: { after: ChangePosition } | { since: string | null },
    limit: number,
  ): Promise<ErpPage<ReadCustomer>>;
  /** Rows in key order, strictly after the key: sweeps, and resync with a filter. `last.changedAt` is '' here. */
  sweepOrders(afterKey: string[] | null, limit: number, filter?: RowFilter): Promise<ErpPage<ReadOrder>>;
  sweepCustomers(afterKey: string[] | null, limit: number, filter?: RowFilter): Promise<ErpPage<ReadCustomer>>;
  /** Looks these keys up, whatever is eligible: for what was cancelled or deleted. */
  presence(entity: Entity, keys: readonly string[]): Promise<Presence>;
  /** Keys of cancelled rows in (changedAt, key) order, eligible or not. */
  readChangedCancelled(
    entity: Entity,
    from: { after: ChangePosition } | { since: string | null },
    limit: number,
  ): Promise<{ keys: string[]; last: ChangePosition | null; more: boolean }>;
  sourceEnd(entity: Entity): Promise<SourceEnd>;
  /** How many eligible rows there are; of customers with `send: referenced`, those that an eligible order names. */
  count(entity: Entity, filter?: RowFilter): Promise<number>;
  /** How many pending orders `orders.startFrom` keeps out: for go-live. */
  countExcludedByStartFrom(): Promise<number>;
  /** What identifies the database that is read (host and database, or the file), for go-live. */
  identity(): string;
  close(): Promise<void>;
}

/** The sections of the settings that say how an ERP is read. Passwords are resolved already. */
export interface ErpSource {
  erp: ErpSettings;
  customers: CustomersSettings;
  orders: OrdersSettings;
  amounts: AmountsSettings;
}
