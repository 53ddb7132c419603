import { knownInvoices, type ListedInvoice, listHeldInvoices } from '../../inbound/invoices/list-invoices.js';
import { confirmDrop } from '../../inbound/invoices/safety-limit.js';
import { currencyScale } from '../../model/currencies.js';
import type { JobContext } from '../../ops/job-context.js';
import { action } from './action.js';

const batchSize = 500;
const shownRows = 20;
const mostInvoices = 1_000_000;

/** Takes those off the list that a person was shown. @returns how many left, and which stayed because a pull has met them since */
async function dropHeldInvoices(
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

/** Takes invoices off the list that a hold keeps there. */
export const heldInvoices = action({
  role: 'act',
  subject: 'none',
  inputs: {},
  preview: async ({ store, settings, most }) => {
    const limit = Math.min(most, mostInvoices);
    const { rows, count, sum } = await store.read('look at what is held', (tx) => listHeldInvoices(tx, limit));
    const { currency } = settings.amounts;
    const scale = settings.amounts.scale ?? currencyScale(currency) ?? 0;
    return {
      matched: count,
      count: rows.length,
      isAll: count <= rows.length,
      rows: [],
      skipped: [],
      invoices: rows.slice(0, shownRows),
      notes: count > 0 ? [{ code: 'would_unlist', invoices: count, sum, currency, scale }] : [],
      totals: async () => new Map([[currency, rows.reduce((total, { amount }) => total + BigInt(amount), 0n)]]),
      data: { held: count, sum, currency, first: rows.slice(0, shownRows) },
      act: async (context, { reason }) => {
        const { done, stayed } = await dropHeldInvoices(context, rows, reason);
        const left = stayed.map((key) => ({
          entity: null,
          key,
          number: null,
          why: { code: 'invoice_listed_again' } as const,
        }));
        return { done, left };
      },
    };
  },
});
