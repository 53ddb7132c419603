import type { Tx } from '../../store/store.js';
import { isGroupEnded } from './staging.js';

/** A customer with listed invoices whose lists the pull in the making has not read, the first in the order of codes; null: there is none. */
export async function nextListedCustomer(tx: Tx): Promise<string | null> {
  const [row] = await tx.select<{ code: string | null }>(
    `SELECT MIN(customer_code) AS code FROM invoice WHERE unlisted_at IS NULL AND customer_code<>''
        AND NOT EXISTS (SELECT 1 FROM invoice_group g WHERE g.list_customer=invoice.customer_code)`,
  );
  return row?.code ?? null;
}

/** The code, at the service, of the next customer that was delivered, in the order of codes; null: there is none after it. */
export async function nextBoundCustomer(tx: Tx, after: string): Promise<string | null> {
  const [row] = await tx.select<{ service_id: string }>(
    "SELECT service_id FROM binding WHERE entity='customer' AND service_id>? ORDER BY service_id LIMIT 1",
    [after],
  );
  return row?.service_id ?? null;
}

/**
 * Whose lists a pull per customer reads after this one's: first those of all customers that were delivered, then those of
 * others of whom invoices are listed still, because their binding is gone; null: all were read.
 */
export async function nextCustomer(tx: Tx, after: string): Promise<string | null> {
  const bound = await nextBoundCustomer(tx, after);
  if (bound !== null && !(await isGroupEnded(tx, bound))) return bound;
  return nextListedCustomer(tx);
}
