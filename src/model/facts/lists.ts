import type { FactOf, NoData } from './fact-of.js';

/** Facts about lists and proofs: invoices, webhooks, reconciliation, write-back. */
export interface ListFacts {
  /** The service says that there is no such invoice, though its list has it. */
  listed_but_not_found: NoData;
  /** More invoices would leave the list at once than these limits allow. */
  many_would_leave: { leaving: number; listed: number; maxDrops: number; maxDropShare: number };
}
export type ListFact = FactOf<ListFacts>;
export type DropFact = Extract<ListFact, { code: 'many_would_leave' }>;
