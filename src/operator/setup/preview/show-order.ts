import type { Settings } from '../../../config/settings.js';
import type { ErpRow } from '../../../db/erp-database.js';
import type { ReadOrder } from '../../../erp/erp-reader.js';
import type { Fact } from '../../../model/facts/fact.js';
import type { Entity, JsonValue } from '../../../model/record.js';
import type { JudgedRow } from '../../../outbound/capture/judged-rows.js';
import { composeUpdate } from '../../../outbound/outbox/compose-update.js';
import { canonicalJson } from '../../../outbound/outbox/content-hash.js';
import { wireBody } from '../../../outbound/outbox/idempotency-key.js';

/** The fate of records of one kind. */
export interface RecordCounts {
  create: number;
  update: number;
  /** Sent, or on its way, as it stands. */
  unchanged: number;
  /** Can't be sent as they are, whether this pass finds it or an earlier one did. */
  parked: number;
}

/** One record as the ERP has it, and as the service would get it. */
export interface ShownRecord {
  key: string;
  outcome: keyof RecordCounts;
  /** Why it can't be sent as it is, or null. */
  parked: Fact | null;
  row: ErpRow;
  /** PUT, PATCH or POST, and the exact bytes; for an unchanged record what the service has. Null where there is no record. */
  method: string | null;
  body: string | null;
  idempotencyKey: string | null;
}

export interface ShownOrder extends ShownRecord {
  number: string | null;
  /** Why it waits before it is captured, or null. */
  waits: Fact | null;
  lines: readonly ErpRow[];
  skippedLines: number;
  /** Minor units as text. */
  totals: ReadOrder['totals'];
  currency: string;
  customer: ShownRecord | null;
}

/** An order with its customer, as capture decided on them. Pure. */
export function showOrder(
  settings: Settings,
  judged: JudgedRow,
  order: ReadOrder,
  customer: JudgedRow | null,
): ShownOrder {
  return {
    ...showRecord(settings, judged),
    number: order.number,
    waits: judged.waits,
    lines: order.lineRows ?? [],
    skippedLines: order.skippedLines ?? 0,
    totals: order.totals,
    currency: order.currency ?? settings.amounts.currency,
    customer: customer && showRecord(settings, customer),
  };
}

function showRecord(settings: Settings, judged: JudgedRow): ShownRecord {
  const { row, outcome, parked } = judged;
  const message = outcome === 'unchanged' || 'reason' in outcome ? null : outcome.message;
  const common = { key: row.sourceKey, outcome: outcomeOf(judged), parked, row: row.row ?? {} };
  const sent = message === null ? null : requestOf(settings, row.entity, message, judged.acknowledged);
  const body = row.content.mapped ? canonicalJson(row.content.record) : null;
  return { ...common, idempotencyKey: message?.idempotencyKey ?? null, ...(sent ?? { method: null, body }) };
}

/** The method and the bytes, as they are frozen: those of a create at its capture, those of an update at its first claim. */
function requestOf(
  { service }: Settings,
  entity: Entity,
  { operation, record, idempotencyKey }: { operation: string; record: string | null; idempotencyKey: string | null },
  acknowledged: string | null,
): { method: string; body: string } | null {
  if (record === null) return null;
  if (operation !== 'update') {
    const field = service.idempotency.in === 'body' ? service.idempotency.field : null;
    return { method: 'POST', body: wireBody(record, idempotencyKey ?? '', idempotencyKey === null ? null : field) };
  }
  const { method } = service.endpoints[entity === 'order' ? 'updateOrder' : 'updateCustomer'];
  const wanted = JSON.parse(record) as { [name: string]: JsonValue };
  const update = composeUpdate(method, acknowledged === null ? null : JSON.parse(acknowledged), wanted);
  return update && { method: update.method, body: canonicalJson(update.body) };
}

/** The fate of a record, in one word. */
export function outcomeOf({ outcome, parked }: JudgedRow): keyof RecordCounts {
  if (parked !== null) return 'parked';
  if (outcome === 'unchanged' || 'reason' in outcome) return 'unchanged';
  return outcome.message.operation === 'update' ? 'update' : 'create';
}
