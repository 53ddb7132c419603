import type { Command } from 'commander';
import { type App, openApp } from '../app.js';
import { checkStatus, readStatus, type Status } from '../daemon/read-status.js';
import { messageStates } from '../outbound/outbox/message.js';
import { type CommandApp, type CommonOptions, exitCode, inApp, jsonCommand } from './command.js';
import { span } from './terminal/format.js';
import { Output, shorten } from './terminal/output.js';

interface StatusOptions extends CommonOptions {
  check?: boolean;
}

export function statusCommand(): Command {
  const show = inApp(showStatus, { readOnly: true });
  return jsonCommand(
    'status',
    'Show who delivers, what is paused, what waits, and what came last.',
    'waybill status --check',
  )
    .option('--check', 'print one line for a monitor; exit code 0 fine, 1 warning, 2 critical')
    .action((options: StatusOptions, command: Command) => (options.check ? check(options) : show(options, command)));
}

async function statusOf(app: App): Promise<Status> {
  const erpIdentity = app.reader().identity();
  return app.store.read('read the status', (tx) => readStatus(tx, app.settings, erpIdentity, app.context.nowMs()));
}

const checkExitCodes = { OK: 0, WARNING: 1, CRITICAL: 2 } as const;

/** A monitor reads stdout and the exit code, so every failure to find out is a line of its own too. */
async function check(options: StatusOptions): Promise<void> {
  let output = new Output(options);
  let app: App | null = null;
  let result: { level: keyof typeof checkExitCodes; text: string };
  try {
    app = await openApp({ configDir: options.config, role: 'status', log: 'stderr', readOnly: true });
    output = new Output({ ...options, secrets: app.secrets });
    result = checkStatus(await statusOf(app));
  } catch (error) {
    result = { level: 'CRITICAL', text: (error as Error).message };
  }
  output.json(result);
  output.line(`WAYBILL ${result.level}: ${result.text}`);
  process.exitCode = checkExitCodes[result.level];
  await app?.close();
}

type Ago = (ms: number | null) => string;

async function showStatus(app: CommandApp): Promise<number> {
  const { output, context } = app;
  const status = await statusOf(app);
  const result = checkStatus(status);
  output.jsonWithTimes({ ...result, ...status });
  const nowMs = context.nowMs();
  const { time } = output;
  const ago: Ago = (ms) => (ms === null ? 'never' : `${time(ms)} (${span(nowMs - ms)} ago)`);
  const row = (name: string, ...texts: string[]) => {
    for (const [i, text] of texts.entries()) output.line(`${(i === 0 ? name : '').padEnd(17)}${text}`);
  };

  row('Installation', `${status.installation}, ${status.environment}: ${status.service}`);
  row('Credential', status.credential);
  row('Health', `${result.level}: ${result.text}`);
  row('Live', liveInWords(status));
  row('Delivering', ...delivererInWords(status, ago));
  row('Pauses', ...pausesInWords(status, ago, time));
  row('Held', ...heldInWords(status));
  row('Adopted', ...adoptedInWords(status));
  row('Alerts', ...status.alerts.map((alert) => `${alert.cause} since ${ago(alert.sinceAt)}: ${alert.message}`));
  const captured = status.runs.find(({ job }) => job === 'capture');
  if (captured) row('Last capture', captureInWords(captured, ago));
  row('Last delivery', ago(status.lastDeliveryAt));
  row('Last pull', pullInWords(status, ago));
  if (status.readBack) row('Read back', readBackInWords(status.readBack, ago));
  if (status.webhooks) row('Webhooks', webhooksInWords(status.webhooks, ago));
  row('Written back', ...status.writeBack.map((one) => writeBackInWords(one, ago, time)));
  row('Orders read', cursorInWords(status.cursors.order, ago));
  row('Customers read', cursorInWords(status.cursors.customer, ago));
  const { oldestPendingAt, oldestInDoubtAt, unsettled, stranded, flagged } = status.outbox;
  if (oldestPendingAt !== null) row('Oldest waiting', `captured ${ago(oldestPendingAt)}`);
  if (oldestInDoubtAt !== null) row('Oldest in doubt', `captured ${ago(oldestInDoubtAt)}`);
  if (unsettled > 0) row('Unsettled', `${unsettled} orders wait for their lines`);
  if (stranded > 0)
    row(
      'Stranded',
      `${stranded} messages will never be sent: nobody sends the record, or the customer, that they wait for`,
    );
  if (flagged > 0)
    row('Flagged', `${flagged} were delivered, but a person should look at them: waybill audit --event delivered`);
  output.line();
  showOutbox(output, status, ago);
  return exitCode.done;
}

function showOutbox(output: Output, { outbox, parkedReasons }: Status, ago: Ago): void {
  const count = (state: string, entity: string) =>
    outbox.byState.find((one) => one.state === state && one.entity === entity)?.count ?? 0;
  output.table(
    ['outbox', 'customers', 'orders'],
    messageStates.map((state) => [state, count(state, 'customer'), count(state, 'order')]),
  );
  if (parkedReasons.length === 0) return;
  output.line('Parked, by reason (waybill outbox --state parked):');
  output.table(
    ['messages', 'class', 'reason', 'oldest since'],
    parkedReasons.map((group) => [group.count, group.parkClass, shorten(group.group, 70), ago(group.oldestAt)]),
  );
}

function delivererInWords({ lease, daemons }: Status, ago: Ago): string[] {
  const holder = daemons.find(({ actor }) => actor === lease.holder);
  const delivering =
    lease.holder !== null
      ? `${lease.holder}, epoch ${lease.epoch}${holder ? `, started ${ago(holder.startedAt)}` : ''}`
      : lease.lapsed
        ? `nobody; ${lease.lapsed} fell silent`
        : 'nobody (start the daemon: npm start)';
  const others = daemons.filter(({ actor }) => actor !== lease.holder);
  return [
    delivering,
    ...others.map(
      ({ actor, startedAt }) =>
        `${actor} started ${ago(startedAt)} and has not said that it stopped: it stands by, or was killed`,
    ),
  ];
}

function pausesInWords({ pauses }: Status, ago: Ago, time: (ms: number) => string): string[] {
  if (pauses.length === 0) return ['none'];
  return pauses.map(
    ({ lane, cause, since_at, until_at, actor, reason }) =>
      `${lane} (${cause}) since ${ago(since_at)}, ${until_at === null ? 'until resumed' : `until ${time(until_at)}`}, by ${actor}: ${reason}`,
  );
}

function adoptedInWords({ adopted: { customers, orders, open } }: Status): string[] {
  if (customers + orders === 0) return [];
  const differing = open > 0 ? `; ${open} differ and wait for a person: waybill bindings adopted --open` : '';
  return [`${customers} customers and ${orders} orders that the service had already${differing}`];
}

function cursorInWords({ changedAt, sweptAt }: Status['cursors']['order'], ago: Ago): string {
  if (changedAt === null && sweptAt === null) return 'never';
  return `changes up to ${changedAt ?? '(no change column)'}; everything: ${ago(sweptAt)}`;
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

function webhooksInWords(webhooks: NonNullable<Status['webhooks']>, ago: Ago): string {
  const waiting = webhooks.pending > 0 ? `; ${webhooks.pending} events wait to be read about` : '';
  const stopped = webhooks.stopped === null ? '' : `; ${webhooks.stopped}`;
  return `last event ${ago(webhooks.lastEventAt)}${waiting}${stopped}`;
}

function captureInWords({ succeededAt, failures, failure }: Status['runs'][number], ago: Ago): string {
  return `${ago(succeededAt)}${failures > 0 ? `; since then ${failures} failed: ${failure}` : ''}`;
}

function writeBackInWords(
  { kind, succeededAt, sweeps, refused, failing }: Status['writeBack'][number],
  ago: Ago,
  time: (ms: number) => string,
): string {
  const more = [
    ...(sweeps ? ['everything is being compared'] : []),
    ...(refused > 0 ? [`${refused} refused by the ERP`] : []),
    ...(failing ? [`failing, tried again at ${time(failing.nextTryAt)}: ${failing.reason}`] : []),
  ];
  return [`${kind}: ${ago(succeededAt)}`, ...more].join('; ');
}

function pullInWords({ lastPull, unpaidInvoices }: Status, ago: Ago): string {
  if (!lastPull) return 'never';
  const reason = lastPull.reason ? `: ${lastPull.reason}` : '';
  const missed =
    lastPull.missed > 0
      ? `; ${lastPull.missed} that were not met stay listed, because nothing proves that they left`
      : '';
  const malformed =
    lastPull.malformed > 0 ? `; ${lastPull.malformed} make no sense (waybill invoices --malformed)` : '';
  return `${ago(lastPull.startedAt)}: ${lastPull.outcome}${reason}; ${lastPull.pages} pages in ${lastPull.passes} readings, ${lastPull.listed} invoices${missed}${malformed}; ${unpaidInvoices} unpaid now`;
}

function readBackInWords(
  { orders, read, final, gone, flagged, oldestReadAt }: NonNullable<Status['readBack']>,
  ago: Ago,
): string {
  const more = [
    final > 0 ? `${final} are final` : '',
    oldestReadAt === null ? '' : `the oldest reading of the others: ${ago(oldestReadAt)}`,
    gone > 0 ? `${gone} not at the service any more (waybill audit --event read_back --outcome gone)` : '',
    flagged > 0 ? `${flagged} with another total (waybill audit --event read_back --outcome total)` : '',
  ].filter((text) => text !== '');
  return [`${read} of ${orders} orders`, ...more].join('; ');
}
