import { amountWithCurrency, shorten } from '../../operator/format.js';
import type { RepairPlan } from '../../operator/reconcile/repair.js';
import { detailOf, type Summary, type TextSum } from '../../operator/reconcile/summary.js';
import { remarksOf } from '../../telling/remarks.js';
import { findingCauses } from '../../words/en/reconcile.js';
import { tell } from '../../words/words.js';
import type { CommandApp } from '../command.js';

export function showSummary(
  { output, settings }: CommandApp,
  summary: Summary,
  plan: RepairPlan | null,
  { limit }: { limit: number },
): void {
  const { subject, read, same, requests, causes, findings, days, totals } = summary;
  const amount = (minor: string, currency: string) => amountWithCurrency(settings.amounts, minor, currency);
  output.line(`${read} ${subject} compared in ${requests} requests: ${same} agree.`);
  if (causes.length > 0) {
    output.table(
      ['count', 'what'],
      causes.map(({ cause, count }) => [count, findingCauses[cause].text]),
    );
    output.table(
      ['what', 'key', 'number', 'at the service', 'date', 'difference'],
      findings.map((one) => [
        one.kind,
        one.sourceKey,
        one.number === one.sourceKey ? null : one.number,
        one.serviceId === one.sourceKey ? null : one.serviceId,
        one.day,
        shorten(tell(detailOf(one)), 100),
      ]),
      { total: causes.reduce((sum, { count }) => sum + count, 0) },
    );
  }
  const head = [
    'currency',
    subject === 'invoices' ? 'before' : 'ERP',
    '',
    subject === 'invoices' ? 'now' : 'service',
    '',
  ];
  const row = (one: Omit<TextSum, 'day'>) => [
    one.currency,
    one.erpRecords,
    amount(one.erpTotal, one.currency),
    one.serviceRecords,
    amount(one.serviceTotal, one.currency),
  ];
  if (days.length > 0)
    output.table(
      ['day', ...head],
      days.slice(0, limit).map((one) => [one.day || 'no date', ...row(one)]),
      { total: days.length },
    );
  if (totals.length > 0) output.table(head, totals.map(row));
  output.lines(
    ...remarksOf(summary, plan?.left ?? []),
    plan !== null &&
      plan.count > 0 &&
      `${plan.count} can be repaired: waybill reconcile ${subject}${rangeWords(summary)} --repair --reason "…" --list ${plan.fingerprint}`,
  );
}

function rangeWords({ from, to }: Summary): string {
  return `${from === null ? '' : ` --from ${from}`}${to === null ? '' : ` --to ${to}`}`;
}
