import type { Invoice } from '../../model/record.js';
import { Refusal } from './answer.js';
import type { Endpoint } from './call.js';
import { dateAt } from './record-store.js';
import type { SandboxState } from './state.js';

/** Tells whoever asked for webhooks that something happened; what it is now, they have to read. */
export function announceChange({ options, webhooks }: SandboxState, type: string, data: Record<string, string>): void {
  if (options.webhooks) webhooks.announce(options.webhooks, type, data, options.nowMs());
}

const dayMs = 24 * 60 * 60 * 1000;

/** What somebody else does before an invoice or a page of them is read: pays one, adds one, or changes their order. */
export function changeInvoices(state: SandboxState): void {
  const { invoiceChanges, nowMs, paymentTermDays, utcOffsetMinutes } = state.options;
  const random = state.invoiceRandom;
  // A whole number whose mean is the one that was set.
  const changes = Math.floor(invoiceChanges + random());
  for (let i = 0; i < changes; i++) {
    const unpaid = state.invoices.page({ status: 'unpaid' }, 0, 0).total;
    const [one] = state.invoices.page({ status: 'unpaid' }, Math.floor(random() * unpaid), 1).data;
    const dice = random();
    if (dice < 0.35 || !one) {
      const dueDate = dateAt(nowMs() + paymentTermDays * dayMs, utcOffsetMinutes);
      const added = state.invoices.add({
        amount: 1 + Math.floor(random() * 100_000),
        due_date: dueDate,
        status: 'unpaid',
      });
      state.invoiceLog.push({ invoiceNo: added.invoice_no, status: 'unpaid' });
    } else if (dice < 0.7) {
      state.invoices.setStatus(one.invoice_no, 'paid');
      state.invoiceLog.push({ invoiceNo: one.invoice_no, status: 'paid' });
      announceChange(state, 'payment.succeeded', { invoice_no: one.invoice_no });
    } else state.invoices.move(one.invoice_no, random());
  }
}

/** An invoice as the service shows it, without what only its list needs. */
export function showInvoice({ invoice_no, customer_code, amount, due_date, status }: Invoice): Invoice {
  return { invoice_no, ...(customer_code === undefined ? {} : { customer_code }), amount, due_date, status };
}

const parameters = new Set(['status', 'customer_code', 'limit', 'page']);

export const listInvoices: Endpoint = (state, call) => {
  const { firstPage, defaultPageSize, maxPageSize } = state.options;
  for (const name of call.query.keys()) {
    if (!parameters.has(name)) throw new Refusal(400, 'invalid_parameter', `${name.slice(0, 80)} is not a parameter`);
  }
  const limit = Math.min(integer(call.query.get('limit'), 'limit', 1) ?? defaultPageSize, maxPageSize);
  const page = integer(call.query.get('page'), 'page', firstPage) ?? firstPage;
  const filter = {
    status: call.query.get('status') ?? undefined,
    customerCode: call.query.get('customer_code') ?? undefined,
  };
  changeInvoices(state);
  const { data, total } = state.invoices.page(filter, (page - firstPage) * limit, limit);
  return { status: 200, body: { data: data.map(showInvoice), page, total } };
};

export const readInvoice: Endpoint = (state, call) => {
  changeInvoices(state);
  const invoice = state.invoices.get(call.id);
  if (!invoice) throw new Refusal(404, 'not_found', 'There is no such invoice');
  return { status: 200, body: showInvoice(invoice) };
};

function integer(text: string | null, name: string, least: number): number | null {
  if (text === null) return null;
  const value = Number(text);
  if (!/^\d{1,9}$/.test(text) || value < least) {
    throw new Refusal(400, 'invalid_parameter', `${name} must be an integer from ${least}`);
  }
  return value;
}
