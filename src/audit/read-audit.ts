import type { Entity, JsonValue } from '../model/record.js';
import { joinConditions, ofRecords } from '../store/rows.js';
import type { Tx } from '../store/store.js';

/** Which lines are meant. An absent field filters nothing. Times are milliseconds since 1970, half-open. */
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

/** @param isScan whether a range of ids is looked through: a MariaDB whose statistics are old follows the event's index through all its lines instead */
function filterSql({ since, until, records, entity, outcome, event }: AuditFilter, isScan = false) {
  return joinConditions('AND', [
    ['at>=?', since],
    ['at<?', until],
    ['entity=?', entity],
    ['outcome=?', outcome],
    [isScan ? "COALESCE(event,'')=?" : 'event=?', event],
    ofRecords(records),
  ]);
}

/** Lines after `afterId`, in the order in which they were written: one page of a stream. */
export async function readAuditPage(tx: Tx, filter: AuditFilter, afterId: number, limit: number): Promise<AuditLine[]> {
  const { where, parameters } = filterSql(filter);
  const rows = await tx.rows(
    `SELECT id, at, event, outcome, entity, source_key, message_id, attempt_id, actor, detail
       FROM audit_log WHERE ${where} AND id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [...parameters, afterId],
  );
  return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) }));
}

/** Lines with these ids, the newest first. */
export async function readAuditBetween(
  tx: Tx,
  filter: AuditFilter,
  { from, below, isScan }: { from: number; below: number; isScan: boolean },
  limit: number,
): Promise<AuditLine[]> {
  const { where, parameters } = filterSql(filter, isScan);
  const rows = await tx.rows(
    `SELECT id, at, event, outcome, entity, source_key, message_id, attempt_id, actor, detail
       FROM audit_log WHERE ${where} AND id>=? AND id<? ORDER BY id DESC LIMIT ${Math.trunc(limit)}`,
    [...parameters, from, below],
  );
  return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) }));
}

/** The id after which the last `count` matching lines begin, and whether there are older ones. */
export async function startOfLast(
  tx: Tx,
  filter: AuditFilter,
  count: number,
): Promise<{ afterId: number; older: boolean }> {
  const { where, parameters } = filterSql(filter);
  const rows = await tx.rows<{ id: number }>(
    `SELECT id FROM audit_log WHERE ${where} ORDER BY id DESC LIMIT 2 OFFSET ${Math.max(0, Math.trunc(count) - 1)}`,
    parameters,
  );
  const first = rows[0];
  return first ? { afterId: first.id - 1, older: rows.length > 1 } : { afterId: 0, older: false };
}

/** The id of the newest line; 0: there is none. */
export async function lastAuditId(tx: Tx): Promise<number> {
  return (await tx.value<number>('SELECT MAX(id) FROM audit_log')) ?? 0;
}

/** The number of lines after this one, up to a bound. */
export async function countAuditSince(tx: Tx, id: number, most: number): Promise<number> {
  const sql = `SELECT COUNT(*) FROM (SELECT id FROM audit_log WHERE id>? LIMIT ${Math.trunc(most)}) AS s`;
  return (await tx.value<number>(sql, [id])) ?? 0;
}
