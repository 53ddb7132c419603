import type { Tx } from '../store/store.js';
import { filterSql, type MessageFilter } from './message-filter.js';

export const groupings = ['reason', 'state', 'entity'] as const;
export type Grouping = (typeof groupings)[number];

export interface MessageGroup {
  /** The state, the entity, or the reason with every number written as `#`. */
  group: string;
  parkClass: string | null;
  count: number;
  /** When the oldest of the group was captured, in milliseconds since 1970. */
  oldestAt: number;
}

/** Neither database has a regular expression that both understand, but ten REPLACEs are the same on both. */
const reasonWithoutDigits = [...'0123456789'].reduce(
  (sql, digit) => `REPLACE(${sql},'${digit}','#')`,
  "COALESCE(m.reason,'')",
);

const groupSql: Record<Grouping, string> = { reason: reasonWithoutDigits, state: 'm.state', entity: 'm.entity' };

/** Messages that match, counted by what they have in common, the largest group first. "Order 17" and "order 4711" are one. */
export async function groupMessages(
  tx: Tx,
  filter: MessageFilter,
  by: Grouping,
  limit: number,
): Promise<MessageGroup[]> {
  const { where, parameters } = filterSql(filter);
  const parkClass = by === 'entity' ? 'NULL' : 'm.park_class';
  const rows = await tx.select(
    `SELECT ${groupSql[by]} AS grp, ${parkClass} AS cls, COUNT(*) AS n, MIN(m.captured_at) AS oldest
       FROM outbox_message m WHERE ${where} GROUP BY grp, cls ORDER BY n DESC LIMIT 10000`,
    parameters,
  );
  const groups = new Map<string, MessageGroup>();
  for (const row of rows) {
    const group = by === 'reason' ? String(row.grp).replace(/#+/g, '#') : String(row.grp);
    const name = JSON.stringify([group, row.cls]);
    const known = groups.get(name);
    groups.set(name, {
      group,
      parkClass: row.cls,
      count: Number(row.n) + (known?.count ?? 0),
      oldestAt: Math.min(Number(row.oldest), known?.oldestAt ?? Number.POSITIVE_INFINITY),
    });
  }
  return [...groups.values()].sort((a, b) => b.count - a.count).slice(0, limit);
}
