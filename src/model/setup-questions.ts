/**
 * Questions of set-up and the evidence beside each answer. They are data, so that a terminal and a page can ask the same ones;
 * `words/en/setup.ts` has the sentences.
 */

export const setupSteps = ['orders', 'lines', 'customer', 'money', 'finish'] as const;
export type SetupStep = (typeof setupSteps)[number];

/** A value with how many rows hold it. `words`: its name in the table that the column points to. */
export interface CountedValue {
  /** As the database writes it; null for NULL. */
  value: string | null;
  count: number;
  words?: string;
}

/** An order whose lines do not come to its total, in the unit of the currency. */
export interface OrderDifference {
  order: string;
  lines: string;
  total: string;
}

/** The evidence that the data gives for a candidate. */
export type Evidence =
  /** Rows of a table, or the first of them; null: a view, which is not counted. */
  | { of: 'rows'; rows: number | null; isAll: boolean }
  | { of: 'key_of'; table: string }
  | { of: 'different'; different: number; rows: number }
  | { of: 'keys_found'; found: number; looked: number }
  /** Rows in which a text of the order is the same as one of its customer, such as the e-mail. */
  | { of: 'same'; own: string; other: string; same: number; compared: number }
  | { of: 'range'; low: string | null; high: string | null }
  | { of: 'filled'; filled: number; rows: number; different: number; samples: readonly string[] }
  | { of: 'newest'; value: string; minutesAgo: number | null; timeZone: string | null }
  | { of: 'values'; values: readonly CountedValue[] }
  | { of: 'count'; count: number; words?: string; isInAnyState: boolean }
  | { of: 'sum'; sum: MoneySum; total: string; agreeing: number; compared: number }
  | { of: 'no_agreement'; hasTotals: boolean }
  | { of: 'agrees'; agreeing: number; compared: number; apart: string; differing: readonly OrderDifference[] }
  | { of: 'meaning'; meaning: 'percent' | 'fraction' | 'none' }
  | { of: 'title'; title: string }
  /** The orders have a column of the same name. */
  | { of: 'shared'; column: string };

/** The money of a line: a price for one or the amount, less a discount. */
export interface MoneySum {
  role: 'line.price' | 'line.amount';
  column: string;
  qty: string;
  discount: { column: string; unit: 'percent' | 'fraction' } | null;
}

export interface Candidate {
  /** As a person types it. */
  value: string;
  evidence: readonly Evidence[];
}

/** The question's subject, as far as the sentence needs it. */
export interface QuestionAbout {
  table?: string;
  other?: string;
  column?: string;
  columns?: readonly string[];
  /** Candidates that are not listed. */
  hidden?: number;
  priced?: number;
  texts?: number;
  orders?: number;
  rows?: number;
  title?: string;
  startsByKey?: boolean;
}

export interface SetupQuestion {
  step: SetupStep;
  /** The flag that answers it, without its dashes. */
  flag: string;
  /** The role of the column, where the flag is --column. */
  role?: string;
  about: QuestionAbout;
  /** In the order of plain evidence. None of them is chosen. */
  candidates: readonly Candidate[];
  /** A name that set-up made up, not a guess about the ERP. */
  suggestion?: string;
  /** Takes several answers, one after the other; `none` ends the list. */
  isList?: boolean;
  /** Without an answer, nothing of it is used. */
  isOptional?: boolean;
}

/** Problem with an answer. */
export type SetupProblem =
  | { code: 'no_such_table' }
  | { code: 'same_table' }
  | { code: 'no_such_column'; table: string; columns: readonly string[] }
  | { code: 'no_column_of_numbers' }
  | { code: 'no_key'; of: string; in: string; columns: readonly string[] }
  | { code: 'no_unique_key'; columns: readonly string[] }
  | { code: 'not_offered'; offered: readonly string[] }
  | { code: 'unknown_values'; values: readonly string[]; there: readonly string[]; of: 'row' | 'order' }
  | { code: 'no_numbers'; values: readonly string[] }
  | { code: 'no_column_values'; example: string }
  | { code: 'no_role_value'; example: string }
  | { code: 'no_dates'; table: string; column: string }
  | { code: 'no_date' }
  | { code: 'no_start_key'; column: string }
  | { code: 'no_currency' }
  | { code: 'no_time_zone' }
  | { code: 'no_installation' }
  | { code: 'sku_out_of_reach'; table: string }
  | { code: 'one_of_both'; other: string }
  | { code: 'empty_column'; column: string }
  | { code: 'also_sent'; value: string }
  | { code: 'no_use'; because: 'no_unclear_unit' | 'not_asked' | 'no_company' }
  | { code: 'of_known'; title: string }
  | { code: 'of_unknown'; by: 'column' | 'preset' }
  | { code: 'columns_known' }
  | { code: 'not_that_erp' }
  | { code: 'no_prefix'; there: readonly { title: string; prefix: string }[] };

/** A fact that set-up tells beside the settings: they follow from it, or it stays unused. */
export type SetupNote =
  | { code: 'tables'; names: readonly string[] }
  | {
      code: 'money';
      sum: MoneySum;
      total: string;
      agreeing: number;
      compared: number;
      differing: readonly OrderDifference[];
    }
  | { code: 'other_total'; total: string; agreeing: number; compared: number; apart: string }
  | { code: 'no_total'; isThere: boolean; table: string }
  | { code: 'not_used'; flag: 'orders-with' | 'lines-with'; column: string; values: readonly CountedValue[] }
  | { code: 'state_without_orders'; flag: string; column: string; values: readonly string[] }
  | { code: 'no_sku'; table: string }
  | { code: 'other_parties'; own: string; other: string; same: number; compared: number }
  | { code: 'keys_unresolved'; column: string; table: string; found: number; looked: number }
  | { code: 'currency'; currency: string; orders: number }
  | { code: 'time_zone'; timeZone: string; title: string }
  | { code: 'pending'; condition: string; meaning: string; title: string }
  | { code: 'total_left_out'; total: string; differing: number; compared: number }
  | { code: 'text_lines'; priced: number; texts: number };

/** Answers by question: the role of a column, else the flag. A list has several. */
export type SetupAnswers = ReadonlyMap<string, readonly string[]>;

/** The roles of columns that a person can name. */
export const columnRoles = [
  ...[
    'order.number',
    'order.created',
    'order.changedAt',
    'order.status',
    'order.customer',
    'order.total',
    'order.currency',
  ],
  ...['line.order', 'line.sku', 'line.position', 'line.qty', 'line.price', 'line.amount', 'line.discount'],
  ...['customer.key', 'customer.code', 'customer.name', 'customer.email', 'customer.phone', 'customer.street'],
  ...['customer.postcode', 'customer.city', 'customer.country', 'customer.changedAt'],
] as const;
