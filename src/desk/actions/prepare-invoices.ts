import { dropHeldInvoices, heldInvoices } from '../../operator/lists/browse-invoices.js';
import type { JobContext } from '../../ops/job-context.js';
import { mostAtOnce, type Prepared } from './prepare.js';

const shownRows = 20;

/** What it would be to take the invoices off the list that a brake keeps there. Writes nothing. */
export async function prepareInvoices(context: JobContext, person: string): Promise<Prepared> {
  const { rows, count } = await heldInvoices(context, mostAtOnce);
  const sum = rows.reduce((total, { amount }) => total + BigInt(amount), 0n);
  return {
    person,
    question: 'Take them off the list',
    outcomeInWords: 'No longer listed',
    count: rows.length,
    noun: ['invoice', 'invoices'],
    isAll: count <= rows.length,
    totals: new Map([[context.settings.amounts.currency, sum]]),
    rows: [],
    invoices: rows.slice(0, shownRows),
    spread: [],
    left: [],
    act: async (actingContext, reason) => {
      const { done, stayed } = await dropHeldInvoices(actingContext, rows, reason);
      const why = 'a pull has met it since, so it stays';
      return { done, left: stayed.map((key) => ({ entity: null, key, number: null, why })), reason };
    },
  };
}
