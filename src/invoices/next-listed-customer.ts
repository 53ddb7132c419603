import type { Tx } from '../store/store.js';

/** A customer with listed invoices whose lists the pull in the making has not read, the first in the order of codes; null: there is none. */
export async function nextListedCustomer(tx: Tx): Promise<string | null> {
  const [row] = await tx.select<{ code: string | null }>(
    `SELECT MIN(customer_code) AS code FROM invoice WHERE unlisted_at IS NULL AND customer_code<>''
        AND NOT EXISTS (SELECT 1 FROM invoice_group g WHERE g.list_customer=invoice.customer_code)`,
  );
  return row?.code ?? null;
}
