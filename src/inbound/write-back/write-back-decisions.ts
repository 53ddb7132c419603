import type { WriteBackRow } from '../../model/write-back.js';
import { canonicalJson, sha256 } from '../../outbound/outbox/canonical-json.js';
import type { KnownInvoice } from '../invoices/known-invoices.js';
import type { RecordOutcome } from './record-outcomes.js';
import type { WriteBackMark } from './write-back-marks.js';

/** How amounts and times are written in this ERP. */
export interface WriteBackForm {
  currency: string;
  /** Decimal places of the service's integer amounts. */
  scale: number;
  wallText: (ms: number) => string;
}

/** A row that the ERP is to have, or no more; `hash` is what is remembered of it. */
export interface PlannedWrite {
  key: string;
  row: WriteBackRow | null;
  hash: string;
}

const longestReason = 1000;
const firstDelayMs = 30_000;
const longestDelayMs = 900_000;

export function orderRow(outcome: RecordOutcome, form: WriteBackForm): WriteBackRow {
  const { serviceTotal } = outcome;
  return {
    order_key: outcome.sourceKey,
    order_number: outcome.number,
    service_order_id: outcome.serviceId,
    service_status: outcome.serviceStatus,
    service_total: serviceTotal === null ? null : decimalText(serviceTotal, form.scale),
    ...commonColumns(outcome, form),
  };
}

export function customerRow(outcome: RecordOutcome, form: WriteBackForm): WriteBackRow {
  return {
    customer_key: outcome.sourceKey,
    service_customer_id: outcome.serviceId,
    ...commonColumns(outcome, form),
  };
}

function commonColumns({ deliveredAt, parked }: RecordOutcome, form: WriteBackForm): WriteBackRow {
  return {
    delivered_at: deliveredAt === null ? null : form.wallText(deliveredAt),
    parked_class: parked?.parkClass ?? null,
    parked_reason: parked?.reason?.slice(0, longestReason) ?? null,
  };
}

export function invoiceRow(invoice: KnownInvoice, form: WriteBackForm): WriteBackRow {
  return {
    invoice_no: invoice.invoiceNo,
    customer_code: invoice.customerCode,
    amount: decimalText(String(invoice.amount), form.scale),
    currency: form.currency,
    due_date: invoice.dueDate,
    status: invoice.status,
    listed_since: form.wallText(invoice.firstListedAt),
    no_longer_listed_at: invoice.unlistedAt === null ? null : form.wallText(invoice.unlistedAt),
    status_when_it_left: invoice.leftStatus,
  };
}

/** `-1999` with a scale of 2 is `-19.99`. Text to text: nothing passes through a float. */
export function decimalText(minor: string, scale: number): string {
  if (scale === 0) return minor;
  const sign = minor.startsWith('-') ? '-' : '';
  const digits = minor.slice(sign.length).padStart(scale + 1, '0');
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/**
 * What has to be written so that the ERP holds these rows: nothing that it holds already, and nothing that it refuses before it is
 * tried again. A key without a row is one of which nothing is known any more.
 */
export function planWrites(
  keys: readonly string[],
  rows: ReadonlyMap<string, WriteBackRow>,
  marks: ReadonlyMap<string, WriteBackMark>,
  nowMs: number,
): PlannedWrite[] {
  return [...new Set(keys)].flatMap((key) => {
    const row = rows.get(key) ?? null;
    const mark = marks.get(key);
    if (row === null && mark === undefined) return [];
    const hash = sha256(canonicalJson(row));
    const isKnown = mark !== undefined && mark.hash === hash;
    if (isKnown && (mark.refusal === null || (mark.nextTryAt ?? 0) > nowMs)) return [];
    return [{ key, row, hash }];
  });
}

/** The wait after so many failures in a row: doubled with each, up to a quarter of an hour. */
export function writeBackDelayMs(failures: number): number {
  return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(Math.max(failures - 1, 0), 20));
}
