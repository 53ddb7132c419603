import type { FactOf } from './fact-of.js';

/** Facts about lists and proofs: invoices, webhooks, reconciliation, write-back. */
// biome-ignore lint/suspicious/noEmptyInterface: its codes are on their way
export interface ListFacts {}
export type ListFact = FactOf<ListFacts>;
