import type { Entity } from '../model/entity.js';
import type { Tx } from '../store/store.js';
import type { MessageState, Operation, ParkClass } from './message.js';
import { filterSql, type MessageFilter } from './message-filter.js';

export interface ListedMessage {
  id: number;
  entity: Entity;
  sourceKey: string;
  number: string | null;
  revision: number;
  operation: Operation;
  state: MessageState;
  parkClass: ParkClass | null;
  reason: string | null;
  attempts: number;
  nextAttemptAt: number;
  capturedAt: number;
  closedAt: number | null;
  serviceId: string | null;
  flag: string | null;
}

/** The newest messages that match, newest first. */
export async function listMessages(tx: Tx, filter: MessageFilter, limit: number): Promise<ListedMessage[]> {
  const { where, parameters } = filterSql(filter);
  const rows = await tx.select(
    `SELECT m.id, m.entity, m.source_key, m.number, m.revision, m.operation, m.state, m.park_class, m.reason, m.attempts,
            m.next_attempt_at, m.captured_at, m.closed_at, m.service_id, m.flag
       FROM outbox_message m WHERE ${where} ORDER BY m.id DESC LIMIT ${Math.trunc(limit)}`,
    parameters,
  );
  return rows.map((row) => ({
    id: Number(row.id),
    entity: row.entity,
    sourceKey: row.source_key,
    number: row.number,
    revision: row.revision,
    operation: row.operation,
    state: row.state,
    parkClass: row.park_class,
    reason: row.reason,
    attempts: row.attempts,
    nextAttemptAt: Number(row.next_attempt_at),
    capturedAt: Number(row.captured_at),
    closedAt: row.closed_at === null ? null : Number(row.closed_at),
    serviceId: row.service_id,
    flag: row.flag,
  }));
}

export async function countMessages(tx: Tx, filter: MessageFilter): Promise<number> {
  const { where, parameters } = filterSql(filter);
  const [row] = await tx.select<{ n: number }>(`SELECT COUNT(*) AS n FROM outbox_message m WHERE ${where}`, parameters);
  return Number(row?.n ?? 0);
}
