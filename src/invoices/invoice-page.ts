import { z } from 'zod';
import type { Invoice } from '../model/invoice.js';

/** One page of the service's list. Invoices that make no sense are set aside, with the reason. */
export interface InvoicePage {
  invoices: Invoice[];
  malformed: { invoiceNo: string | null; reason: string }[];
  /** Rows on the page, well-formed or not. */
  rows: number;
  /** How many invoices match in all, as the service says. */
  total: number;
}

const page = z.object({ data: z.array(z.unknown()), total: z.number().int().min(0) });

const invoice = z.object({
  invoice_no: z.string().min(1).max(255),
  // Services write null for "none".
  customer_code: z
    .string()
    .max(255)
    .nullish()
    .transform((code) => code ?? undefined),
  amount: z.number().int().safe(),
  due_date: z.iso.date(),
  status: z.string().min(1).max(64),
});

/** Reads the JSON of a page. @returns a text that says what is wrong when it is no page at all */
export function readInvoicePage(value: unknown): InvoicePage | string {
  const parsed = page.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return `${issue?.path.join('.') || 'the body'}: ${issue?.message}`;
  }
  const result: InvoicePage = { invoices: [], malformed: [], rows: parsed.data.data.length, total: parsed.data.total };
  for (const row of parsed.data.data) {
    const one = invoice.safeParse(row);
    if (one.success) result.invoices.push(one.data as Invoice);
    else {
      const issue = one.error.issues[0];
      const number = (row as { invoice_no?: unknown } | null)?.invoice_no;
      result.malformed.push({
        invoiceNo: typeof number === 'string' ? number : null,
        reason: `${issue?.path.join('.') || 'the invoice'}: ${issue?.message}`,
      });
    }
  }
  return result;
}
