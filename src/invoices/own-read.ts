import type { ReadInvoiceEndpoint } from '../config/invoices-settings.js';
import type { Invoice } from '../model/invoice.js';
import { valueAt } from '../model/value-at.js';
import type { MissedInvoice } from './missed-invoices.js';
import { readInvoice } from './read-invoice.js';

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
