import type { ReadInvoiceEndpoint } from '../config/invoices-settings.js';
import { parseJson } from '../delivery/parse-json.js';
import type { MissedInvoice } from '../invoices/missed-invoices.js';
import { type OwnRead, readOwnInvoice } from '../invoices/own-read.js';
import type { Question } from './pull-questions.js';

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
