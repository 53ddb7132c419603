import type { Entity } from '../model/record.js';
import { placeholders } from '../store/rows.js';
import type { SqlValue, Store } from '../store/store.js';

/** How many messages are pending, being sent or in doubt; with `only`, of these records. */
export async function countOpen(store: Store, only: ReadonlyMap<Entity, ReadonlySet<string>> | null): Promise<number> {
  return store.read('count open messages', async (tx) => {
    const parameters: SqlValue[] = [];
    const filters: string[] = [];
    for (const [entity, keys] of only ?? []) {
      if (keys.size === 0) continue;
      filters.push(`(entity=? AND source_key IN ${placeholders(keys.size)})`);
      parameters.push(entity, ...keys);
    }
    if (only && filters.length === 0) return 0;
    const filter = filters.length > 0 ? `AND (${filters.join(' OR ')})` : '';
    const [row] = await tx.select<{ n: number }>(
      `SELECT COUNT(*) AS n FROM outbox_message WHERE state IN ('pending','sending','in_doubt') ${filter}`,
      parameters,
    );
    return Number(row?.n ?? 0);
  });
}

/** Keys of the customers that these orders wait for. */
export async function customersOfOrders(store: Store, orderKeys: readonly string[]): Promise<string[]> {
  const found = new Set<string>();
  for (let start = 0; start < orderKeys.length; start += 500) {
    const chunk = orderKeys.slice(start, start + 500);
    const rows = await store.read('look for the customers of orders', (tx) =>
      tx.select<{ customer_key: string }>(
        `SELECT DISTINCT customer_key FROM outbox_message
          WHERE entity='order' AND customer_key IS NOT NULL AND source_key IN ${placeholders(chunk.length)}`,
        chunk,
      ),
    );
    for (const row of rows) found.add(row.customer_key);
  }
  return [...found];
}

/** Keys of the orders that have waited longest. */
export async function oldestOpenOrders(store: Store, limit: number): Promise<string[]> {
  const rows = await store.read('look for the oldest open orders', (tx) =>
    tx.select<{ source_key: string }>(
      `SELECT source_key FROM outbox_message WHERE entity='order' AND state IN ('pending','in_doubt') ORDER BY id LIMIT ${Math.trunc(limit)}`,
    ),
  );
  return rows.map((row) => row.source_key);
}
