import type { Settings } from '../../config/settings.js';
import { currencyScales, sentCurrency } from '../../erp/mapping/money.js';
import { wallText } from '../../erp/time/wall-time.js';
import type { Fact } from '../../model/facts/fact.js';
import { decimalText } from '../../model/minor-units.js';
import type { Entity } from '../../model/record.js';
import type { WriteBackKind, WriteBackRow } from '../../model/write-back.js';
import type { ParkClass } from '../../outbound/outbox/message.js';
import { factOf } from '../../store/fact-columns.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { readStoreInfo } from '../../store/store-info.js';
import { tell } from '../../words/words.js';
import { type KnownInvoice, knownInvoices } from '../invoices/list-invoices.js';

export const entityOf: Record<WriteBackKind, Entity | null> = {
  orders: 'order',
  customers: 'customer',
  invoices: null,
};

/** The form of amounts and times in this ERP. */
interface WriteBackForm {
  currency: string;
  /** Decimal places of the service's integer amounts. */
  scale: number;
  /** Those of an order, by its JSON as it was sent, where orders may have several currencies; null: they are not known. */
  scaleOf?: ((sent: string | null) => number | null) | undefined;
  wallText: (ms: number) => string;
}

export function writeBackForm(settings: Pick<Settings, 'amounts' | 'erp' | 'orders'>): WriteBackForm {
  const { amounts, erp } = settings;
  const scales = currencyScales(amounts);
  return {
    currency: amounts.currency,
    scale: scales.get(amounts.currency) ?? 2,
    scaleOf: amounts.currencies && ((sent) => scales.get(sentCurrency(settings, sent) ?? '') ?? null),
    wallText: (ms) => wallText(ms, erp.timeZone),
  };
}

/** The rows that the ERP should have of these keys; a key that is not in the map has none. */
export async function wantedRows(
  tx: Tx,
  kind: WriteBackKind,
  keys: readonly string[],
  form: WriteBackForm,
): Promise<Map<string, WriteBackRow>> {
  const entity = entityOf[kind];
  if (entity === null) {
    const invoices = await knownInvoices(tx, keys);
    return new Map(invoices.map((invoice) => [invoice.invoiceNo, invoiceRow(invoice, form)]));
  }
  const outcomes = await recordOutcomes(tx, entity, keys, entity === 'order' && form.scaleOf !== undefined);
  const toRow = entity === 'order' ? orderRow : customerRow;
  return new Map(outcomes.map((outcome) => [outcome.sourceKey, toRow(outcome, form)]));
}

/** The outcome of one record, as a clerk would ask for it. */
interface RecordOutcome {
  sourceKey: string;
  number: string | null;
  serviceId: string | null;
  /** In the service's own word, as it was read or acknowledged, whichever came last. */
  serviceStatus: string | null;
  /** In the service's unit, as text. */
  serviceTotal: string | null;
  deliveredAt: number | null;
  /** The record as the service acknowledged it, as JSON; null: not known, or not asked for. */
  sent?: string | null;
  /** Nothing tells whether the service has it, and the ERP may hold the only proof: the id that an earlier store wrote. */
  isUnproven: boolean;
  /** Why its newest message waits for a person; null: none does. */
  parked: { parkClass: ParkClass; reason: string | null } | null;
}

/** The outcomes of those of these records that are at the service or wait for a person. */
async function recordOutcomes(
  tx: Tx,
  entity: Entity,
  keys: readonly string[],
  asksRecord: boolean,
): Promise<RecordOutcome[]> {
  if (keys.length === 0) return [];
  const list = placeholders(keys.length);
  const bindings = await tx.rows(
    `SELECT source_key, service_id, acknowledged_at, service_status, service_total, number${asksRecord ? ', acknowledged' : ''} FROM binding
      WHERE entity=? AND source_key IN ${list}`,
    [entity, ...keys],
  );
  const messages = await tx.rows(
    `SELECT source_key, number, state, park_class, reason_code, reason_data FROM outbox_message
      WHERE source_key IN ${list} AND entity=? AND (number IS NOT NULL OR state='parked') ORDER BY revision`,
    [...keys, entity],
  );
  const bound = new Map(bindings.map((row) => [row.sourceKey as string, row]));
  const numbers = new Map<string, string>();
  const parked = new Map<string, NonNullable<RecordOutcome['parked']>>();
  for (const row of messages) {
    const { sourceKey, number, state, parkClass } = row;
    if (number !== null) numbers.set(sourceKey, number);
    if (state === 'parked') {
      const reason = factOf<Fact>(row.reasonCode, row.reasonData);
      parked.set(sourceKey, { parkClass, reason: reason && tell(reason) });
    }
  }
  const unbound = [...parked.keys()].filter((sourceKey) => !bound.has(sourceKey));
  const removed = await removedKeys(tx, entity, unbound);
  const isRecovered = unbound.length > 0 && (await readStoreInfo(tx, 'recovered_to')) !== null;
  const isUnproven = (sourceKey: string) =>
    parked.get(sourceKey)?.parkClass === 'unproven' || (isRecovered && !removed.has(sourceKey));
  return keys.flatMap((sourceKey) => {
    const binding = bound.get(sourceKey);
    if (!binding && !parked.has(sourceKey)) return [];
    const total = binding?.serviceTotal ?? null;
    return {
      sourceKey,
      number: numbers.get(sourceKey) ?? binding?.number ?? null,
      serviceId: binding?.serviceId ?? null,
      serviceStatus: binding?.serviceStatus ?? null,
      serviceTotal: total === null ? null : String(total),
      deliveredAt: binding?.acknowledgedAt ?? null,
      sent: binding?.acknowledged ?? null,
      isUnproven: !binding && isUnproven(sourceKey),
      parked: parked.get(sourceKey) ?? null,
    };
  });
}

async function removedKeys(tx: Tx, entity: Entity, keys: readonly string[]): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const sql = `SELECT source_key FROM closed_binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`;
  return new Set((await tx.rows<{ sourceKey: string }>(sql, [entity, ...keys])).map(({ sourceKey }) => sourceKey));
}

const longestReason = 1000;

export function orderRow(outcome: RecordOutcome, form: WriteBackForm): WriteBackRow {
  const { serviceTotal, sent } = outcome;
  if (outcome.isUnproven)
    return { order_key: outcome.sourceKey, order_number: outcome.number, ...parkedColumns(outcome) };
  const scale = form.scaleOf === undefined ? form.scale : form.scaleOf(sent ?? null);
  return {
    order_key: outcome.sourceKey,
    order_number: outcome.number,
    service_order_id: outcome.serviceId,
    service_status: outcome.serviceStatus,
    service_total: serviceTotal === null || scale === null ? null : decimalText(serviceTotal, scale),
    ...commonColumns(outcome, form),
  };
}

function customerRow(outcome: RecordOutcome, form: WriteBackForm): WriteBackRow {
  if (outcome.isUnproven) return { customer_key: outcome.sourceKey, ...parkedColumns(outcome) };
  return {
    customer_key: outcome.sourceKey,
    service_customer_id: outcome.serviceId,
    ...commonColumns(outcome, form),
  };
}

function commonColumns(outcome: RecordOutcome, form: WriteBackForm): WriteBackRow {
  const { deliveredAt } = outcome;
  return { delivered_at: deliveredAt === null ? null : form.wallText(deliveredAt), ...parkedColumns(outcome) };
}

function parkedColumns({ parked }: RecordOutcome): WriteBackRow {
  return {
    parked_class: parked?.parkClass ?? null,
    parked_reason: parked?.reason?.slice(0, longestReason) ?? null,
  };
}

function invoiceRow(invoice: KnownInvoice, form: WriteBackForm): WriteBackRow {
  return {
    invoice_no: invoice.invoiceNo,
    customer_code: invoice.customerCode,
    amount: decimalText(invoice.amount, form.scale),
    currency: form.currency,
    due_date: invoice.dueDate,
    status: invoice.status,
    listed_since: form.wallText(invoice.firstListedAt),
    no_longer_listed_at: invoice.unlistedAt === null ? null : form.wallText(invoice.unlistedAt),
    status_when_it_left: invoice.leftStatus,
  };
}
