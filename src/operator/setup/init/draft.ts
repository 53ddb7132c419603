import type { CatalogueTable } from '../../../erp/catalogue.js';

/** Field of the service → how the mapping makes it. */
export type FieldDraft = string | readonly string[] | Readonly<Record<string, unknown>>;

/** The reading of an ERP, as far as its schema says it. Which orders are meant and in what money, the answers say. */
export interface Draft {
  /** The name of the schema, for people. */
  title: string;
  /** The tables that the queries name: for the grants. */
  tables: readonly CatalogueTable[];
  /** The zone of its times, where the ERP always keeps the same. */
  timeZone?: string;
  customers: {
    query: string;
    key: readonly string[];
    changedAt?: string | undefined;
    fields: Readonly<Record<string, FieldDraft>>;
  };
  orders: {
    query: string;
    key: readonly string[];
    changedAt?: string | undefined;
    customerKey: readonly string[];
    number?: string | undefined;
    total?: string | undefined;
    /** The ERP may add tax or freight to the total: it is a check only where the data says so. */
    totalMayDiffer?: boolean;
    /** A column that never changes, from which a date can be said. */
    startColumn: string;
    /** No column holds a date: `startColumn` is a key. */
    startsByKey?: boolean;
    /** Its status, where one column holds it. */
    status?: string | undefined;
    /** Column with the currency of an order. */
    currency?: string | undefined;
    /** Column with the company of an order, where one database serves several. */
    company?: string | undefined;
    /** The condition for confirmed orders, where the schema says what its codes mean; with the reason for people. */
    confirmed?: { condition: string; meaning: string } | undefined;
    /** A person's choices for an unknown schema; the data settles none of them. */
    asked?: { pending: Pending };
    cancelled?: { column: string; values: readonly (string | number)[] } | undefined;
    completed?: { column: string; values: readonly (string | number)[] } | undefined;
    onDeleted?: 'nothing' | 'delete';
    /** Column with the key of the order that this one goes on for. */
    replaces?: string | undefined;
    fields: Readonly<Record<string, FieldDraft>>;
  };
  lines: {
    query: string;
    orderKey: readonly string[];
    sortBy: readonly string[];
    fields: Readonly<Record<string, FieldDraft>>;
    amount?: string | undefined;
    discount?: { column: string; type: 'percent' | 'fraction' } | undefined;
  };
  /** Path of a setting → what a reader of the file should know about it. */
  comments: Readonly<Record<string, string>>;
}

/** Which orders may be sent: a condition or `all`, and whether a person wrote it. */
export interface Pending {
  condition: string;
  isWritten: boolean;
}

/** The answer of the person, a flag or the data. */
export interface Answers {
  installation: string;
  timeZone: string;
  currency: string;
  /** SQL condition; null: every order. */
  pending: string | null;
  /** all, or the first date or key, as the column writes it. */
  startFrom: string;
  /** The treatment of lines without a SKU; null: their order is parked. */
  textLines: 'skip' | { sku: string } | null;
}
