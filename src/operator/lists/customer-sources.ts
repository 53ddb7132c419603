import { sourceOf } from '../../model/record.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/** The source of each customer that the service calls by one of these ids; one that none of ours has is not among them. */
export async function customerSources(tx: Tx, serviceIds: readonly (string | null)[]): Promise<Map<string, string>> {
  const asked = [...new Set(serviceIds.filter((id) => id !== null))];
  const sources = new Map<string, string>();
  for (let from = 0; from < asked.length; from += 500) {
    const ids = asked.slice(from, from + 500);
    const rows = await tx.rows<{ serviceId: string; sourceKey: string }>(
      `SELECT service_id, source_key FROM binding WHERE entity='customer' AND service_id IN ${placeholders(ids.length)}`,
      ids,
    );
    for (const { serviceId, sourceKey } of rows) sources.set(serviceId, sourceOf(sourceKey) || 'default');
  }
  return sources;
}
