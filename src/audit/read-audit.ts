import type { Entity, JsonValue } from '../model/record.js';
import { placeholders } from '../store/rows.js';
import type { SqlValue, Tx } from '../store/store.js';

/** Which lines are meant. What is absent filters nothing. Times are milliseconds since 1970, half-open. */
export interface AuditFilter {
  since?: number;
  until?: number;
  /** Lines of these records; none at all when the list is empty. */
  records?: readonly { entity: Entity; sourceKey: string }[];
  entity?: Entity;
  outcome?: string;
  event?: string;
}

export interface AuditLine {
  id: number;
  at: number;
  event: string;
  outcome: string | null;
  entity: Entity | null;
  sourceKey: string | null;
  messageId: number | null;
  attemptId: number | null;
  actor: string;
  detail: { [name: string]: JsonValue };
}

function filterSql(filter: AuditFilter): { where: string; parameters: SqlValue[] } {
  const conditions: string[] = ['1=1'];
  const parameters: SqlValue[] = [];
  const add = (condition: string, ...values: SqlValue[]) => {
    conditions.push(condition);
    parameters.push(...values);
  };
  if (filter.since !== undefined) add('at>=?', filter.since);
  if (filter.until !== undefined) add('at<?', filter.until);
  if (filter.entity !== undefined) add('entity=?', filter.entity);
  if (filter.outcome !== undefined) add('outcome=?', filter.outcome);
  if (filter.event !== undefined) add('event=?', filter.event);
  if (filter.records !== undefined) {
    const ofEntity = (entity: Entity) =>
      filter.records?.filter((r) => r.entity === entity).map((r) => r.sourceKey) ?? [];
    const either: string[] = [];
    for (const entity of ['customer', 'order'] as const) {
      const keys = ofEntity(entity);
      if (keys.length === 0) continue;
      either.push(`(entity=? AND source_key IN ${placeholders(keys.length)})`);
      parameters.push(entity, ...keys);
    }
    conditions.push(either.length > 0 ? `(${either.join(' OR ')})` : '1=0');
  }
  return { where: conditions.join(' AND '), parameters };
}

/** Lines after `afterId`, in the order in which they were written: one page of a stream. */
export async function readAuditPage(tx: Tx, filter: AuditFilter, afterId: number, limit: number): Promise<AuditLine[]> {
  const { where, parameters } = filterSql(filter);
  const rows = await tx.select(
    `SELECT id, at, event, outcome, entity, source_key, message_id, attempt_id, actor, detail
       FROM audit_log WHERE ${where} AND id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [...parameters, afterId],
  );
  return rows.map((row) => ({
    id: Number(row.id),
    at: Number(row.at),
    event: row.event,
    outcome: row.outcome,
    entity: row.entity,
    sourceKey: row.source_key,
    messageId: row.message_id === null ? null : Number(row.message_id),
    attemptId: row.attempt_id === null ? null : Number(row.attempt_id),
    actor: row.actor,
    detail: JSON.parse(row.detail),
  }));
}

/** The id after which the last `count` matching lines begin, and whether there are older ones. */
export async function startOfLast(
  tx: Tx,
  filter: AuditFilter,
  count: number,
): Promise<{ afterId: number; older: boolean }> {
  const { where, parameters } = filterSql(filter);
  const rows = await tx.select<{ id: number }>(
    `SELECT id FROM audit_log WHERE ${where} ORDER BY id DESC LIMIT 2 OFFSET ${Math.max(0, Math.trunc(count) - 1)}`,
    parameters,
  );
  const first = rows[0];
  return first ? { afterId: Number(first.id) - 1, older: rows.length > 1 } : { afterId: 0, older: false };
}

/** When an event was last written; null: never, or the line is no longer kept. */
export async function lastEventAt(tx: Tx, event: string): Promise<number | null> {
  const [row] = await tx.select<{ at: number }>('SELECT at FROM audit_log WHERE event=? ORDER BY id DESC LIMIT 1', [
    event,
  ]);
  return row ? Number(row.at) : null;
}

export interface RunningDaemon {
  actor: string;
  startedAt: number;
}

/** Daemons that said they started and never said they stopped: at work, standing by, or killed. Newest first. */
export async function startedDaemons(tx: Tx, limit: number): Promise<RunningDaemon[]> {
  const rows = await tx.select<{ actor: string; at: number }>(
    `SELECT s.actor, s.at FROM audit_log s WHERE s.event='start'
        AND NOT EXISTS (SELECT 1 FROM audit_log e WHERE e.event='stop' AND e.actor=s.actor AND e.id>s.id)
      ORDER BY s.id DESC LIMIT ${Math.trunc(limit)}`,
  );
  return rows.map((row) => ({ actor: row.actor, startedAt: Number(row.at) }));
}
