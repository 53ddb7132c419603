import type { Entity } from '../model/entity.js';
import type { JsonValue } from '../model/record.js';
import { insertRows } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { impersonalReason } from './impersonal-reason.js';

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

/** Appends to the log. Nothing in Waybill updates a line; only retention removes them, by age. */
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
}

function detailOf({ event, outcome, entity, detail = {} }: AuditEntry): { [name: string]: JsonValue } {
  if (entity !== 'customer' || typeof detail.reason !== 'string') return detail;
  return { ...detail, reason: impersonalReason(event, outcome ?? null, detail.reason) };
}
