import { nextListedCustomer } from '../invoices/next-listed-customer.js';
import { isGroupEnded } from '../invoices/staging.js';
import { nextBoundCustomer } from '../outbox/next-bound-customer.js';
import type { Tx } from '../store/store.js';

/**
 * Whose lists a pull per customer reads after this one's: first those of all customers that were delivered, then those of
 * others of whom invoices are listed still, because their binding is gone; null: all were read.
 */
export async function nextCustomer(tx: Tx, after: string): Promise<string | null> {
  const bound = await nextBoundCustomer(tx, after);
  if (bound !== null && !(await isGroupEnded(tx, bound))) return bound;
  return nextListedCustomer(tx);
}
