import { Argument, type Command, Option } from 'commander';
import { nextMonth } from '../../operator/reconcile/period.js';
import { repairFindings } from '../../operator/reconcile/reconcile-actions.js';
import {
  lastRun,
  type ReconcileAsks,
  type Reconciliation,
  type Subject,
  subjects,
} from '../../operator/reconcile/reconcile-rows.js';
import { freshMs, planRepair, type RepairPlan } from '../../operator/reconcile/repair.js';
import { whyNotAsked } from '../../operator/reconcile/service-side.js';
import { startReconcile } from '../../operator/reconcile/start-run.js';
import { summaryOf } from '../../operator/reconcile/summary.js';
import type { SyncResult } from '../../operator/sync.js';
import { tell } from '../../words/words.js';
import { actionContext, asUsage } from '../actions/carry-out.js';
import {
  type CommandApp,
  confirm,
  exitCode,
  inApp,
  jsonCommand,
  limitOption,
  namedHolds,
  parseRange,
  UsageError,
} from '../command.js';
import { progressBar } from '../terminal/progress-bar.js';
import { stopSignal } from '../terminal/stop-signal.js';
import { writeError } from '../terminal/streams.js';
import { showSummary } from './show-summary.js';

interface ReconcileOptions {
  from?: string;
  to?: string;
  month?: string;
  again?: boolean;
  repair?: boolean;
  list?: string;
  yes?: boolean;
  reason?: string;
  csv?: string;
  report?: string;
  limit: number;
}

export function reconcileCommand(): Command {
  return jsonCommand(
    'reconcile',
    'Compare what the ERP has with what the service has, record by record and field by field, and list where they differ.',
    'waybill reconcile orders --from 2026-11-01 --to 2026-12-01',
  )
    .addArgument(new Argument('<what>', 'what to compare').choices(subjects))
    .option('--from <date>', 'dated from here on (included), by the column of startFrom, else by changedAt')
    .option('--to <date>', 'dated before this day or time, in erp.timeZone')
    .option('--month <month>', 'dated in this month, such as 2026-11')
    .option('--again', 'begin anew, also where the last comparison was cut short')
    .option('--csv <file>', 'write all that was found into a new file (- is stdout)')
    .option('--report <folder>', 'write the report of a month (HTML and CSV) into this folder')
    .option('--repair', 'after showing the list: send what is missing, correct what differs, remove what was deleted')
    .option('--reason <text>', 'why, for the audit; needed with --repair')
    .option('--list <fingerprint>', 'repair only this list, as it was shown')
    .addOption(new Option('--yes', 'do not ask; with --list alone'))
    .addOption(limitOption('show at most n of what was found', 20))
    .action(
      inApp(reconcileAndShow, {
        needsStore: true,
        check: ({ from, to, month, repair: repairs, list, yes, reason, csv, report }: ReconcileOptions, command) => {
          if (month && (from || to)) throw new UsageError('--month names the dates: leave out --from and --to.');
          if (report && !month) throw new UsageError('--report needs the month: --month 2026-11.');
          if (yes && !list)
            throw new UsageError(
              '--yes needs the list that you have seen: --list FINGERPRINT (it stands under the list).',
            );
          if ((list || yes) && !repairs) throw new UsageError('--list and --yes go with --repair.');
          if (repairs && !reason) throw new UsageError('Say why: --reason "…". Or look first, without --repair.');
          if (command.args[0] === 'invoices' && (from || to))
            throw new UsageError('The list of invoices is compared whole: leave out --from and --to.');
          if (repairs && command.args[0] === 'invoices')
            throw new UsageError('A comparison of invoices is its own repair: leave out --repair.');
          if (csv === '-' && (command.opts().json || repairs || report))
            throw new UsageError('--csv - fills stdout: leave out --json, --repair and --report.');
        },
      }),
    );
}

async function reconcileAndShow(app: CommandApp, options: ReconcileOptions, subject: Subject): Promise<number> {
  const { output } = app;
  const why = whyNotAsked(app.settings, subject);
  if (why !== null) throw new UsageError(`${tell(why, output)}.`);
  const asks = asksOf(subject === 'invoices' ? {} : options, app.settings.erp.timeZone);
  if (options.month !== undefined) rangeOf(options.month);
  const run = (await recentRun(app, options, subject, asks)) ?? (await compare(app, options, subject, asks));
  const summary = await summaryOf(app, run, { limit: options.limit });
  const inJson = { ...summary, findings: summary.findings.map(({ id: _, ...finding }) => finding) };
  const plan = run.state === 'done' ? await planRepair(app.context, run) : null;
  if (run.state === 'done') await writeFiles(app, run, options);
  // Only the file goes to stdout.
  const isCsv = options.csv === '-';
  if (!isCsv) showSummary(app, summary, plan, options);
  if (run.state !== 'done') {
    output.json({ ...inJson, repair: null });
    const stopped = `Stopped: ${run.reason ? tell(run.reason, output) : 'no reason is known'}. The same command goes on from here.`;
    if (isCsv) writeError(stopped);
    else output.line(stopped);
    return exitCode.failed;
  }
  const differs = Object.values(run.tally.found).some((count) => count > 0);
  if (!options.repair || plan === null) {
    output.json({ ...inJson, plan });
    return differs ? exitCode.waitsForPerson : exitCode.done;
  }
  return repairAndShow(app, options, { run, plan, summary: inJson });
}

/** Two ends of a range, as a person gives them. */
function asksOf({ from, to, month }: Pick<ReconcileOptions, 'from' | 'to' | 'month'>, timeZone: string): ReconcileAsks {
  const [first, end] = month === undefined ? [from, to] : rangeOf(month);
  const [fromMs = null, toMs = null] = parseRange(['--from', first], ['--to', end], timeZone);
  return { from: first ?? null, to: end ?? null, fromMs, toMs };
}

function rangeOf(month: string): [string, string] {
  const [, year = '', nth = ''] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(month) ?? [];
  if (year === '') throw new UsageError(`--month: "${month}" is not a month. Write 2026-11.`);
  return [`${month}-01`, nextMonth(Number(year), Number(nth))];
}

async function recentRun(
  { context }: CommandApp,
  { repair: repairs, again }: ReconcileOptions,
  subject: Subject,
  asks: ReconcileAsks,
): Promise<Reconciliation | null> {
  if (!repairs || again) return null;
  const run = await context.store.read('look for the last comparison', (tx) => lastRun(tx, subject));
  const isSame = run?.state === 'done' && JSON.stringify(run.asks) === JSON.stringify(asks);
  return isSame && (run.endedAt ?? 0) > context.nowMs() - freshMs ? run : null;
}

async function compare(
  app: CommandApp,
  { again = false }: ReconcileOptions,
  subject: Subject,
  asks: ReconcileAsks,
): Promise<Reconciliation> {
  const reader = await app.reader();
  await reader.check();
  const stop = stopSignal();
  const bar = progressBar();
  try {
    const { signal } = stop;
    return await startReconcile(app.context, { reader, client: app.client }, subject, asks, {
      again,
      signal,
      onProgress: ({ done, total }) => bar.show({ stage: 'compare', done, total }),
      onWatch: (holder) => writeError(`${holder} talks to the service: it compares, and this command watches.`),
    });
  } finally {
    bar.stop();
    stop.release();
  }
}

async function writeFiles(
  app: CommandApp,
  run: Reconciliation,
  { csv, report, month }: ReconcileOptions,
): Promise<void> {
  if (csv === undefined && report === undefined) return;
  const { writeFindings, writeReport } = await import('./write-report.js');
  if (csv !== undefined) await writeFindings(app, run, csv);
  if (report !== undefined) await writeReport(app, run, report, month ?? '');
}

async function repairAndShow(
  app: CommandApp,
  { list, yes, reason = '' }: ReconcileOptions,
  { run, plan, summary }: { run: Reconciliation; plan: RepairPlan; summary: object },
): Promise<number> {
  const { output } = app;
  if (list !== undefined && list !== plan.fingerprint) {
    output.json({ ...summary, plan, repaired: null });
    output.line(`Nothing was done: the list is ${plan.fingerprint} by now, not ${list}.`);
    return exitCode.waitsForPerson;
  }
  if (plan.count === 0) {
    output.json({ ...summary, plan, repaired: null });
    output.line('There is nothing that could be repaired.');
    return plan.left.length > 0 ? exitCode.waitsForPerson : exitCode.done;
  }
  if (!(await confirm(`Repair ${plan.count} of what was found (list ${plan.fingerprint})?`, yes))) {
    output.line('Nothing was done.');
    return exitCode.failed;
  }
  const stop = stopSignal();
  const bar = progressBar();
  try {
    const watch = { signal: stop.signal, onProgress: bar.show };
    const preview = await repairFindings.preview(actionContext(app), null, { run: `${run.id}` }).catch(asUsage);
    const { left, data } = await preview.act({ ...actionContext(app), watch }, { reason, insists: false });
    const { sync } = data as { sync?: SyncResult };
    if (sync === undefined) throw new UsageError(left.map(({ why }) => tell(why, output)).join('. '));
    bar.stop();
    const { capture, deliver, open } = sync;
    const movedOn = left.reduce((sum, { why }) => sum + (why.code === 'moved_on' ? why.records : 0), 0);
    const { captured = null, removed = null, held = 0, holds = [], stopped = null } = capture ?? {};
    const inWords = namedHolds(holds.map((hold) => tell(hold)));
    const repaired = { captured, removed, held, ...inWords, open, left: movedOn };
    output.json({ ...summary, plan, repaired });
    output.lines(
      captured &&
        removed &&
        `Captured ${captured.orders} orders and ${captured.customers} customers, and the removal of ${removed.orders + removed.customers}.`,
      ...holds.map((hold) => `Held: ${tell(hold)}. Look at them: waybill confirm --dry-run`),
      movedOn > 0 && `${movedOn} had moved on meanwhile and were left alone.`,
      stopped && `Capture stopped: ${output.tell(stopped.reason)}`,
      deliver?.stopped ? `Delivery stopped: ${output.tell(deliver.stopped)}` : null,
      open > 0 && `${open} messages are still open: waybill outbox`,
      `Compare again to see what is left: waybill reconcile ${run.subject} --again`,
    );
    if (held > 0 || plan.left.length > 0) return exitCode.waitsForPerson;
    return stopped || open > 0 ? exitCode.failed : exitCode.done;
  } finally {
    bar.stop();
    stop.release();
  }
}
