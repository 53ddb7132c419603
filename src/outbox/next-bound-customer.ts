import type { Tx } from '../store/store.js';

/** The code, at the service, of the next customer that was delivered, in the order of codes; null: there is none after it. */
export async function nextBoundCustomer(tx: Tx, after: string): Promise<string | null> {
  const [row] = await tx.select<{ service_id: string }>(
    "SELECT service_id FROM binding WHERE entity='customer' AND service_id>? ORDER BY service_id LIMIT 1",
    [after],
  );
  return row?.service_id ?? null;
}
