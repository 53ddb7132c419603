import type { Invoice } from '../model/invoice.js';

/** An invoice as the service shows it, without what only its list needs. */
export function showInvoice({ invoice_no, customer_code, amount, due_date, status }: Invoice): Invoice {
  return { invoice_no, ...(customer_code === undefined ? {} : { customer_code }), amount, due_date, status };
}
