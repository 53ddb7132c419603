import { DateTime } from 'luxon';
import type { ChangeFact } from '../../model/facts/actions.js';
import type { Fact } from '../../model/facts/fact.js';
import type { JobContext } from '../../ops/job-context.js';
import { action, type LeftAlone, WrongAction } from '../actions/action.js';
import { nextMonth } from './period.js';
import { secondsAtLimits } from './plan-resync.js';
import { lastRun, listFindings, type ReconcileAsks, type Reconciliation, readRun, subjects } from './reconcile-rows.js';
import { askForRepair, freshMs, planRepair, repair } from './repair.js';
import { whyNotAsked } from './service-side.js';
import { askForReconcile, countRecords } from './start-run.js';
import { detailOf } from './summary.js';

const shownRows = 20;

/** Asks the daemon to compare both sides. */
export const compare = action({
  role: 'act',
  subject: 'none',
  inputs: {
    subject: { kind: 'text', placeholder: 'what', isRequired: true },
    month: { kind: 'text', placeholder: 'month' },
    again: { kind: 'flag' },
  },
  preview: async ({ settings, store }, _none, { subject: named, month, again }) => {
    const subject = subjects.find((one) => one === named);
    if (subject === undefined) throw new WrongAction({ code: 'subject_not_named' });
    const why = whyNotAsked(settings, subject);
    if (why !== null) throw new WrongAction({ code: 'not_comparable', reason: why });
    if (month !== null && subject === 'invoices') throw new WrongAction({ code: 'list_has_no_month' });
    const asks = asksOf(month, settings.erp.timeZone);
    const last = await store.read('look for a comparison', (tx) => lastRun(tx, subject));
    const goesOn =
      last !== null && last.state !== 'done' && !again && JSON.stringify(last.asks) === JSON.stringify(asks);
    const requests = subject === 'invoices' ? null : await countRecords(store, subject);
    return {
      ...{ matched: 1, count: 1, isAll: true, rows: [], skipped: [] },
      notes: [
        requests === null
          ? { code: 'compares_whole_list' }
          : {
              code: 'compares_records',
              subject,
              month,
              requests,
              seconds: secondsAtLimits(requests, settings.service.limits),
            },
        ...(goesOn ? [{ code: 'comparison_goes_on' } as const] : []),
        ...(last?.state === 'running' && !goesOn ? [{ code: 'comparison_replaces' } as const] : []),
      ],
      data: { subject },
      act: async (context, { reason }) => {
        await askForReconcile(context, { subject, asks, again, reason });
        return { done: 1, left: [] };
      },
    };
  },
});

/** @throws WrongAction */
function asksOf(month: string | null, timeZone: string): ReconcileAsks {
  if (month === null) return { from: null, to: null, fromMs: null, toMs: null };
  const [, year, nth] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month) ?? [];
  if (year === undefined) throw new WrongAction({ code: 'no_month' });
  const [from, to] = [`${month}-01`, nextMonth(Number(year), Number(nth))];
  const ms = (day: string) => DateTime.fromISO(day, { zone: timeZone }).toMillis();
  return { from, to, fromMs: ms(from), toMs: ms(to) };
}

/** Brings the service in line with the ERP where a comparison found that it is not. */
export const repairFindings = action({
  role: 'act',
  subject: 'none',
  inputs: { run: { kind: 'text', placeholder: 'id', isRequired: true } },
  preview: async (context, _none, { run: id }) => {
    const { store } = context;
    const run = await runToRepair(context, id);
    const { subject } = run;
    const plan = await planRepair(context, run);
    const causes = plan.repairs.map(({ cause }) => cause);
    const first = await store.read('read what was found', (tx) =>
      listFindings(tx, run.id, { limit: shownRows, causes }),
    );
    return {
      matched: plan.count + plan.left.reduce((sum, { count }) => sum + count, 0),
      count: plan.count,
      isAll: true,
      data: { subject },
      rows: first.map((one) => ({
        entity: subject === 'orders' ? ('order' as const) : ('customer' as const),
        sourceKey: one.sourceKey,
        number: one.number,
        what: one.kind,
        state: one.serviceId ?? '',
        why: detailOf(one),
        becomes: becomes(one.cause),
      })),
      skipped: plan.left.map(({ count, why }) => ({ why, count, examples: [] })),
      notes: [
        { code: 'would_repair', list: plan.fingerprint },
        ...(causes.includes('deleted_in_erp') ? [{ code: 'removal_follows' } as const] : []),
      ],
      spread: plan.repairs.map(({ cause, count }) => ({ what: { code: 'found_of_records', cause }, count })),
      act: async (acting, { reason }) => {
        const agreed = { run, plan: await planRepair(acting, run), reason };
        const leave = (why: Fact): LeftAlone[] => [{ entity: null, key: '', number: null, why }];
        if (agreed.plan.fingerprint !== plan.fingerprint || agreed.plan.count !== plan.count)
          return { done: 0, left: leave({ code: 'other_list' }) };
        const { reader, client, watch } = acting;
        const { left, ...data } =
          reader === null || client === null
            ? await askForRepair(acting, agreed)
            : await repair(acting, { reader: await reader(), client }, agreed, watch);
        return { done: plan.count - left, left: left === 0 ? [] : leave({ code: 'moved_on', records: left }), data };
      },
    };
  },
});

/** @throws WrongAction */
async function runToRepair({ store, nowMs }: JobContext, given: string | null): Promise<Reconciliation> {
  const id = Number(/^\d{1,15}$/.exec(given ?? '')?.[0] ?? Number.NaN);
  const run = Number.isNaN(id) ? null : await store.read('look for a comparison', (tx) => readRun(tx, id));
  if (run === null) throw new WrongAction({ code: 'comparison_gone' });
  if (run.state !== 'done' || run.subject === 'invoices') throw new WrongAction({ code: 'comparison_not_repairable' });
  if ((run.endedAt ?? 0) < nowMs() - freshMs) throw new WrongAction({ code: 'comparison_too_old' });
  return run;
}

function becomes(cause: string): ChangeFact {
  if (cause === 'deleted_in_erp') return { code: 'goes_out', as: 'removal' };
  return { code: 'goes_out', as: cause === 'changed' ? 'whole' : 'it_is' };
}
