import type { KnownInvoice } from '../../inbound/invoices/list-invoices.js';
import { type PullResult, pull } from '../../inbound/invoices/pull.js';
import { differingInvoices } from '../../inbound/invoices/swap-invoices.js';
import type { ReconcileFact } from '../../model/facts/reconcile.js';
import { outside } from '../../model/outside.js';
import type { JobContext } from '../../ops/job-context.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import type { ServiceClient } from '../../service/service-client.js';
import type { Tx } from '../../store/store.js';
import type { FieldDifference } from './compare-record.js';
import type { Judgement } from './name-finding.js';
import type { ComparedPage, NewFinding, Reconciliation, Tally } from './reconcile-rows.js';
import { Stopped } from './service-side.js';
import { addSums, type DaySum } from './sums.js';

/** The number of changes that are listed; the rest is counted. */
const mostListed = 5_000;

/**
 * Compares the list of invoices with the service's by a pull, whose proof is the comparison's: what it added, changed and took
 * off is what the two sides did not agree on. The pull also is the repair. Sums are by due date, before and after it.
 */
export async function reconcileInvoices(
  context: JobContext,
  { client, lease }: { client: ServiceClient; lease: ServiceLease },
  run: Reconciliation,
  signal?: AbortSignal,
): Promise<ComparedPage> {
  const { settings } = context;
  if (!settings.invoices.enabled) throw new Stopped({ code: 'invoices_not_enabled' });
  const { currency } = settings.amounts;
  const seen = { before: [] as DayRow[], after: [] as DayRow[], findings: [] as NewFinding[] };
  const pulled = await pull(context, client, lease, {
    signal,
    async aroundSwap(tx, nowMs, swap) {
      seen.before = await listedByDay(tx);
      const known = new Map((await differingInvoices(tx, mostListed)).map((one) => [one.invoiceNo, one]));
      const swapped = await swap();
      seen.after = await listedByDay(tx);
      const changes = await changesSince(tx, nowMs);
      seen.findings = changes.map((row) => findingOf(row, known.get(row.invoiceNo), nowMs, currency));
      return swapped;
    },
  });
  if (pulled.outcome === 'failed' || pulled.outcome === 'held')
    throw new Stopped(pulled.reason ?? { code: 'list_not_read' });
  const { before, after, findings } = seen;
  const sums = addSums(
    before.map((one) => sumOf(one, currency, 'erp')),
    after.map((one) => sumOf(one, currency, 'service')),
  );
  const tally: Tally = {
    ...run.tally,
    read: pulled.unpaid,
    total: pulled.unpaid,
    same: Math.max(0, pulled.unpaid - pulled.added - pulled.changed),
    found: { missing: pulled.added, different: pulled.changed, extra: pulled.unlisted, unjudged: pulled.missed },
    requests: run.tally.requests + pulled.pages + pulled.asked,
    proof: proofOf(pulled),
  };
  return { findings, sums, tally, phase: 'ended', position: null };
}

function proofOf({ outcome, passes, pages, reason }: PullResult): ReconcileFact {
  return outcome === 'proven'
    ? { code: 'list_proven', passes, pages }
    : { code: 'list_not_proven', passes, pages, reason };
}

interface DayRow {
  day: string;
  records: number;
  total: bigint;
}

/** The invoices that are listed as due, by due date. */
async function listedByDay(tx: Tx): Promise<DayRow[]> {
  const days = await tx.rows<{ day: string; records: number; total: string }>(
    `SELECT due_date AS day, COUNT(*) AS records, ${tx.dialect.sumText('amount')} AS total FROM invoice
      WHERE unlisted_at IS NULL GROUP BY due_date ORDER BY due_date`,
  );
  return days.map((one) => ({ ...one, total: tx.dialect.toSum(one.total) }));
}

function sumOf({ day, records, total }: DayRow, currency: string, side: 'erp' | 'service'): DaySum {
  const isErp = side === 'erp';
  return {
    day,
    currency,
    erpRecords: isErp ? records : 0,
    erpTotal: isErp ? total : 0n,
    serviceRecords: isErp ? 0 : records,
    serviceTotal: isErp ? 0n : total,
  };
}

interface ChangedInvoice extends KnownInvoice {
  missedAt: number | null;
}

async function changesSince(tx: Tx, since: number): Promise<ChangedInvoice[]> {
  return tx.rows(
    `SELECT invoice_no, customer_code, amount, due_date, status, first_listed_at, unlisted_at, missed_at, left_status FROM invoice
      WHERE last_listed_at>=? OR unlisted_at>=? OR (missed_at IS NOT NULL AND unlisted_at IS NULL)
      ORDER BY invoice_no LIMIT ${mostListed}`,
    [since, since],
  );
}

function judgeChange(
  { unlistedAt, leftStatus, missedAt, status }: ChangedInvoice,
  isNew: boolean,
): Pick<Judgement, 'kind' | 'cause' | 'reason'> {
  if (unlistedAt !== null) {
    const state = leftStatus === null ? null : outside(leftStatus);
    return { kind: 'extra', cause: 'left_list', reason: { code: 'invoice_off_list', state } };
  }
  if (missedAt !== null) return { kind: 'unjudged', cause: 'not_proven', reason: { code: 'invoice_perhaps_off_list' } };
  if (isNew)
    return { kind: 'missing', cause: 'new_on_list', reason: { code: 'invoice_on_list', state: outside(status) } };
  return { kind: 'different', cause: 'changed', reason: { code: 'invoice_changed' } };
}

/** @param known what was known of it before, if the list shows it in another way */
function findingOf(row: ChangedInvoice, known: KnownInvoice | undefined, since: number, currency: string): NewFinding {
  const { invoiceNo, amount, dueDate, firstListedAt } = row;
  const isNew = firstListedAt >= since || (known?.unlistedAt ?? null) !== null;
  const judged = judgeChange(row, isNew);
  const isDifferent = judged.kind === 'different';
  return {
    ...judged,
    fields: isDifferent && known !== undefined ? differencesOf(known, row) : [],
    entity: 'invoice',
    sourceKey: invoiceNo,
    number: invoiceNo,
    serviceId: invoiceNo,
    day: dueDate,
    currency,
    erpTotal: judged.cause === 'new_on_list' ? null : `${isDifferent ? (known?.amount ?? amount) : amount}`,
    serviceTotal: judged.cause === 'left_list' ? null : `${amount}`,
  };
}

const compared = { amount: 'amount', due_date: 'dueDate', customer_code: 'customerCode', status: 'status' } as const;

function differencesOf(known: KnownInvoice, now: KnownInvoice): FieldDifference[] {
  return Object.entries(compared).flatMap(([field, name]) =>
    known[name] === now[name] ? [] : [{ field, erp: known[name], service: now[name] }],
  );
}
