import type { Settings } from '../../config/settings.js';
import { currencyScale } from '../../erp/mapping/money.js';
import { wallText } from '../../erp/time/wall-time.js';
import type { Entity } from '../../model/record.js';
import type { WriteBackKind, WriteBackRow } from '../../model/write-back.js';
import { boundKeys } from '../../outbound/outbox/removal-rows.js';
import type { Tx } from '../../store/store.js';
import { invoiceNumbersAfter, knownInvoices } from '../invoices/known-invoices.js';
import { parkedAfter, recordOutcomes } from './record-outcomes.js';
import { customerRow, invoiceRow, orderRow, type WriteBackForm } from './write-back-decisions.js';
import { markedKeysAfter } from './write-back-marks.js';

export const entityOf: Record<WriteBackKind, Entity | null> = {
  orders: 'order',
  customers: 'customer',
  invoices: null,
};

/** One page of a sweep: its keys, and where the next one begins; null: the sweep is done. */
export interface SweepPage {
  keys: string[];
  next: string | null;
}

export const sweepStart = 'known:';
/** Where a sweep begins that first notes what the ERP's table held before. */
export const foundStart = 'found:';

export function writeBackForm({ amounts, erp }: Pick<Settings, 'amounts' | 'erp'>): WriteBackForm {
  return {
    currency: amounts.currency,
    scale: amounts.scale ?? currencyScale(amounts.currency) ?? 2,
    wallText: (ms) => wallText(ms, erp.timeZone),
  };
}

/** The rows that the ERP is to have of these keys; a key that is not in it has none. */
export async function wantedRows(
  tx: Tx,
  kind: WriteBackKind,
  keys: readonly string[],
  form: WriteBackForm,
): Promise<Map<string, WriteBackRow>> {
  const entity = entityOf[kind];
  if (entity === null) {
    const invoices = await knownInvoices(tx, keys);
    return new Map([...invoices].map(([key, invoice]) => [key, invoiceRow(invoice, form)]));
  }
  const outcomes = await recordOutcomes(tx, entity, keys);
  const toRow = entity === 'order' ? orderRow : customerRow;
  return new Map([...outcomes].map(([key, outcome]) => [key, toRow(outcome, form)]));
}

/** First what is known, then what is parked, then what was written and may be known no more: each in its own order. */
export async function sweepPage(tx: Tx, kind: WriteBackKind, position: string, limit: number): Promise<SweepPage> {
  const colon = position.indexOf(':');
  const phase = position.slice(0, colon);
  const after = position.slice(colon + 1);
  const entity = entityOf[kind];
  if (phase === 'known') {
    const keys = await (entity === null ? invoiceNumbersAfter(tx, after, limit) : boundKeys(tx, entity, after, limit));
    return { keys, next: keys.length < limit ? 'parked:0' : `known:${keys.at(-1)}` };
  }
  if (phase === 'parked') {
    const parked = entity === null ? [] : await parkedAfter(tx, entity, Number(after), limit);
    const next = parked.length < limit ? 'written:' : `parked:${parked.at(-1)?.id}`;
    return { keys: parked.map(({ sourceKey }) => sourceKey), next };
  }
  const keys = await markedKeysAfter(tx, kind, after, limit);
  return { keys, next: keys.length < limit ? null : `written:${keys.at(-1)}` };
}
