import { DateTime } from 'luxon';
import { shorten, span } from '../../operator/format.js';
import { secondsAtLimits } from '../../operator/reconcile/plan-resync.js';
import {
  lastRun,
  listFindings,
  type ReconcileAsks,
  type Reconciliation,
  readRun,
  type Subject,
  subjects,
} from '../../operator/reconcile/reconcile-rows.js';
import { askForRepair, freshMs, planRepair } from '../../operator/reconcile/repair.js';
import { nextMonth } from '../../operator/reconcile/report.js';
import { whyNotAsked } from '../../operator/reconcile/service-side.js';
import { askForReconcile, countRecords } from '../../operator/reconcile/start-run.js';
import { causeWords, detailOf } from '../../operator/reconcile/summary.js';
import type { JobContext } from '../../ops/job-context.js';
import { type Prepared, WrongAction } from './prepare.js';

const shownRows = 20;
/** Nothing of a preview of messages. */
const plain = { isAll: true, totals: null, rows: [], spread: [], left: [] };

/** Decides about a comparison of both sides, or about a repair of what one has found. Writes nothing. @throws WrongAction */
export function prepareReconcile(context: JobContext, person: string, query: URLSearchParams): Promise<Prepared> {
  return query.get('action') === 'reconcile_repair'
    ? prepareRepair(context, person, query)
    : prepareComparison(context, person, query);
}

async function prepareComparison(context: JobContext, person: string, query: URLSearchParams): Promise<Prepared> {
  const subject = subjects.find((one) => one === query.get('subject'));
  if (subject === undefined) throw new WrongAction('Say what is to be compared.');
  const { settings, store } = context;
  const why = whyNotAsked(settings, subject);
  if (why !== null) throw new WrongAction(`This can not be compared: ${why}.`);
  const month = query.get('month')?.trim() || null;
  if (month !== null && subject === 'invoices') throw new WrongAction('The list of invoices is compared whole.');
  const asks = asksOf(month, settings.erp.timeZone);
  const again = query.get('again') !== null;
  const last = await store.read('look for a comparison', (tx) => lastRun(tx, subject));
  const goesOn = last !== null && last.state !== 'done' && !again && JSON.stringify(last.asks) === JSON.stringify(asks);
  return {
    ...plain,
    person,
    question: `Compare ${subject}${month === null ? '' : ` of ${month}`}`,
    outcomeInWords: 'The daemon was asked to compare',
    noun: ['comparison', 'comparisons'],
    count: 1,
    notes: [
      ...(await costOf({ store, settings }, subject)),
      ...(goesOn ? ['It goes on where the last one is.'] : []),
      ...(last?.state === 'running' && !goesOn ? ['The one that is under way stops for it.'] : []),
    ],
    back: ['Reconcile', `reconcile?subject=${subject}`],
    act: async (acting, reason) => {
      await askForReconcile(acting, { subject, asks, again, reason });
      return { done: 1, left: [], reason };
    },
  };
}

/** What a comparison takes of the limit. */
async function costOf(
  { store, settings }: Pick<JobContext, 'store' | 'settings'>,
  subject: Subject,
): Promise<string[]> {
  if (subject === 'invoices')
    return ['The list is read page by page until it is proven, as by any pull, and brought up to date by that.'];
  const requests = await countRecords(store, subject);
  const seconds = secondsAtLimits(requests, settings.service.limits);
  const time = seconds === null ? 'no limit is configured' : `${span(seconds * 1000)} at the limit`;
  return [
    `The service is asked for ${requests} ${subject} one by one, or for those of the month alone: ${time}, and longer where anything else waits, because everything else goes first.`,
    'Nothing is changed by it, on either side.',
  ];
}

/** @throws WrongAction */
function asksOf(month: string | null, timeZone: string): ReconcileAsks {
  if (month === null) return { from: null, to: null, fromMs: null, toMs: null };
  const [, year, nth] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month) ?? [];
  if (year === undefined) throw new WrongAction('A month is written as 2026-11.');
  const [from, to] = [`${month}-01`, nextMonth(Number(year), Number(nth))];
  const ms = (day: string) => DateTime.fromISO(day, { zone: timeZone }).toMillis();
  return { from, to, fromMs: ms(from), toMs: ms(to) };
}

async function prepareRepair(context: JobContext, person: string, query: URLSearchParams): Promise<Prepared> {
  const { store, nowMs } = context;
  const id = Number(/^\d{1,15}$/.exec(query.get('run') ?? '')?.[0] ?? Number.NaN);
  const run = Number.isNaN(id) ? null : await store.read('look for a comparison', (tx) => readRun(tx, id));
  if (run === null) throw new WrongAction('There is no such comparison any more.');
  if (run.state !== 'done' || run.subject === 'invoices')
    throw new WrongAction('Only a comparison of orders or customers that has ended can be repaired.');
  if ((run.endedAt ?? 0) < nowMs() - freshMs)
    throw new WrongAction('This comparison is older than an hour: compare anew, and look at its list.');
  const shown = await planRepair(context, run);
  const causes = shown.repairs.map(({ cause }) => cause);
  const first = await store.read('read what was found', (tx) => listFindings(tx, run.id, { limit: shownRows, causes }));
  return {
    ...plain,
    person,
    question: `Repair ${run.subject}`,
    outcomeInWords: 'Given to the outbox',
    noun: ['record', 'records'],
    count: shown.count,
    notes: [
      `This is list ${shown.fingerprint}. The records are marked; then a sweep captures them, and the outbox delivers them past all brakes.`,
      ...(causes.includes('deleted_in_erp')
        ? ['A record counts as deleted when two sweeps in a row have missed it: its removal follows by itself.']
        : []),
    ],
    back: ['Reconcile', `reconcile?subject=${run.subject}`],
    rows: first.map((one) => ({
      entity: run.subject === 'orders' ? ('order' as const) : ('customer' as const),
      sourceKey: one.sourceKey,
      number: one.number,
      what: one.kind,
      state: one.serviceId ?? '',
      why: shorten(detailOf(one), 200),
      becomes: becomes(one.cause),
    })),
    spread: shown.repairs.map(({ cause, count }) => ({ name: causeWords[cause], count })),
    left: shown.left.map(({ cause, count, why }) => ({
      count,
      why: `${causeWords[cause]}: ${why}`,
      example: undefined,
    })),
    act: (acting, reason) => repairWhatWasShown(acting, { run, shown, reason }),
  };
}

function becomes(cause: string): string {
  if (cause === 'deleted_in_erp') return 'removed at the service';
  return cause === 'changed' ? 'sent with all its fields' : 'sent';
}

async function repairWhatWasShown(
  context: JobContext,
  { run, shown, reason }: { run: Reconciliation; shown: Awaited<ReturnType<typeof planRepair>>; reason: string },
) {
  const plan = await planRepair(context, run);
  const leftAlone = (why: string) => [{ entity: null, key: '', number: null, why }];
  if (plan.fingerprint !== shown.fingerprint || plan.count !== shown.count)
    return { done: 0, left: leftAlone('the list is another one by now: look at it again'), reason };
  const { left } = await askForRepair(context, { run, plan, reason });
  return {
    done: plan.count - left,
    left: left === 0 ? [] : leftAlone(`${left} of them had moved on since they were compared`),
    reason,
  };
}
