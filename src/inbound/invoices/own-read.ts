import type { ReadInvoiceEndpoint } from '../../config/sections/service-endpoints.js';
import type { Invoice } from '../../model/record.js';
import { valueAt } from '../../model/value-at.js';
import type { Question } from '../../outbound/deliver/pull-questions.js';
import { parseJson } from '../../service/parse-json.js';
import type { Tx } from '../../store/store.js';
import { readInvoice } from './invoice-page.js';
import { listIsProven } from './swap-invoices.js';

/** What an invoice's own read says: money is due, or it has left, with its state in the service's words, or nothing (`odd` says why). */
export type OwnRead = { due: Invoice } | { left: string | null } | { odd: string };

/**
 * Reads the answer to the question for one invoice. Pure.
 * @param states those that mean that money is due
 */
export function readOwnInvoice(
  endpoint: ReadInvoiceEndpoint,
  states: readonly string[],
  known: MissedInvoice,
  status: number,
  body: unknown,
): OwnRead {
  // A page for people, or nothing at all, may come from a gateway that has lost the service behind it.
  if (status === endpoint.absentStatus)
    return isObject(body) ? { left: null } : { odd: `HTTP ${status}, without the JSON in which the service says why` };
  const value = endpoint.field === undefined ? body : valueAt(body, endpoint.field);
  if (valueAt(value, 'invoice_no') !== known.invoiceNo) return { odd: `the answer is not about ${known.invoiceNo}` };
  const said = valueAt(value, 'status');
  // The state with which it stands on the list, whatever it is called, is one in which it is due. Of what is not, the amount no longer matters.
  const isListedSo = said === known.status && !known.isOffList;
  if (typeof said === 'string' && said !== '' && !isListedSo && !states.includes(said))
    return { left: said.slice(0, 64) };
  const invoice = readInvoice(value);
  if (typeof invoice === 'string') return { odd: invoice };
  const customer = invoice.customer_code ?? known.customerCode;
  return { due: customer === null ? invoice : { ...invoice, customer_code: customer } };
}

/** Whether it says that there is no such invoice: of any address that leads elsewhere the same is said. */
export function isAbsent(said: OwnRead): boolean {
  return 'left' in said && said.left === null;
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The question for one invoice by its number; what is kept of the answer is the asker's business. */
export function invoiceQuestion(
  endpoint: ReadInvoiceEndpoint,
  states: readonly string[],
  known: MissedInvoice,
): Omit<Question<OwnRead>, 'keep'> {
  const { invoiceNo } = known;
  return {
    purpose: 'read_invoice',
    path: endpoint.path.replaceAll('{invoice_no}', () => encodeURIComponent(invoiceNo)),
    query: {},
    answers: [endpoint.successStatus, endpoint.absentStatus],
    read: (status, body) => readOwnInvoice(endpoint, states, known, status, parseJson(body)),
    detail: { invoiceNo },
  };
}

export interface MissedInvoice {
  invoiceNo: string;
  customerCode: string | null;
  /** Its state when it was listed last. */
  status: string;
  /** It is proven that it is not on the list any more. */
  isOffList: boolean;
}

/** Listed invoices that the pull in the making did not meet, the longest missed first. */
export async function missedInvoices(tx: Tx, limit: number): Promise<MissedInvoice[]> {
  const rows = await tx.select<{ invoice_no: string; customer_code: string | null; status: string; is_proven: number }>(
    `SELECT invoice_no, customer_code, status, CASE WHEN ${listIsProven} THEN 1 ELSE 0 END AS is_proven FROM invoice WHERE unlisted_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM invoice_staging s WHERE s.invoice_no=invoice.invoice_no)
      ORDER BY CASE WHEN missed_at IS NULL THEN 1 ELSE 0 END, missed_at, invoice_no LIMIT ${Math.trunc(limit)}`,
  );
  return rows.map((row) => ({
    invoiceNo: row.invoice_no,
    customerCode: row.customer_code,
    status: row.status,
    isOffList: Number(row.is_proven) === 1,
  }));
}

/** Some invoice that the pull in the making met on the list; null: there is none. */
export async function metInvoice(tx: Tx): Promise<MissedInvoice | null> {
  const [row] = await tx.select<{ invoice_no: string; customer_code: string | null; status: string }>(
    `SELECT invoice_no, customer_code, status FROM invoice_staging
      WHERE invoice_no IS NOT NULL AND list_state<>'' AND is_newest=1 AND malformed IS NULL ORDER BY invoice_no DESC LIMIT 1`,
  );
  if (!row) return null;
  return { invoiceNo: row.invoice_no, customerCode: row.customer_code, status: row.status, isOffList: false };
}
