import { z } from 'zod';
import type { Invoice } from '../model/invoice.js';

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

/** Reads the JSON of an invoice. @returns a text that says what is wrong with it */
export function readInvoice(value: unknown): Invoice | string {
  const parsed = invoice.safeParse(value);
  if (parsed.success) return parsed.data as Invoice;
  const issue = parsed.error.issues[0];
  return `${issue?.path.join('.') || 'the invoice'}: ${issue?.message}`;
}
