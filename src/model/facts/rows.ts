import type { Outside } from '../outside.js';
import type { FactOf } from './fact-of.js';

/** A problem of one of an order's lines names the line, counted from 1. */
interface OfLine {
  line?: number;
}

/** A column and what it holds. */
interface Found extends OfLine {
  column: string;
  value: Outside;
}

/** Currency of an order's amounts, and its decimal places. */
export interface Currency {
  currency: string;
  scale: number;
}

/** A column that gives no value, and why: it is empty, holds no text once it is cleaned, or a stand-in for "no date". */
export interface EmptyColumn {
  column: string;
  value: Outside | 'nothing' | 'no_text';
}

/** A line's quantity × price, less its discount. */
export interface LineProduct {
  qty: Outside;
  /** Null: every column of the price is empty. */
  column: string | null;
  price: Outside;
  discount?: { column: string; value: Outside };
}

/** The amount of a line: its own column of amounts says so, or its product. Decimal text. */
export type LineAmount = { amount: string } & ({ column: string } | { product: LineProduct });

/** Problems of a row that keep it from becoming a record, or its record from being sent. */
export interface RowFacts {
  /** No column of a field gives a value. `columns`: at most 5. */
  value_missing: OfLine & { field: string; columns: readonly EmptyColumn[]; mayBeOptional: boolean };
  /** Bytes that are not text. */
  not_text: OfLine & { column: string };
  /** `special`: a value that databases keep among numbers, such as NaN. */
  not_a_number: Found & { special?: string };
  not_whole: Found;
  /** An amount with more decimals than its currency has. */
  too_many_decimals: Found & { scale: number; of: 'price' | 'amount' | 'total' };
  /** A number that programs would round on its way. */
  number_too_large: Found;
  not_a_date: Found;
  neither_yes_nor_no: Found;
  /** `setting`: the words of the service for the codes of the column. */
  code_without_word: Found & { setting: string };
  text_too_long: OfLine & { column: string; length: number; maxLength: number };
  /** The customer's code or the order's number, which are never cut. */
  name_too_long: { name: 'customer_code' | 'number'; length: number; maxLength: number };
  unit_without_factor: Found;
  quantity_not_whole: OfLine & { qty: Outside; unit: Outside | null; factor: string };
  /** `column` is null where the quantity is made from several columns, or worked out. */
  quantity_not_positive: OfLine & { column: string | null; value: Outside; isZero: boolean };
  discount_out_of_range: Found & { most: number };
  product_too_many_decimals: OfLine & LineProduct & { scale: number };
  product_too_large: OfLine & LineProduct;
  /** A price that differs from the amount of its line. `amountColumn` holds `amount`, decimal text. */
  price_differs: OfLine & LineProduct & { amountColumn: string; amount: string };
  /** No whole price comes to the amount; `price` comes nearest, with `comesTo`. All decimal text. */
  no_price_for_amount: OfLine & { of: LineAmount; qty: string; price: string; comesTo: string };
  currency_missing: { column: string };
  /** `known`: the first 5 of `currencies`. */
  currency_not_listed: { column: string; value: Outside; known: readonly string[]; currencies: number };
  /** The columns of the customer's key are empty. */
  customer_not_named: { columns: readonly string[] };
  /** `customers.query` has no such customer, or `customers.pending` leaves it out. */
  customer_not_found: { customer: string; mayBeLeftOut: boolean };
  /** `because`: the first of the `problems` of its customer. */
  customer_not_sendable: { customer: string; problems: number; because?: RowFact };
  /** `texts`: lines that `orders.lines.text` skips. */
  no_lines: { texts: number };
  /** The sum of the lines in minor units. `scale`: decimal places of its currency; an older version noted none. */
  lines_too_large: { sum: string; scale?: number };
  /** Minor units: what the lines add up to, and what the order says. */
  lines_total_differs: { found: string; expected: string } & Currency;
  /** The order looks as it does since just now, and has no total that would prove its lines complete. */
  lines_may_follow: { settleSeconds: number };
  /** `setting`: the query that yields so many rows with one key. */
  key_repeated: { setting: string; rows: number };
  key_empty: { setting: string };
  /** The ERP calls these keys equal, so that nobody knows which of its rows was captured as which. At most 5 each. */
  key_ambiguous: { equal: readonly string[]; known: readonly string[] };
  /** `setting`: the rule of the service that the record breaks. */
  field_required: OfLine & { field: string; setting: string };
  field_too_long: OfLine & {
    field: string;
    length: number;
    unit: 'characters' | 'entries';
    maxLength: number;
    setting: string;
  };
  body_too_large: { bytes: number; maxBytes: number };
  /** The first 5 of the problems of one row. */
  several_problems: { problems: readonly RowFact[]; count: number };
}
export type RowFact = FactOf<RowFacts>;
/** One problem or more. */
export type RowProblems = readonly [RowFact, ...RowFact[]];

const kept = 5;

/** The problems of a row as one fact. */
export function rowFact([first, ...others]: RowProblems): RowFact {
  if (others.length === 0) return first;
  return { code: 'several_problems', problems: [first, ...others].slice(0, kept), count: others.length + 1 };
}

/** The first of a list, as facts keep them. */
export const firstFew = <T>(list: readonly T[]): readonly T[] => list.slice(0, kept);
