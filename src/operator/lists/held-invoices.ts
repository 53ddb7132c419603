import { confirmDrop } from '../../inbound/invoices/drop-brake.js';
import {
  type InvoiceSheet,
  knownInvoices,
  type ListedInvoice,
  listHeldInvoices,
} from '../../inbound/invoices/list-invoices.js';
import type { JobContext } from '../../ops/job-context.js';

/** Invoices that a brake keeps on the list: the first of them, and the count and sum of all. */
export async function heldInvoices({ store }: JobContext, most: number): Promise<InvoiceSheet> {
  return store.read('look at what is held', (tx) => listHeldInvoices(tx, most));
}

const batchSize = 500;

/** Takes those off the list that a person was shown. @returns how many left, and which stayed because a pull has met them since */
export async function dropHeldInvoices(
  context: JobContext,
  shown: readonly ListedInvoice[],
  reason: string,
): Promise<{ done: number; stayed: string[] }> {
  const numbers = shown.map(({ invoice_no }) => invoice_no);
  const done = await confirmDrop(context, numbers, reason);
  const stayed: string[] = [];
  if (done < numbers.length)
    for (let from = 0; from < numbers.length; from += batchSize) {
      const batch = numbers.slice(from, from + batchSize);
      const known = await context.store.read('name what stayed', (tx) => knownInvoices(tx, batch));
      stayed.push(...known.filter(({ unlistedAt }) => unlistedAt === null).map(({ invoiceNo }) => invoiceNo));
    }
  return { done, stayed };
}
