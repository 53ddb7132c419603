import type { Entity } from '../../model/record.js';
import type { ParkClass } from '../../outbound/outbox/message.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/** What became of one record, as far as somebody in the ERP would ask. */
export interface RecordOutcome {
  sourceKey: string;
  number: string | null;
  serviceId: string | null;
  /** In the service's own word, as it was read last or acknowledged. */
  serviceStatus: string | null;
  /** In the service's unit, as text. */
  serviceTotal: string | null;
  deliveredAt: number | null;
  /** Why its newest message waits for a person; null: none does. */
  parked: { parkClass: ParkClass; reason: string | null } | null;
}

/** The outcome of each of these records that is at the service or waits for a person; the others are not in it. */
export async function recordOutcomes(
  tx: Tx,
  entity: Entity,
  keys: readonly string[],
): Promise<Map<string, RecordOutcome>> {
  if (keys.length === 0) return new Map();
  const list = placeholders(keys.length);
  const bindings = await tx.select(
    `SELECT source_key, service_id, acknowledged_at, service_status, service_total FROM binding
      WHERE entity=? AND source_key IN ${list}`,
    [entity, ...keys],
  );
  const messages = await tx.select(
    `SELECT source_key, number, state, park_class, reason FROM outbox_message
      WHERE source_key IN ${list} AND entity=? AND (number IS NOT NULL OR state='parked') ORDER BY revision`,
    [...keys, entity],
  );
  const said = await acknowledgedWords(tx, entity, keys);
  const bound = new Map(bindings.map((row) => [row.source_key as string, row]));
  const numbers = new Map<string, string>();
  const parked = new Map<string, NonNullable<RecordOutcome['parked']>>();
  for (const row of messages) {
    if (row.number !== null) numbers.set(row.source_key, row.number);
    if (row.state === 'parked') parked.set(row.source_key, { parkClass: row.park_class, reason: row.reason });
  }
  const outcomes = new Map<string, RecordOutcome>();
  for (const sourceKey of keys) {
    const binding = bound.get(sourceKey);
    const words = binding ? said.get(sourceKey) : undefined;
    if (!binding && !parked.has(sourceKey)) continue;
    outcomes.set(sourceKey, {
      sourceKey,
      number: numbers.get(sourceKey) ?? null,
      serviceId: binding?.service_id ?? null,
      serviceStatus: binding?.service_status ?? words?.state ?? null,
      serviceTotal: textOf(binding?.service_total) ?? textOf(words?.total),
      deliveredAt: binding ? Number(binding.acknowledged_at) : null,
      parked: parked.get(sourceKey) ?? null,
    });
  }
  return outcomes;
}

function textOf(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** What the service said when it acknowledged an order, as long as the audit remembers. */
async function acknowledgedWords(
  tx: Tx,
  entity: Entity,
  keys: readonly string[],
): Promise<Map<string, { state?: string; total?: number }>> {
  if (entity !== 'order') return new Map();
  const rows = await tx.select<{ source_key: string; detail: string }>(
    `SELECT source_key, detail FROM audit_log
      WHERE source_key IN ${placeholders(keys.length)} AND entity='order' AND event='delivered' ORDER BY id`,
    keys,
  );
  const words = new Map<string, { state?: string; total?: number }>();
  for (const row of rows) {
    const { serviceState, serviceTotal } = JSON.parse(row.detail) as { serviceState?: unknown; serviceTotal?: unknown };
    words.set(row.source_key, {
      ...words.get(row.source_key),
      ...(typeof serviceState === 'string' ? { state: serviceState } : {}),
      ...(typeof serviceTotal === 'number' ? { total: serviceTotal } : {}),
    });
  }
  return words;
}

/** What is parked, by the ids of its messages, after this one. */
export async function parkedAfter(
  tx: Tx,
  entity: Entity,
  after: number,
  limit: number,
): Promise<{ id: number; sourceKey: string }[]> {
  const rows = await tx.select(
    `SELECT id, source_key FROM outbox_message WHERE state='parked' AND entity=? AND id>? ORDER BY id LIMIT ${Math.trunc(limit)}`,
    [entity, after],
  );
  return rows.map((row) => ({ id: Number(row.id), sourceKey: row.source_key }));
}
