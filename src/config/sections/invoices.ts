import { z } from 'zod';
import type { Partly, Report } from '../configuration-error.js';
import type { CustomersSettings } from './customers.js';
import { invoicePaging } from './invoice-paging.js';
import { choice, decimal, flag, group, text, whole } from './value-types.js';

export const invoicesSettings = group('How unpaid invoices are read back.', {
  enabled: flag(true, 'false: invoices are never read.'),
  states: z
    .array(text.max(64))
    .min(1)
    .max(20)
    .refine((states) => new Set(states).size === states.length, { error: 'names a state twice' })
    .default(['unpaid'])
    .describe('States that mean that money is due. The list of each is pulled.')
    .meta({ allowed: 'a list of states without repetition, such as [unpaid, overdue]' }),
  settledStates: z
    .array(text.max(64))
    .max(20)
    .default(['paid', 'cancelled', 'canceled', 'void', 'refunded'])
    .describe(
      'States that mean that no money is due any more. An invoice whose own read says another word stays listed until a proven list is without it.',
    )
    .meta({ allowed: 'a list of states, such as [paid, cancelled]' }),
  scope: choice(
    ['all', 'per-customer'],
    'all: every invoice that the service shows. per-customer: those of the delivered customers, one customer at a time.',
  ),
  pageSize: whole(1, 10_000, 'invoices')
    .default(100)
    .describe('Invoices asked for at once. A service may return fewer per page.'),
  maxPasses: whole(2, 20, 'readings')
    .default(5)
    .describe('How often one pull may read the list until two readings in a row prove it.'),
  maxListed: whole(1, 10_000_000, 'invoices')
    .default(250_000)
    .describe(
      'How many invoices the lists of one pull may hold. Of a list whose total is larger, Waybill takes what it has met, takes nothing off, and says so.',
    ),
  readsPerPull: whole(0, 1_000, 'invoices')
    .default(50)
    .describe(
      'How many invoices that left the list one pull reads by number (service.endpoints.readInvoice). The rest waits for the next pull.',
    ),
  maxDrops: whole(0, undefined, 'invoices')
    .default(10)
    .describe('So many invoices may always leave the list at once; see maxDropShare.'),
  maxDropShare: decimal(0, 1, 'of 1')
    .default(0.5)
    .describe(
      'When more than maxDrops and more than this share of the listed invoices are missing from a proven list, the list stays as it was until `waybill confirm invoices`. Invoices of which the service says a state that is not due do not count. 1: never.',
    ),
  paging: invoicePaging,
});

export type InvoicesSettings = z.output<typeof invoicesSettings>;

/** The settings that are checked together. */
type Relevant = Partly<{ invoices: InvoicesSettings; customers: CustomersSettings }>;

/** Customers are asked for by their bindings: where none is sent, no invoice would ever be asked for. */
export function checkInvoices({ customers, invoices }: Relevant, report: Report): void {
  if (invoices?.scope !== 'per-customer' || customers?.send !== 'none') return;
  report('invoices.scope', 'asks for the invoices of customers, but none is ever sent', {
    found: 'per-customer, with customers.send: none',
    allowed: 'all, unless customers.send is not none',
  });
}
