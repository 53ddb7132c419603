import type { Invoice } from '../../model/record.js';
import { orNotFound, Refusal } from './answer.js';
import type { Endpoint, Endpoints } from './handle-request.js';
import type { SandboxOptions } from './options.js';
import { checkParameters } from './request-rules.js';
import type { SandboxState } from './state.js';

const PAYMENT_TERM_MS = 30 * 24 * 60 * 60 * 1000;
/** Page size of a request without `limit`. */
const DEFAULT_PAGE_SIZE = 50;

/** The date, YYYY-MM-DD, on which an invoice made now is due. */
export function dueDate({ utcOffsetMinutes }: SandboxOptions, nowMs: number): string {
  return new Date(nowMs + utcOffsetMinutes * 60_000 + PAYMENT_TERM_MS).toISOString().slice(0, 10);
}

/** An invoice as the service shows it, without its place in the list. */
export function showInvoice({ invoice_no, customer_code, amount, due_date, status }: Invoice): Invoice {
  return { invoice_no, ...(customer_code === undefined ? {} : { customer_code }), amount, due_date, status };
}

/** An edit by somebody else before an invoice or a page of them is read: pays one, adds one, or moves one in the list. */
function changeInvoices({ options, invoices, invoiceLog, invoiceRandom: random, webhooks }: SandboxState): void {
  // A whole number whose mean is the one that was set.
  const changes = Math.floor(options.invoiceChanges + random());
  for (let i = 0; i < changes; i++) {
    const unpaid = invoices.page({ status: 'unpaid' }, 0, 0).total;
    const [one] = invoices.page({ status: 'unpaid' }, Math.floor(random() * unpaid), 1).data;
    const dice = random();
    if (dice < 0.35 || !one) {
      const amount = 1 + Math.floor(random() * 100_000);
      const added = invoices.add({ amount, due_date: dueDate(options, options.nowMs()), status: 'unpaid' });
      invoiceLog.push({ invoiceNo: added.invoice_no, status: 'unpaid' });
    } else if (dice < 0.7) {
      invoices.setStatus(one.invoice_no, 'paid');
      invoiceLog.push({ invoiceNo: one.invoice_no, status: 'paid' });
      if (options.webhooks) webhooks.announce(options, 'payment.succeeded', { invoice_no: one.invoice_no });
    } else invoices.move(one.invoice_no, random());
  }
}

const listInvoices: Endpoint = (state, { query }) => {
  checkParameters(query, ['status', 'customer_code', 'limit', 'page']);
  const { firstPage, maxPageSize, largePages } = state.options;
  const asked = integer(query, 'limit', 1) ?? Math.min(DEFAULT_PAGE_SIZE, maxPageSize);
  if (asked > maxPageSize && largePages === 'refuse') {
    throw new Refusal(400, 'invalid_parameter', `limit must not be more than ${maxPageSize}`);
  }
  const limit = Math.min(asked, maxPageSize);
  const page = integer(query, 'page', firstPage) ?? firstPage;
  const filter = { status: query.get('status') ?? undefined, customer_code: query.get('customer_code') ?? undefined };
  changeInvoices(state);
  const { data, total } = state.invoices.page(filter, (page - firstPage) * limit, limit);
  return { status: 200, body: { data: data.map(showInvoice), page, total } };
};

const readInvoice: Endpoint = (state, { id }) => {
  changeInvoices(state);
  return { status: 200, body: showInvoice(orNotFound(state.invoices.get(id), 'There is no such invoice')) };
};

function integer(query: URLSearchParams, name: string, least: number): number | null {
  const text = query.get(name);
  if (text === null) return null;
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text) || value < least) {
    throw new Refusal(400, 'invalid_parameter', `${name} must be an integer from ${least}`);
  }
  return value;
}

export const invoiceEndpoints: Endpoints = {
  'GET /v2/invoices': listInvoices,
  'GET /v2/invoices/:id': readInvoice,
};
