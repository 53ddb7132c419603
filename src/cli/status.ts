import type { Command } from 'commander';
import { type App, openApp, secretsOf } from '../app.js';
import { checkStatus, readStatus, type Status } from '../daemon/read-status.js';
import type { ReadBackCounts } from '../inbound/orders/order-reads.js';
import type { WebhookStatus } from '../inbound/webhooks/webhook-status.js';
import { messageStates } from '../outbound/outbox/message.js';
import type { JobRun } from '../store/job-runs.js';
import { type CommonOptions, describeCommand, exitCode, withApp } from './command.js';
import { span, timeFormatter, withIsoTimes } from './terminal/format.js';
import { Output, shorten } from './terminal/output.js';

interface StatusOptions extends CommonOptions {
  check?: boolean;
}

export function statusCommand(): Command {
  return describeCommand({
    name: 'status',
    summary: 'How it is: who delivers, what is paused, what waits, what came last.',
    example: 'waybill status --check',
    json: true,
  })
    .option('--check', 'one line for a monitor; exit code 0 fine, 1 warning, 2 critical')
    .action((options: StatusOptions) =>
      options.check
        ? check(options)
        : withApp('status', options, (app) => showStatus(app, options), { readOnly: true }),
    );
}

async function statusOf(app: App): Promise<Status> {
  const erpIdentity = app.reader().identity();
  return app.store.read('read the status', (tx) => readStatus(tx, app.settings, erpIdentity, app.context.nowMs()));
}

const checkExitCodes = { OK: 0, WARNING: 1, CRITICAL: 2 } as const;

/** A monitor reads stdout and the exit code, also when nothing works: every failure is a line of its own kind. */
async function check(options: StatusOptions): Promise<void> {
  let output = new Output([]);
  let app: App | null = null;
  let result: { level: keyof typeof checkExitCodes; text: string };
  try {
    app = await openApp({ configDir: options.config, role: 'status', log: 'stderr', readOnly: true });
    output = new Output(secretsOf(app.settings));
    result = checkStatus(await statusOf(app));
  } catch (error) {
    result = { level: 'CRITICAL', text: (error as Error).message };
  }
  if (options.json) await output.printJson(result);
  else await output.line(output.clean(`WAYBILL ${result.level}: ${result.text}`));
  process.exitCode = checkExitCodes[result.level];
  await app?.close();
}

async function showStatus(app: App, options: StatusOptions): Promise<number> {
  const output = new Output(secretsOf(app.settings));
  const status = await statusOf(app);
  const result = checkStatus(status);
  if (options.json) {
    await output.printJson(withIsoTimes({ ...result, ...status }, app.settings.erp.timeZone));
    return exitCode.done;
  }
  const nowMs = app.context.nowMs();
  const time = timeFormatter(app.settings.erp.timeZone);
  const ago = (ms: number | null) => (ms === null ? 'never' : `${time(ms)} (${span(nowMs - ms)} ago)`);
  const row = (name: string, text: string) => output.line(`${name.padEnd(17)}${output.clean(text)}`);

  await row('Installation', `${status.installation}, ${status.environment}: ${status.service}`);
  await row('Credential', status.credential);
  await row('Health', `${result.level}: ${result.text}`);
  await row('Live', liveInWords(status));
  await row('Delivering', holderInWords(status, ago));
  for (const daemon of status.daemons.filter(({ actor }) => actor !== status.lease.holder))
    await row(
      '',
      `${daemon.actor} started ${ago(daemon.startedAt)} and did not say it stopped: standing by, or killed`,
    );
  if (status.pauses.length === 0) await row('Pauses', 'none');
  for (const [i, pause] of status.pauses.entries())
    await row(
      i === 0 ? 'Pauses' : '',
      `${pause.lane} (${pause.cause}) since ${ago(pause.since_at)}, ${pause.until_at === null ? 'until resumed' : `until ${time(pause.until_at)}`}, by ${pause.actor}: ${pause.reason}`,
    );
  for (const [i, text] of heldInWords(status).entries()) await row(i === 0 ? 'Held' : '', text);
  const { customers, orders, open } = status.adopted;
  if (customers + orders > 0)
    await row(
      'Adopted',
      `${customers} customers and ${orders} orders that the service had already${open > 0 ? `; ${open} differ, and nobody has looked: waybill bindings adopted --open` : ''}`,
    );
  for (const [i, alert] of status.alerts.entries())
    await row(i === 0 ? 'Alerts' : '', `${alert.cause} since ${ago(alert.sinceAt)}: ${alert.message}`);
  const captured = status.runs.find(({ job }) => job === 'capture');
  if (captured) await row('Last capture', captureInWords(captured, ago));
  await row('Last delivery', ago(status.lastDeliveryAt));
  await row('Last pull', pullInWords(status, ago));
  if (status.readBack) await row('Read back', readBackInWords(status.readBack, ago));
  if (status.webhooks) await row('Webhooks', webhooksInWords(status.webhooks, ago));
  for (const [i, one] of status.writeBack.entries())
    await row(i === 0 ? 'Written back' : '', writeBackInWords(one, ago, time));
  for (const [name, cursor] of [
    ['Orders read', status.cursors.order],
    ['Customers read', status.cursors.customer],
  ] as const)
    await row(
      name,
      cursor.changedAt === null && cursor.sweptAt === null
        ? 'never'
        : `changes up to ${cursor.changedAt ?? '(no change column)'}; everything: ${ago(cursor.sweptAt)}`,
    );
  await showOutbox(output, status, ago, row);
  return exitCode.done;
}

async function showOutbox(
  output: Output,
  { outbox, parkedReasons }: Status,
  ago: (ms: number | null) => string,
  row: (name: string, text: string) => Promise<void>,
): Promise<void> {
  if (outbox.oldestPendingAt !== null) await row('Oldest waiting', `captured ${ago(outbox.oldestPendingAt)}`);
  if (outbox.oldestInDoubtAt !== null) await row('Oldest in doubt', `captured ${ago(outbox.oldestInDoubtAt)}`);
  if (outbox.unsettled > 0) await row('Unsettled', `${outbox.unsettled} orders wait for their lines`);
  if (outbox.stranded > 0)
    await row(
      'Stranded',
      `${outbox.stranded} messages will never be sent: nobody sends the record, or the customer, that they wait for`,
    );
  if (outbox.flagged > 0)
    await row('Flagged', `${outbox.flagged} were delivered, but should be looked at: waybill audit --event delivered`);
  await output.line();
  const count = (state: string, entity: string) =>
    outbox.byState.find((one) => one.state === state && one.entity === entity)?.count ?? 0;
  await output.table(
    ['outbox', 'customers', 'orders'],
    messageStates.map((state) => [state, count(state, 'customer'), count(state, 'order')]),
  );
  if (parkedReasons.length === 0) return;
  await output.line('Parked, by reason (waybill outbox --state parked):');
  await output.table(
    ['messages', 'class', 'reason', 'oldest since'],
    parkedReasons.map((group) => [group.count, group.parkClass, shorten(group.group, 70), ago(group.oldestAt)]),
  );
}

function heldInWords({ brakes, outbox }: Status): string[] {
  const held = outbox.parked.find(({ parkClass }) => parkClass === 'held')?.count ?? 0;
  return [
    ...brakes.map(({ entity, reason }) => `all updates and removals of ${entity}s: ${reason}`),
    ...(held > 0 ? [`${held} changes wait for a person`] : []),
    ...(held > 0 || brakes.length > 0 ? ['look: waybill confirm --dry-run; then: waybill confirm'] : []),
  ];
}

function liveInWords({ environment, notLive }: Status): string {
  if (environment === 'sandbox') return 'a sandbox needs no go-live';
  return notLive === null ? 'yes' : `no: ${notLive}`;
}

function holderInWords({ lease, daemons }: Status, ago: (ms: number | null) => string): string {
  if (lease.holder === null)
    return lease.lapsed ? `nobody; ${lease.lapsed} fell silent` : 'nobody (start the daemon: npm start)';
  const daemon = daemons.find(({ actor }) => actor === lease.holder);
  return `${lease.holder}, epoch ${lease.epoch}${daemon ? `, started ${ago(daemon.startedAt)}` : ''}`;
}

function webhooksInWords(webhooks: WebhookStatus, ago: (ms: number | null) => string): string {
  const waiting = webhooks.pending > 0 ? `; ${webhooks.pending} events wait to be read about` : '';
  const stopped = webhooks.stopped === null ? '' : `; ${webhooks.stopped}`;
  return `last event ${ago(webhooks.lastEventAt)}${waiting}${stopped}`;
}

function captureInWords({ succeededAt, failures, failure }: JobRun, ago: (ms: number | null) => string): string {
  return `${ago(succeededAt)}${failures > 0 ? `; since then ${failures} failed: ${failure}` : ''}`;
}

function writeBackInWords(
  { kind, succeededAt, sweeps, refused, failing }: Status['writeBack'][number],
  ago: (ms: number | null) => string,
  time: (ms: number) => string,
): string {
  const more = [
    ...(sweeps ? ['everything is being compared'] : []),
    ...(refused > 0 ? [`${refused} refused by the ERP`] : []),
    ...(failing ? [`failing, tried again at ${time(failing.nextTryAt)}: ${failing.reason}`] : []),
  ];
  return [`${kind}: ${ago(succeededAt)}`, ...more].join('; ');
}

function pullInWords({ lastPull, unpaidInvoices }: Status, ago: (ms: number | null) => string): string {
  if (!lastPull) return 'never';
  const reason = lastPull.reason ? `: ${lastPull.reason}` : '';
  const missed =
    lastPull.missed > 0 ? `; ${lastPull.missed} not met stay listed, because nothing proves that they left` : '';
  const malformed =
    lastPull.malformed > 0 ? `; ${lastPull.malformed} make no sense (waybill invoices --malformed)` : '';
  return `${ago(lastPull.startedAt)}: ${lastPull.outcome}${reason}; ${lastPull.pages} pages in ${lastPull.passes} readings, ${lastPull.listed} invoices${missed}${malformed}; ${unpaidInvoices} unpaid now`;
}

function readBackInWords(
  { orders, read, final, gone, flagged, oldestReadAt }: ReadBackCounts,
  ago: (ms: number | null) => string,
): string {
  const more = [
    final > 0 ? `${final} are final` : '',
    oldestReadAt === null ? '' : `the oldest reading of the others: ${ago(oldestReadAt)}`,
    gone > 0 ? `${gone} not at the service any more (waybill audit --event read_back --outcome gone)` : '',
    flagged > 0 ? `${flagged} with another total (waybill audit --event read_back --outcome total)` : '',
  ].filter((text) => text !== '');
  return [`${read} of ${orders} orders`, ...more].join('; ');
}
