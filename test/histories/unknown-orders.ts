import type { HistoryStore } from './history-store.js';
import { MemoryErp, type OrderRow } from './memory-erp.js';

/** Orders that could be sent at once, and of which the store knows nothing. Others wait first, until they are complete. */
export function unknownOrders({ kept, erp }: { kept: HistoryStore; erp: MemoryErp }): OrderRow[] {
  const known = new Set(
    kept
      .rows<{ source_key: string }>(
        "SELECT source_key FROM outbox_message WHERE entity='order' UNION SELECT source_key FROM binding WHERE entity='order'",
      )
      .map(({ source_key: key }) => key),
  );
  return [...erp.orders.values()].filter(
    (row) => MemoryErp.isEligible(row) && !row.isHalf && !row.isBad && !known.has(row.key),
  );
}
