import type { Fact } from '../../model/facts/fact.js';
import type { JobContext } from '../../ops/job-context.js';
import type { Cause, FindingKind } from './name-finding.js';
import { countCauses, type Finding, listFindings, listSums, type Reconciliation } from './reconcile-rows.js';
import { type DaySum, totalsByCurrency } from './sums.js';

/** A comparison in the form in which people read it. Amounts are text in minor units. */
export interface Summary {
  subject: Reconciliation['subject'];
  state: Reconciliation['state'];
  reason: Fact | null;
  from: string | null;
  to: string | null;
  read: number;
  same: number;
  requests: number;
  found: Record<FindingKind, number>;
  causes: { kind: FindingKind; cause: Cause; count: number }[];
  findings: (Finding & { id: number })[];
  /** Days and currencies on which the two sides do not amount to the same. */
  days: TextSum[];
  totals: Omit<TextSum, 'day'>[];
  filtered: number | null;
  /** Fields that the service never shows, with how many records have them. */
  unshown: Record<string, number>;
  proof: Fact;
}

export interface TextSum extends Omit<DaySum, 'erpTotal' | 'serviceTotal'> {
  erpTotal: string;
  serviceTotal: string;
}

/**
 * The result of a comparison, with the first of its findings; with those after an id and of these causes, where they
 * are named.
 */
export async function summaryOf(
  { store }: Pick<JobContext, 'store'>,
  run: Reconciliation,
  which: Parameters<typeof listFindings>[2],
): Promise<Summary> {
  const { causes, findings, sums } = await store.read('read what was found', async (tx) => ({
    causes: await countCauses(tx, run.id),
    findings: await listFindings(tx, run.id, which),
    sums: await listSums(tx, run.id),
  }));
  const inText = <T extends Omit<DaySum, 'day'>>(sum: T) => {
    return { ...sum, erpTotal: `${sum.erpTotal}`, serviceTotal: `${sum.serviceTotal}` };
  };
  const { subject, state, reason, asks, tally } = run;
  const { read, same, requests, found, filtered, unshown } = tally;
  return {
    subject,
    state,
    reason,
    from: asks.from,
    to: asks.to,
    read,
    same,
    requests,
    found,
    causes,
    findings,
    days: sums.filter(differs).map(inText),
    totals: totalsByCurrency(sums).map(inText),
    filtered,
    unshown: Object.fromEntries(Object.entries(unshown).filter(([name]) => !tally.shown.includes(name))),
    proof: proofOf(run),
  };
}

function differs({ erpTotal, serviceTotal, erpRecords, serviceRecords }: DaySum): boolean {
  return erpTotal !== serviceTotal || erpRecords !== serviceRecords;
}

/** The claims that a comparison proves, and its blind spots. */
export function proofOf({ subject, phase, tally }: Reconciliation): Fact {
  const { proof, requests, unread } = tally;
  if (proof !== null) return proof;
  if (requests === 0) return { code: 'none_asked', subject };
  return { code: 'known_asked', subject, isAll: phase !== 'known', unread };
}

/** The objections to a record. */
export function detailOf({ fields, reason }: Pick<Finding, 'fields' | 'reason'>): Fact {
  return fields.length > 0 ? { code: 'values_differ', fields } : reason;
}
