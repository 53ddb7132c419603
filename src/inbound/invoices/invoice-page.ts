import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { InvoicesSettings } from '../../config/sections/invoices.js';
import type { ListFact } from '../../model/facts/lists.js';
import { outside } from '../../model/outside.js';
import type { Invoice } from '../../model/record.js';
import { valueAt } from '../../model/record.js';
import { secretMark } from '../../model/redact.js';
import { Unusable } from '../../model/verdict.js';
import { amount, isDecimal } from '../../service/amount.js';
import type { AnswerPlaces } from '../../service/failure-mark.js';
import { namesNextPage } from '../../service/more-pages.js';

/**
 * PostgreSQL keeps no NUL, and no store half of a pair; U+FFFD stands where bytes were no UTF-8. Two names that differ there
 * would become one.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what must not be there
const unfit = /[\u0000\ufffd\p{Surrogate}]/u;

/** A name that holds our credential can be kept neither as it is nor without it. */
const name = z
  .string()
  .max(255)
  .refine(
    (given) => !unfit.test(given),
    'holds NUL, half of a character, or U+FFFD in place of bytes that are no UTF-8',
  )
  .refine((given) => !given.includes(secretMark), 'holds our credential');

const invoice = z.object({
  invoice_no: name.min(1),
  // Services write null for "none".
  customer_code: name.nullish().transform((code) => code ?? undefined),
  amount,
  due_date: z.iso.date(),
  status: z.string().min(1).max(64),
});

/** The fault of a row. */
export type RowFact = Extract<
  ListFact,
  {
    code:
      | 'unusable_invoice_field'
      | 'invoice_of_other_customer'
      | 'invoice_of_other_currency'
      | 'invoice_number_shared';
  }
>;

/**
 * Reads the JSON of an invoice. A row that names its currency is not taken for one in another.
 * @param currency that of all amounts
 * @returns a fact that says what is wrong with it
 */
export function readInvoice(value: unknown, currency: string): Invoice | RowFact {
  const parsed = invoice.safeParse(value);
  if (parsed.success) {
    const named = valueAt(value, 'currency') ?? currency;
    if (typeof named === 'string' && named.trim().toUpperCase() === currency) return parsed.data as Invoice;
    return { code: 'invoice_of_other_currency', named: outside(String(named), 40), currency };
  }
  const issue = parsed.error.issues[0];
  return {
    code: 'unusable_invoice_field',
    place: issue?.path.join('.') || 'the invoice',
    problem: outside(issue?.message ?? ''),
  };
}

/** A row of the service's list. One that makes no sense is set aside with the reason, and counts as met. */
export type PageRow = { key: string } & ({ invoice: Invoice } | { malformed: RowFact; invoiceNo: string | null });

export interface InvoicePage {
  rows: PageRow[];
  /** The number of matching invoices, as the service says. */
  total: number;
  /** The page's own number, where it says one. */
  page: number | null;
  /** The service says that another page follows. */
  namesNext: boolean;
  /** Why the page keeps its list from being proven: it has invoices of others than who was asked for, or some without a number. */
  doubt: ListFact | null;
}

export interface PageTerms {
  fields: InvoicesSettings['paging']['fields'];
  /** The currency of all amounts. */
  currency: string;
  /** The customer whose invoices were asked for; null: everybody's. */
  customer: string | null;
}

export const invoiceAmounts: readonly string[] = ['amount'];

export function invoicePagePlaces(fields: InvoicesSettings['paging']['fields']): AnswerPlaces {
  return { values: [fields.invoices, fields.total, fields.page], id: null, amounts: invoiceAmounts };
}

/**
 * Reads the JSON of a page. An amount with a decimal point shows that the service does not count in the smallest unit: then
 * its whole amounts are not in it either, and none of the list can be read.
 * @returns what is wrong, when it is no page at all
 */
export function readInvoicePage(value: unknown, { fields, currency, customer }: PageTerms): InvoicePage | Unusable {
  if (value === undefined) return new Unusable({ code: 'page_no_json' });
  const total = valueAt(value, fields.total);
  const rows = total === 0 ? (valueAt(value, fields.invoices) ?? []) : valueAt(value, fields.invoices);
  const page = valueAt(value, fields.page);
  if (!Array.isArray(rows)) return new Unusable({ code: 'page_without_list', place: fields.invoices });
  if (!Number.isSafeInteger(total) || (total as number) < 0)
    return new Unusable({ code: 'page_without_total', place: fields.total });
  const decimal = rows.find((row) => isDecimal(valueAt(row, 'amount')));
  if (decimal !== undefined) return new Unusable(inAnotherUnit(decimal));
  const nameless = new Map<string, number>();
  const read = rows.map((row) => [row, readInvoice(row, currency)] as const);
  const strange = customer === null ? undefined : read.find(([, invoice]) => isOthers(invoice, customer))?.[0];
  return {
    rows: read.map(([row, invoice]) => readRow(row, invoice, customer, nameless)),
    total: total as number,
    page: Number.isSafeInteger(page) ? (page as number) : null,
    namesNext: namesNextPage(value),
    doubt:
      strange === undefined
        ? numberless(rows)
        : { code: 'strangers_on_page', customer: outside(String(valueAt(strange, 'customer_code'))) },
  };
}

/** Each listed invoice may be a row that says no number at all. */
function numberless(rows: readonly unknown[]): ListFact | null {
  const count = rows.filter((row) => {
    const number = valueAt(row, 'invoice_no');
    return typeof number !== 'string' || number === '';
  }).length;
  return count === 0 ? null : { code: 'invoices_without_number', count };
}

function inAnotherUnit(row: unknown): ListFact {
  const given = valueAt(row, 'invoice_no');
  const invoiceNo = name.safeParse(given).success ? outside(String(given), 255) : null;
  return { code: 'page_in_other_unit', invoiceNo, found: outside(String(valueAt(row, 'amount')), 40) };
}

/**
 * If each row carries the total (`COUNT(*) OVER ()`), a page without rows says 0, or nothing. Some services write null, or no
 * list at all, for "none".
 */
export function isPageBehindEnd(value: unknown, fields: InvoicesSettings['paging']['fields']): boolean {
  const rows = valueAt(value, fields.invoices);
  const total = valueAt(value, fields.total);
  if (Array.isArray(rows)) return rows.length === 0 && !total;
  return rows === null || (rows === undefined && Number.isSafeInteger(total));
}

function isOthers(invoice: Invoice | RowFact, customer: string | null): boolean {
  if ('code' in invoice || customer === null) return false;
  return invoice.customer_code !== undefined && invoice.customer_code !== customer;
}

/** Rows that differ in what an invoice keeps are different rows, also where they have one number. */
function contentKey({ invoice_no, customer_code, amount, due_date }: Invoice): string {
  return `#${sha256(JSON.stringify([invoice_no, customer_code, amount, due_date]))}`;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

function readRow(
  row: unknown,
  invoice: Invoice | RowFact,
  customer: string | null,
  nameless: Map<string, number>,
): PageRow {
  const number = valueAt(row, 'invoice_no');
  if (!('code' in invoice)) {
    const key = contentKey(invoice);
    if (customer === null || !isOthers(invoice, customer))
      return { key, invoice: customer === null ? invoice : { ...invoice, customer_code: customer } };
    const malformed: RowFact = {
      code: 'invoice_of_other_customer',
      customer: invoice.customer_code ?? '',
      asked: customer,
    };
    return { key, malformed, invoiceNo: invoice.invoice_no };
  }
  const isNamed = typeof number === 'string' && number !== '' && number.length <= 255 && !unfit.test(number);
  if (isNamed && !number.includes(secretMark)) return { key: `=${number}`, malformed: invoice, invoiceNo: number };
  // Without a number of its own it is known by what it holds; two alike on one page are two.
  const hash = sha256(JSON.stringify(row) ?? '');
  const nth = (nameless.get(hash) ?? 0) + 1;
  nameless.set(hash, nth);
  return { key: `?${hash}#${nth}`, malformed: invoice, invoiceNo: isNamed ? number : null };
}
