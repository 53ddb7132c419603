import type { Entity, JsonValue } from '../model/record.js';
import { type Condition, deleteOldest, insertRows, joinConditions, placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { markDue } from '../store/write-back-due.js';

/**
 * A reason as it may stand in a log that is never rewritten: for a customer without the words of the service or the values of
 * the row, which may be about a person. The words themselves stand with the message and its attempts, where `waybill forget`
 * can erase them. Orders name their customer by its code alone. Pure.
 */
function impersonalReason(event: string, outcome: string | null, reason: string): string {
  if (event === 'parked' && outcome === 'unmapped')
    return 'Its row in the ERP could not become a record; `waybill explain` says why.';
  if (event !== 'attempt' && event !== 'parked') return reason;
  // `HTTP 422 invalid_field: words of the service`
  return /^(HTTP \d{3}[^:]*):/.exec(reason)?.[1] ?? reason;
}

type AuditEvent =
  | 'captured'
  | 'superseded'
  | 'attempt'
  | 'delivered'
  | 'parked'
  | 'adopted'
  | 'in_doubt'
  | 'left_pending'
  | 'operator'
  | 'pause'
  | 'resume'
  | 'go_live'
  | 'pull'
  | 'read_back'
  | 'write_back'
  | 'webhook'
  | 'start'
  | 'stop'
  | 'takeover'
  | 'alert'
  | 'prune'
  | 'forget';

export interface AuditEntry {
  event: AuditEvent;
  /** What came of it, in one word: a verdict, a state, an action. */
  outcome?: string | null;
  entity?: Entity | null;
  sourceKey?: string | null;
  messageId?: number | null;
  attemptId?: number | null;
  /** Who did it: `daemon@host:pid`, or an operator's name. */
  actor: string;
  /** Never a body, a secret or anything personal: data that may have to be erased has rows of its own. */
  detail?: { [name: string]: JsonValue };
}

/**
 * Appends to the log. Nothing in Waybill updates a line; only retention removes them, by age.
 *
 * Every change of a record has its line here, in its own transaction. So this is also where the record is marked as due for
 * write-back, and no change can forget it.
 */
export async function appendAudit(tx: Tx, entry: AuditEntry | readonly AuditEntry[], nowMs: number): Promise<void> {
  const entries: AuditEntry[] = [entry].flat();
  await insertRows(
    tx,
    'audit_log',
    entries.map((one) => ({
      at: nowMs,
      event: one.event,
      outcome: one.outcome ?? null,
      entity: one.entity ?? null,
      source_key: one.sourceKey ?? null,
      message_id: one.messageId ?? null,
      attempt_id: one.attemptId ?? null,
      actor: one.actor,
      detail: JSON.stringify(detailOf(one)),
    })),
  );
  const keysOf = (entity: Entity) =>
    entries.flatMap((one) => (one.entity === entity && one.sourceKey ? [one.sourceKey] : []));
  await markDue(tx, 'orders', keysOf('order'));
  await markDue(tx, 'customers', keysOf('customer'));
}

function detailOf({ event, outcome, entity, detail = {} }: AuditEntry): { [name: string]: JsonValue } {
  if (entity !== 'customer' || typeof detail.reason !== 'string') return detail;
  return { ...detail, reason: impersonalReason(event, outcome ?? null, detail.reason) };
}

/** Removes the oldest lines of the log, up to `limit` of them. @returns how many there were */
export async function pruneAudit(tx: Tx, before: number, limit: number): Promise<number> {
  return deleteOldest(tx, { table: 'audit_log', key: 'id', where: 'at<? ORDER BY at, id', before }, limit);
}

/**
 * A reason as it may stand in pauses and alerts, which `waybill forget` does not search: without the words of the service
 * where they may be about a person. Pure.
 */
export function shownReason(entity: Entity, reason: string): string {
  return entity === 'customer' ? impersonalReason('attempt', null, reason) : reason;
}

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

function filterSql({ since, until, records, entity, outcome, event }: AuditFilter) {
  const ofRecords = (['customer', 'order'] as const).flatMap((kind): Condition[] => {
    const keys = (records ?? []).filter((record) => record.entity === kind).map(({ sourceKey }) => sourceKey);
    return keys.length === 0 ? [] : [[`entity=? AND source_key IN ${placeholders(keys.length)}`, kind, ...keys]];
  });
  const either = joinConditions('OR', ofRecords);
  return joinConditions('AND', [
    ['at>=?', since],
    ['at<?', until],
    ['entity=?', entity],
    ['outcome=?', outcome],
    ['event=?', event],
    [either.where, ...(records ? either.parameters : [undefined])],
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

/** When an event was last written; null: never, or the line is no longer kept. */
export async function lastEventAt(tx: Tx, event: string): Promise<number | null> {
  return (await tx.value<number>('SELECT at FROM audit_log WHERE event=? ORDER BY id DESC LIMIT 1', [event])) ?? null;
}

interface RunningDaemon {
  actor: string;
  startedAt: number;
}

/** Daemons that said they started and never said they stopped: at work, standing by, or killed. Newest first. */
export async function startedDaemons(tx: Tx, limit: number): Promise<RunningDaemon[]> {
  return tx.rows(
    `SELECT s.actor, s.at AS started_at FROM audit_log s WHERE s.event='start'
        AND NOT EXISTS (SELECT 1 FROM audit_log e WHERE e.event='stop' AND e.actor=s.actor AND e.id>s.id)
      ORDER BY s.id DESC LIMIT ${Math.trunc(limit)}`,
  );
}

/** When the oldest line of the audit was written: as long as this store is known to exist. */
export async function firstAuditAt(tx: Tx): Promise<number | null> {
  return (await tx.value<number>('SELECT at FROM audit_log ORDER BY id LIMIT 1')) ?? null;
}
