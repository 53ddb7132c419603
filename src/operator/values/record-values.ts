import { setTimeout as sleep } from 'node:timers/promises';
import { ErpError, type ErpReader } from '../../erp/erp-reader.js';
import { rowFact } from '../../model/facts/rows.js';
import type { ErpNowFact } from '../../model/facts/work.js';
import { type Entity, type JsonValue, sourceOf } from '../../model/record.js';
import { wireBody } from '../../outbound/outbox/idempotency-key.js';
import type { Operation } from '../../outbound/outbox/message.js';
import type { Tx } from '../../store/store.js';

type Fields = { [name: string]: JsonValue };

/** The values that the store knows of a record. */
export interface KnownValues {
  /** As the ERP had it when it was captured last; null: its content is not kept. */
  captured: { record: Fields; at: number } | null;
  /** The values that the service acknowledged last; null: none, or their content is not known. */
  acknowledged: { record: Fields; at: number } | null;
  /** The bytes that are, or were, sent of its newest message; null: they are not frozen yet, or not kept. */
  body: string | null;
}

export async function knownValues(tx: Tx, entity: Entity, sourceKey: string): Promise<KnownValues> {
  const [captured] = await tx.rows<CapturedRow>(
    `SELECT b.record, b.body, m.captured_at AS at, m.operation, m.idempotency_key, m.key_field
       FROM outbox_message m LEFT JOIN message_body b ON b.message_id=m.id
      WHERE m.entity=? AND m.source_key=? ORDER BY m.revision DESC LIMIT 1`,
    [entity, sourceKey],
  );
  const [acknowledged] = await tx.rows<{ record: string | null; at: number }>(
    // A person's word is no acknowledgement.
    'SELECT acknowledged AS record, acknowledged_at AS at FROM binding WHERE entity=? AND source_key=? AND said_by IS NULL',
    [entity, sourceKey],
  );
  const known = (row: { record: string | null; at: number } | undefined) =>
    row?.record ? { record: fieldsOf(row.record), at: row.at } : null;
  return { captured: known(captured), acknowledged: known(acknowledged), body: captured ? bytesOf(captured) : null };
}

interface CapturedRow {
  record: string | null;
  body: string | null;
  at: number;
  operation: Operation;
  idempotencyKey: string | null;
  keyField: string | null;
}

/** The body that leaves with a message, or has left: a create as it was captured, an update as it was composed. */
function bytesOf({ record, body, operation, idempotencyKey, keyField }: CapturedRow): string | null {
  const frozen = body ?? (operation === 'create' ? record : null);
  return frozen === null || idempotencyKey === null ? null : wireBody(frozen, idempotencyKey, keyField);
}

function fieldsOf(json: string): Fields {
  const value: unknown = JSON.parse(json);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The ERP's values of a record at this moment, or the reason why they can't be said. */
export type ErpNow = { record: Fields } | { problem: ErpNowFact };

/** A person waits for it. */
const patienceMs = 5_000;

/** Reads one row of the ERP, eligible or not. Never fails: a page says what came of it. */
export async function readErpNow(
  reader: ErpReader,
  entity: Entity,
  sourceKey: string,
  waitMs = patienceMs,
): Promise<ErpNow> {
  const given = new AbortController();
  const tooLate: ErpNow = { problem: { code: 'erp_silent' } };
  const late = sleep(waitMs, tooLate, { signal: given.signal });
  // The ERP whose key it is, if there are several.
  const own = reader.bySource?.get(sourceOf(sourceKey)) ?? reader;
  const read = own.sweep(entity, null, 1, { keys: [sourceKey], anyStanding: true }).then(
    ({ rows: [row] }): ErpNow => {
      if (row === undefined) return { problem: { code: 'row_not_in_erp' } };
      if (!row.content.mapped) return { problem: { code: 'row_no_record_now', reason: rowFact(row.content.problems) } };
      return { record: row.content.record as unknown as Fields };
    },
    (error: unknown): ErpNow => {
      if (error instanceof ErpError) return { problem: { code: 'erp_not_readable_now', reason: error.fact } };
      throw error;
    },
  );
  try {
    return await Promise.race([read, late]);
  } finally {
    given.abort();
    late.catch(() => undefined);
    read.catch(() => undefined);
  }
}
