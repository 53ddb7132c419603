import type { Fact } from '../../model/facts/fact.js';
import type { JobContext } from '../../ops/job-context.js';
import { tell } from '../../words/words.js';
import type { FieldDifference } from './compare-record.js';
import type { Cause, FindingKind } from './judge-pair.js';
import {
  countCauses,
  type Finding,
  listFindings,
  listSums,
  type Reconciliation,
  type Subject,
} from './reconcile-rows.js';
import type { RepairPlan } from './repair.js';
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
  proof: string;
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
export function proofOf({ subject, phase, tally }: Reconciliation): string {
  const { proof, requests, unread } = tally;
  if (proof !== null) return tell(proof);
  if (requests === 0) return `The service was asked for none of the ${subject}: nothing is proven of what it has.`;
  return `${askedOf(subject, phase, unread)} What somebody else made there is in no list that Waybill reads: it can not be seen.`;
}

function askedOf(subject: Subject, phase: Reconciliation['phase'], unread: number): string {
  if (phase === 'known') return `Only some of the ${subject} that Waybill knows at the service were asked for yet.`;
  if (unread === 0) return `Each of the ${subject} that Waybill knows at the service was asked for, one by one.`;
  return `The service did not show ${unread} of the ${subject} that Waybill knows there: they stand in no sum. Each of the others was asked for, one by one.`;
}

/** One difference in words: `note: "A-1" in the ERP, nothing at the service`. */
function differenceInWords({ field, erp, service }: FieldDifference): string {
  const said = (value: FieldDifference['erp']) => (value === null ? 'nothing' : JSON.stringify(value));
  return `${field}: ${said(erp)} in the ERP, ${said(service)} at the service`;
}

export function detailOf({ fields, reason }: Finding): string {
  return fields.length > 0 ? fields.map(differenceInWords).join('; ') : tell(reason);
}

/**
 * The facts beside the list: the records that were not compared, the proof, and the findings that a repair leaves to a
 * person.
 */
export function remarksOf({ subject, filtered, unshown, proof }: Summary, left: RepairPlan['left']): string[] {
  const hidden = Object.entries(unshown).map(([name, count]) => `${name} (${count})`);
  return [
    filtered !== null &&
      filtered > 0 &&
      `${filtered} rows of the ERP may not be sent now (${subject}.pending, startFrom, cancelled); those that the service has were compared all the same.`,
    hidden.length > 0 && `The service never shows these fields, so that they were not compared: ${hidden.join(', ')}.`,
    proof,
    ...left.map(({ count, why }) => `${count} × ${tell(why)}.`),
  ].filter((line) => typeof line === 'string');
}
