import { type Fate, planResync, type ResyncPlan } from '../../operator/reconcile/plan-resync.js';
import { span } from '../../words/span.js';
import { tell } from '../../words/words.js';
import { type CommandApp, exitCode, namedHolds, type Plural } from '../command.js';
import { progressBar } from '../terminal/progress-bar.js';
import { stopSignal } from '../terminal/stop-signal.js';

/** Shows what a resync would make of each record. */
export async function showResync(
  { context, reader, output }: CommandApp,
  plural: Plural,
  filter: Parameters<typeof planResync>[2],
): Promise<number> {
  const stop = stopSignal();
  const bar = progressBar();
  let plan: ResyncPlan;
  try {
    const onProgress = ({ read: done, total }: { read: number; total: number | null }) =>
      bar.show({ stage: 'plan', done, total });
    plan = await planResync(context, await reader(), filter, { signal: stop.signal, onProgress });
  } finally {
    bar.stop();
    stop.release();
  }
  output.json({ ...plan, ...namedHolds(plan.holds.map((hold) => tell(hold))) });
  const { customers, requests, seconds } = plan;
  output.table(
    ['count', plural],
    fates.map(([fate, words]) => [plan[fate], words]),
  );
  const along = customers.new + customers.changed;
  output.lines(
    along > 0 && `${along} customers come along (${customers.new} new, ${customers.changed} changed).`,
    `Would update ${plan.updates} ${plural} and create ${plan.creates}. By field that changes:`,
    ...plan.fields.map(({ field, count }) => `  ${field}: ${count}`),
    ...plan.holds.map((hold) => `Would be held: ${tell(hold)}`),
    seconds === null
      ? `${requests} requests with what waits already; no limit is configured (service.limits).`
      : `${requests} requests with what waits already: ${span(seconds * 1000)} at the limit.`,
    plan.stopped && `The ERP was not read to its end: ${output.tell(plan.stopped)}`,
    'Nothing was sent. Waybill holds a change of the mapping until `waybill confirm` sends or adopts it.',
  );
  return plan.stopped ? exitCode.failed : exitCode.done;
}

const fates: readonly (readonly [Fate, string])[] = [
  ['new', 'new: created'],
  ['changed', 'changed: updated'],
  ['identical', 'identical: left alone'],
  ['underWay', 'on their way already'],
  ['waiting', 'wait for their lines first'],
  ['inDoubt', 'in doubt: may have been sent, left to their next try'],
  ['parked', 'parked: a person decides (waybill outbox --state parked)'],
  ['held', 'on hold (waybill confirm --dry-run)'],
];
