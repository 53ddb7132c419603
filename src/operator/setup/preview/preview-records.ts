import type { Settings } from '../../../config/settings.js';
import type { ErpReader, Funnel, ReadOrder, Standing } from '../../../erp/erp-reader.js';
import type { HeldFact } from '../../../model/facts/alerts.js';
import type { Fact } from '../../../model/facts/fact.js';
import { orderTotal } from '../../../model/record.js';
import type { JobContext } from '../../../ops/job-context.js';
import { capture } from '../../../outbound/capture/capture.js';
import type { CaptureOptions, CaptureResult } from '../../../outbound/capture/capture-result.js';
import type { JudgedPage, JudgedRow } from '../../../outbound/capture/judged-rows.js';
import { type Cause, Causes } from './causes.js';
import { remediesFor, remedyMapping } from './remedies.js';
import { outcomeOf, type RecordCounts, type ShownOrder, showOrder } from './show-order.js';

/** Amounts in minor units, as text. */
export interface MoneyTotal {
  currency: string;
  /** Records that could be sent. */
  orders: number;
  amount: string;
  /** The orders, sendable or not, whose lines and whose total in the ERP are both known. */
  compared: { orders: number; lines: string; erp: string; differing: number };
}

export interface Preview {
  funnel: Funnel | null;
  /** `repeatedRows`: those beyond the first with the key of an order that was read. */
  orders: RecordCounts & { read: number; repeatedRows: number; withoutLines: number; waiting: number };
  customers: Omit<RecordCounts, 'unchanged'>;
  removed: CaptureResult['removed'];
  skippedLines: number;
  causes: (Cause & { remedies: string[] })[];
  /** Reasons beyond those that are listed. */
  otherCauses: number;
  totals: MoneyTotal[];
  holds: HeldFact[];
  stopped: Fact | null;
  /** Among the keys that were asked for: the rows that may not be sent, with the reason; and those that no row has. */
  ineligible: Standing[];
  unknownKeys: string[];
}

export interface PreviewOptions {
  /** Only these orders. */
  keys?: string[];
  /** Ends the pass after so many orders. */
  limit?: number;
  /** Handed orders in full, one by one. */
  onOrder?: (order: ShownOrder) => void | Promise<void>;
  /** The number of orders to hand over. */
  shown?: number;
  signal?: AbortSignal;
  onProgress?: CaptureOptions['onProgress'];
}

/**
 * The next pass over the ERP, with its reasons: capture's own dry run, and the conditions that it reads with. Writes
 * nothing and sends nothing; memory does not grow with the number of orders.
 */
export async function previewRecords(
  context: JobContext,
  reader: ErpReader,
  { keys, limit = Number.POSITIVE_INFINITY, shown = limit, onOrder, signal, onProgress }: PreviewOptions,
): Promise<Preview> {
  const funnel = keys ? null : await reader.funnel('order');
  const standing = keys ? await reader.standing('order', keys) : [];
  const tally = new Tally(context.settings);
  const enough = new AbortController();
  let left = shown;
  const result = await capture(context, reader, {
    dryRun: true,
    ...(keys && { filter: { entity: 'order', keys } }),
    ...(onProgress && { onProgress }),
    // Pages no larger than what is wanted. A record that is sent already does not count for capture, but does here.
    ...(Number.isFinite(limit) && { limit }),
    signal: signal ? AbortSignal.any([signal, enough.signal]) : enough.signal,
    onTouched: (records) => {
      for (const { entity, operation, parked } of records)
        if (entity === 'customer' && (operation === 'create' || operation === 'update'))
          tally.customers[parked === null ? operation : 'parked']++;
    },
    onJudged: async (page) => {
      tally.addCustomers([...page.customers, ...page.rows.filter(({ row }) => row.entity === 'customer')]);
      for (const one of page.rows) {
        if (one.row.entity === 'customer' || tally.orders.read >= limit) continue;
        tally.addOrder(one, one.row);
        if (left-- > 0) await onOrder?.(showOrder(context.settings, one, one.row, customerOf(page, one.row)));
      }
      if (tally.orders.read >= limit) enough.abort();
    },
  });
  const mapping = await remedyMapping(context.settings);
  const found = new Set(standing.map(({ sourceKey }) => sourceKey));
  return {
    funnel,
    orders: { ...tally.orders, waiting: result.waiting },
    customers: tally.customers,
    removed: result.removed,
    skippedLines: result.skippedLines,
    causes: tally.causes.list().map((one) => ({
      ...one,
      remedies: remediesFor(one.cause, one.entity, mapping),
    })),
    otherCauses: tally.causes.others,
    totals: tally.totals(),
    holds: result.holds,
    stopped: enough.signal.aborted ? null : (result.stopped?.reason ?? null),
    ineligible: standing.filter(({ unmet }) => unmet.length > 0),
    unknownKeys: (keys ?? []).filter((key) => !found.has(key)),
  };
}

function customerOf({ customers }: JudgedPage, { customerKey }: ReadOrder): JudgedRow | null {
  return customers.find(({ row }) => row.sourceKey === customerKey) ?? null;
}

interface Sums {
  orders: number;
  amount: bigint;
  compared: { orders: number; lines: bigint; erp: bigint; differing: number };
}

/** Counts and sums of a pass. */
class Tally {
  readonly orders = { read: 0, repeatedRows: 0, withoutLines: 0, create: 0, update: 0, unchanged: 0, parked: 0 };
  readonly customers = { create: 0, update: 0, parked: 0 };
  readonly causes = new Causes();
  readonly #sums = new Map<string, Sums>();
  /** Customers whose problems are counted: one comes with each page of its orders. */
  readonly #customers = new Set<string>();

  constructor(private readonly settings: Settings) {}

  addOrder(judged: JudgedRow, order: ReadOrder): void {
    this.orders.read++;
    this.orders.repeatedRows += (order.rowsOfKey ?? 1) - 1;
    // A row that comes several times has no lines of its own.
    if (order.lineRows && order.lineRows.length === (order.skippedLines ?? 0)) this.orders.withoutLines++;
    this.orders[outcomeOf(judged)]++;
    this.#addProblems(judged);
    this.#addAmounts(judged, order);
  }

  addCustomers(customers: readonly JudgedRow[]): void {
    for (const one of customers) {
      if (one.parked === null || this.#customers.has(one.row.sourceKey)) continue;
      this.#customers.add(one.row.sourceKey);
      this.#addProblems(one);
    }
  }

  #addProblems({ row, parked }: JudgedRow): void {
    if (parked === null) return;
    const { entity, sourceKey, content } = row;
    const single = parked.code === 'several_problems' ? parked.problems : [parked];
    this.causes.add({ entity, sourceKey }, content.mapped ? single : content.problems);
  }

  #addAmounts({ parked }: JudgedRow, { content, totals, currency = this.settings.amounts.currency }: ReadOrder): void {
    const sums = this.#sums.get(currency) ?? {
      orders: 0,
      amount: 0n,
      compared: { orders: 0, lines: 0n, erp: 0n, differing: 0 },
    };
    this.#sums.set(currency, sums);
    if (parked === null && content.mapped) {
      sums.orders++;
      sums.amount += orderTotal(content.record.items);
    }
    if (totals === null) return;
    sums.compared.orders++;
    sums.compared.lines += BigInt(totals.lines);
    sums.compared.erp += BigInt(totals.header);
    if (totals.lines !== totals.header) sums.compared.differing++;
  }

  totals(): MoneyTotal[] {
    return [...this.#sums].map(([currency, { orders, amount, compared }]) => ({
      currency,
      orders,
      amount: `${amount}`,
      compared: { ...compared, lines: `${compared.lines}`, erp: `${compared.erp}` },
    }));
  }
}
