import type { Settings } from '../config/settings.js';
import type { ErpRow } from '../db/erp-database.js';
import type { LeftFact } from '../model/facts/records.js';
import type { RowProblems } from '../model/facts/rows.js';
import type { CustomerRecord, Entity, OrderRecord } from '../model/record.js';

export { ErpError } from '../db/erp-failures.js';

/** A position among the changes: the change cursor as the database wrote it, and the key parts. Both are text. */
export interface ChangePosition {
  changedAt: string;
  key: string[];
}

/** The position to read on from: strictly after a position, or from a change cursor on (null: from the beginning). */
export type ChangedFrom = { after: ChangePosition } | { since: string | null };

/** An ERP row as a record to send, or the reason why it can't be one. */
export type MappedContent<R> =
  | { mapped: true; record: R }
  /** Equal rows have equal fingerprints. */
  | { mapped: false; problems: RowProblems; fingerprint: string };

interface ReadBase {
  /** The primary key as text, see `formatSourceKey`. */
  sourceKey: string;
  /** The change cursor as the database wrote it; null when the mapping has none or the row holds NULL. */
  changedAt: string | null;
  /** The same as an instant, in milliseconds since 1970; null when the column holds no times. */
  changedAtMs: number | null;
  /** Seconds since changedAt by the ERP's own clock, negative for the future; null when unknown. */
  ageSeconds: number | null;
  /** The key of the record that it says it goes on for; null or absent: of none. */
  replaces?: string | null;
  /** The row as the query yields it, for people (`RowFilter.forPeople`). */
  row?: ErpRow;
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
  /** Source key of the customer; null where customers are not sent or the column is NULL. */
  customerKey: string | null;
  content: MappedContent<OrderRecord>;
  /** Its date in erp.timeZone, by the column that `--from` and `--to` go by; null: none holds a time. For people. */
  day?: string | null;
  /** ISO 4217 code of its amounts, where the mapping names a column and the code is one that may be sent. */
  currency?: string;
  /** The number of lines that `orders.lines.text` leaves out; absent: none. */
  skippedLines?: number;
  /**
   * Both totals in minor units as decimal text, when the mapping names a total column and the lines could be read.
   * The caller compares them: an order whose lines don't add up yet may only need time.
   */
  totals: { lines: string; header: string } | null;
  /** The number of rows of the query with its key, if it can't be sent because several have it; absent: one. */
  rowsOfKey?: number;
  /** The rows of its lines as their query yields them, for people. */
  lineRows?: readonly ErpRow[];
}

export type ReadRow<E extends Entity> = E extends 'order' ? ReadOrder : ReadCustomer;

export interface ErpPage<T> {
  rows: T[];
  /** Customers of the orders on this page, read in the same snapshot. Empty when customers are not sent. */
  customers: ReadCustomer[];
  /** Position of the last row, or null when the page was empty. */
  last: ChangePosition | null;
  /** false when the source had no more rows after this page. */
  more: boolean;
}

/** A filter for `resync` and `--key`. [from, to) are wall times in erp.timeZone of the startFrom column, else changedAt. */
export interface RowFilter {
  keys?: string[];
  from?: string;
  to?: string;
  /** Also rows that may not be sent (any more). */
  anyStanding?: boolean;
  /** With each row what only people look at. A pass over everything is much faster where no page has to keep it. */
  forPeople?: boolean;
}

/** Which of some keys the ERP still has, and which are cancelled; null: not asked, because nothing follows. */
export interface Presence {
  existing: Set<string> | null;
  /** The key of the row that answers to an existing one which no row spells so; null: it can't be asked for. Absent: none. */
  answeredBy?: Map<string, string | null>;
  cancelled: Set<string>;
  /** Orders that are not pending, though nothing says that they are cancelled or completed, and what their row says; absent: not asked. */
  left?: Map<string, LeftFact>;
}

/**
 * Tells if the ERP has the row of a known key beside the one of a new key. A column that got another type may call both
 * keys equal, so that the new row answers to the known key, or hold the known key no more.
 */
export function isStillThere({ existing, answeredBy }: Presence, known: string, newKey: string): boolean {
  if (existing === null) return true;
  const answer = answeredBy?.get(known);
  return existing.has(known) && answer !== null && answer !== newKey;
}

/** A row that people know by the name of another record: the number of an order, the code of a customer. */
export interface Namesake {
  sourceKey: string;
  /** The columns that never change, as JSON; null when there are none. */
  identity: string | null;
}

/** The number of rows of a query, and of those left after each condition of the settings. */
export interface Funnel {
  /** The setting of the query. */
  query: string;
  rows: number;
  steps: { setting: string; demand: string; left: number }[];
}

interface ExcludedByStart {
  older: number;
  /** Orders whose column of `startFrom` is NULL: nothing tells how old they are. */
  withoutStart: number;
}

/** A row that was asked for by its key, eligible or not, and the conditions that it does not meet. */
export interface Standing {
  sourceKey: string;
  replaces: string | null;
  row: ErpRow;
  unmet: { setting: string; demand: string }[];
}

/** The end of the whole source, eligible or not. Both values only ever grow, unless the ERP was restored. */
export interface SourceEnd {
  isEmpty: boolean;
  /** The highest change cursor as the database wrote it. */
  changedAt: string | null;
  /** The highest key; null where keys are texts or composite, which have no order in time. */
  key: string | null;
}

/** The only door to the ERP's tables. Every read is one consistent snapshot of header, lines and customers. */
export interface ErpReader {
  /** Each source's own reader by its name, the default one first; absent: this reads one source. */
  bySource?: ReadonlyMap<string, ErpReader>;
  /** Runs each query for no rows and checks every column that the mapping names. @throws ErpError that lists all faults */
  check(): Promise<void>;
  /** The ERP's clock, in the frame and the text form of the entity's changedAt column; null when there is none. */
  nowAsChangedAt(entity: Entity): Promise<string | null>;
  /** Eligible rows in (changedAt, key) order; none where the mapping has no changedAt, or this kind is not sent. */
  readChanged<E extends Entity>(entity: E, from: ChangedFrom, limit: number): Promise<ErpPage<ReadRow<E>>>;
  /** Eligible rows in key order, strictly after the key: sweeps, and resync with a filter. `last.changedAt` is '' here. */
  sweep<E extends Entity>(
    entity: E,
    afterKey: string[] | null,
    limit: number,
    filter?: RowFilter,
  ): Promise<ErpPage<ReadRow<E>>>;
  /**
   * Looks these keys up, eligible or not, to find cancelled and deleted records. A record is found as well where the
   * database has its key in another spelling that it calls equal; a key that can't be asked for counts as existing.
   * @param asksExistence also where nothing follows when a record is gone
   */
  presence(entity: Entity, keys: readonly string[], asksExistence?: boolean): Promise<Presence>;
  /** Those of these keys whose rows may be sent now. A key that can't be asked for counts as one. */
  eligible(entity: Entity, keys: readonly string[]): Promise<Set<string>>;
  /** Rows with the names of these records, by the key of the record, whether they may be sent or not. */
  namesakes(entity: Entity, names: ReadonlyMap<string, string>): Promise<Map<string, Namesake[]>>;
  /**
   * The keys of all rows that the database holds equal to each of these, pending or not, in the spelling of the row. Keys that
   * can't be asked for are left out.
   */
  equalKeys(entity: Entity, keys: readonly string[]): Promise<Map<string, string[]>>;
  /** Keys of cancelled rows in (changedAt, key) order, eligible or not. */
  readChangedCancelled(
    entity: Entity,
    from: ChangedFrom,
    limit: number,
  ): Promise<{ keys: string[]; last: ChangePosition | null; more: boolean }>;
  sourceEnd(entity: Entity): Promise<SourceEnd>;
  /** Counts the eligible rows; of customers with `send: referenced`, those that an eligible order names. */
  count(entity: Entity, filter?: RowFilter): Promise<number>;
  /** Eligible rows with a NULL in their key: no other method yields them, because nothing tells one from another. */
  countWithoutKey(entity: Entity): Promise<number>;
  /** The number of pending orders that `orders.startFrom` keeps out: for go-live. */
  countExcludedByStartFrom(): Promise<ExcludedByStart>;
  /** The number of rows, and of those left after each condition; null if records of this kind are not sent. */
  funnel(entity: Entity): Promise<Funnel | null>;
  /** The rows with these keys, eligible or not, and what each of them lacks. */
  standing(entity: Entity, keys: readonly string[]): Promise<Standing[]>;
  /** The database that is read (host and database, or the file), for go-live. */
  identity(): string;
  close(): Promise<void>;
}

/** The sections of the settings that say how an ERP is read. Passwords are resolved already. */
export type ErpSource = Pick<Settings, 'erp' | 'customers' | 'orders' | 'amounts' | 'source'>;
