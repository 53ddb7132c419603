import type { Entity, JsonValue } from '../model/record.js';
import { insertRows, placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { markDue } from '../store/write-back-due.js';

/**
 * A reason as it may stand in a log that is never rewritten: for a customer without the words of the service or the values of
 * the row, which may be about a person. The words themselves stand with the message and its attempts, where `waybill forget`
 * can erase them. Orders name their customer by its code alone. Pure.
 */
export function impersonalReason(event: string, outcome: string | null, reason: string): string {
  if (event === 'parked' && outcome === 'unmapped')
    return 'Its row in the ERP could not become a record; `waybill explain` says why.';
  if (event !== 'attempt' && event !== 'parked') return reason;
  // `HTTP 422 invalid_field: words of the service`
  return /^(HTTP \d{3}[^:]*):/.exec(reason)?.[1] ?? reason;
}

export type AuditEvent =
  | 'captured'
  | 'superseded'
  | 'attempt'
  | 'delivered'
  | 'parked'
  | 'adopted'
  | 'in_doubt'
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
  /** Never a body, a secret or anything personal: what may have to be erased has rows of its own. */
  detail?: { [name: string]: JsonValue };
}

/**
 * Appends to the log. Nothing in Waybill updates a line; only retention removes them, by age.
 *
 * Every change of a record has its line here, in its own transaction. So this is also where the record is marked as due for
 * write-back, and no change can forget it.
 */
export async function appendAudit(tx: Tx, entries: readonly AuditEntry[], nowMs: number): Promise<void> {
  await insertRows(
    tx,
    'audit_log',
    entries.map((entry) => ({
      at: nowMs,
      event: entry.event,
      outcome: entry.outcome ?? null,
      entity: entry.entity ?? null,
      source_key: entry.sourceKey ?? null,
      message_id: entry.messageId ?? null,
      attempt_id: entry.attemptId ?? null,
      actor: entry.actor.slice(0, 255),
      detail: JSON.stringify(detailOf(entry)),
    })),
  );
  const keysOf = (entity: Entity) =>
    entries.flatMap((entry) => (entry.entity === entity && entry.sourceKey ? [entry.sourceKey] : []));
  await markDue(tx, 'orders', keysOf('order'));
  await markDue(tx, 'customers', keysOf('customer'));
}

function detailOf({ event, outcome, entity, detail = {} }: AuditEntry): { [name: string]: JsonValue } {
  if (entity !== 'customer' || typeof detail.reason !== 'string') return detail;
  return { ...detail, reason: impersonalReason(event, outcome ?? null, detail.reason) };
}

/** Removes the oldest lines of the log, up to `limit` of them. @returns how many there were */
export async function pruneAudit(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await tx.select<{ id: number }>(
    `SELECT id FROM audit_log WHERE at<? ORDER BY at, id LIMIT ${Math.trunc(limit)}`,
    [before],
  );
  if (rows.length === 0) return 0;
  const ids = rows.map((row) => Number(row.id));
  return tx.run(`DELETE FROM audit_log WHERE id IN ${placeholders(ids.length)}`, ids);
}

/**
 * A reason as it may stand in pauses and alerts, which `waybill forget` does not search: without the words of the service
 * where they may be about a person. Pure.
 */
export function shownReason(entity: Entity, reason: string): string {
  return entity === 'customer' ? impersonalReason('attempt', null, reason) : reason;
}
