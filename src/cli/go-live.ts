import type { Command } from 'commander';
import type { Settings } from '../config/settings.js';
import { doubtInWords } from '../daemon/read-status.js';
import { isInFile } from '../model/database-place.js';
import { goLive, type LiveState, readLiveState, standBy } from '../operator/allow-delivery.js';
import {
  type ForeseenDelivery,
  type ForeseenOrder,
  foreseeDelivery,
  withoutStartInWords,
} from '../operator/foresee-delivery.js';
import { amountWithCurrency } from '../operator/format.js';
import { type CommandApp, confirm, exitCode, inApp, jsonCommand, UsageError } from './command.js';

interface GoLiveOptions {
  dryRun?: boolean;
  standby?: boolean;
  firstInstallation?: boolean;
  yes?: boolean;
  reason: string;
}

export function goLiveCommand(): Command {
  return jsonCommand(
    'go-live',
    'Show what would be sent to the production service, and allow this store to send it.',
    'waybill go-live --dry-run',
  )
    .option('--dry-run', 'show it, allow nothing')
    .option('--standby', 'allow this machine to take over from the one that is live, on the same store')
    .option(
      '--first-installation',
      'no Waybill has sent records of this installation to this service before; asked for once, of a new store',
    )
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(
      inApp((app, options: GoLiveOptions) => (options.standby ? allowStandby(app, options) : allow(app, options))),
    );
}

async function allow(app: CommandApp, options: GoLiveOptions): Promise<number> {
  const { dryRun, yes, reason } = options;
  const { context, output, settings } = app;
  const reader = await app.reader();
  await reader.check();
  const shown = await foreseeDelivery(context, reader);
  const live = await readLiveState(context, reader.identity());
  const { identity, problem, before } = live;
  const asksForFirst = settings.service.environment === 'production' && live.isNew && !live.needsRecovery;
  if (options.firstInstallation && problem !== null && !live.isNew)
    throw new UsageError(
      'This store was live or recovered before, so this is no first installation. Leave out --first-installation.',
    );
  output.json({ ...identity, live: problem === null, problem, before, asksForFirst, ...shown });
  show(app, shown, live);
  if (settings.service.environment === 'sandbox') {
    output.line('This is a sandbox: it needs no go-live.');
    return exitCode.done;
  }
  if (dryRun) {
    output.lines(asksForFirst && !options.firstInstallation && `To be said    ${firstQuestion} ${ifNot}`);
    return exitCode.done;
  }
  if (live.needsRecovery) {
    output.line('First: waybill recover');
    return exitCode.waitsForPerson;
  }
  if (problem === null) {
    output.line('This store is live already.');
    return exitCode.done;
  }
  if (asksForFirst && !options.firstInstallation && !(await isFirstInstallation(yes))) {
    output.line(`Not live. ${ifNot}`);
    return exitCode.waitsForPerson;
  }
  if (!(await confirm('Send this, and from now on everything new?', yes))) return exitCode.failed;
  await goLive(context, identity, reason);
  output.line('Live. A running daemon starts to deliver at once. Without one: waybill sync, or npm start.');
  return exitCode.done;
}

const firstQuestion =
  'Is this the first installation, so that no Waybill has sent these records to this service before?';
const ifNot =
  'If one has, all of them would be sent again. Say first how to find out what was sent: `waybill recover --bindings FILE`, `--look-up`, `--from-service --sent-since DATE` or `--park`.';

/** @throws UsageError where nobody can be asked, and --yes does not say it */
async function isFirstInstallation(yes: boolean | undefined): Promise<boolean> {
  if (yes || !process.stdin.isTTY)
    throw new UsageError(`${firstQuestion} A new store can't know. If it is, add --first-installation. ${ifNot}`);
  return confirm(firstQuestion, false);
}

function show({ output, settings }: CommandApp, shown: ForeseenDelivery, { identity, problem }: LiveState): void {
  const { captured, open, removed } = shown;
  output.rows(14, [
    ['Service', `${identity.service} (${identity.environment})`],
    ['ERP', identity.erp],
    ['Installation', `${identity.installation} on ${identity.machine}`],
    ['Would send', `${captured.orders + open.orders} orders and ${captured.customers + open.customers} customers`],
    [
      'Would delete',
      removed.orders + removed.customers > 0 && `${removed.orders} orders and ${removed.customers} customers`,
    ],
    ['Total', totalsInWords(shown.ordersTotals, settings.amounts)],
    ['Oldest', orderInWords(shown.oldest)],
    ['Newest', orderInWords(shown.newest)],
    ['Left out', `${shown.excludedByStartFrom} older orders (orders.startFrom), for good`],
    ['Left out too', withoutStartInWords(shown, settings.orders)],
    ['Parked', shown.parked > 0 && `${shown.parked} cannot be sent as they are`],
    ['Doubt', doubtInWords(settings.service)],
    ['Now', problem && output.tell(problem)],
  ]);
}

/** Each currency has a total of its own: they are never added. */
function totalsInWords(totals: ForeseenDelivery['ordersTotals'], amounts: Settings['amounts']): string {
  const written = Object.entries(totals).map(([code, total]) => amountWithCurrency(amounts, total, code));
  return written.join(', ') || amountWithCurrency(amounts, 0, amounts.currency);
}

/** Another machine on the same store may stand by. A machine on a copy of the store would be a second sender. */
async function allowStandby(
  app: CommandApp,
  { dryRun, firstInstallation, yes, reason }: GoLiveOptions,
): Promise<number> {
  const { context, output } = app;
  if (isInFile(app.settings.store))
    throw new UsageError('A standby on another machine needs the same store: one in PostgreSQL, MySQL or MariaDB.');
  if (firstInstallation) throw new UsageError('--first-installation says nothing of a standby. Leave it out.');
  if (dryRun) throw new UsageError('--standby has nothing to show before. Leave out --dry-run.');
  const { identity, before } = await readLiveState(context, (await app.reader()).identity());
  if (!(await confirm(`Let ${identity.machine} take over${before ? ` from ${before.machine}` : ''}?`, yes)))
    return exitCode.failed;
  const problem = await standBy(context, identity, reason);
  output.json({ ...identity, standby: problem === null, problem });
  output.line(problem === null ? 'This machine may take over.' : `Not done: ${output.tell(problem)}.`);
  return problem === null ? exitCode.done : exitCode.failed;
}

function orderInWords(order: ForeseenOrder | null): string {
  return order ? `${order.number ?? order.key} ${order.changedAt ? `(changedAt ${order.changedAt})` : ''}` : '-';
}
