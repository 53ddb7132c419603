import type { Endpoint } from './call.js';
import { changeInvoices } from './change-invoices.js';
import { Refusal } from './refusal.js';
import { showInvoice } from './show-invoice.js';

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
