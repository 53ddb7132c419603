import type { Command } from 'commander';
import { type App, openApp } from '../app.js';
import { checkStatus, doubtInWords, readStatus, type Status } from '../daemon/read-status.js';
import { inErpTime } from '../operator/describe-story.js';
import { messageStates } from '../outbound/outbox/message.js';
import { type CommandApp, type CommonOptions, inApp, jsonCommand } from './command.js';
import { span } from './terminal/format.js';
import { type MaybeText, Output, shorten } from './terminal/output.js';
import { hideFromErrors } from './terminal/streams.js';

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
  const erpIdentity = (await app.reader()).identity();
  return app.store.read('read the status', (tx) => readStatus(tx, app.settings, erpIdentity, app.context.nowMs()));
}

const checkExitCodes = { OK: 0, WARNING: 1, CRITICAL: 2 } as const;

/** A monitor reads stdout and the exit code, so every failure to find out is a line of its own too. */
async function check(options: StatusOptions): Promise<void> {
  let output = new Output(options);
  let app: App | null = null;
  let result: { level: keyof typeof checkExitCodes; text: string };
  try {
    const hide = (secrets: readonly string[]) => {
      hideFromErrors(secrets);
      output = new Output({ ...options, secrets });
    };
    app = await openApp({ configDir: options.config, role: 'status', log: 'stderr', readOnly: true, hide });
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

async function showStatus(app: CommandApp): Promise<void> {
  const { output, context } = app;
  const status = await statusOf(app);
  const result = checkStatus(status);
  output.jsonWithTimes({ ...result, ...status });
  const { time } = output;
  const nowMs = context.nowMs();
  const ago: Ago = (ms) => (ms === null ? 'never' : `${time(ms)} (${span(nowMs - ms)} ago)`);
  const { alerts, runs, readBack, webhooks, writeBack, cursors, outbox } = status;
  const { oldestPendingAt, oldestInDoubtAt, unsettled, stranded, flagged } = outbox;
  const captured = runs.find(({ job }) => job === 'capture');
  output.rows(17, [
    ['Installation', `${status.installation}, ${status.environment}: ${status.service}`],
    ['Credential', status.credential],
    ['Health', `${result.level}: ${result.text}`],
    ['Live', liveInWords(status)],
    ['Doubt', doubtInWords(app.settings.service)],
    ['Delivering', ...delivererInWords(status, ago)],
    ['Pauses', ...pausesInWords(status, ago, time)],
    ['Held', ...heldInWords(status)],
    ['Adopted', adoptedInWords(status)],
    ['Alerts', ...alerts.map(({ cause, sinceAt, message }) => `${cause} since ${ago(sinceAt)}: ${message}`)],
    ['Last capture', captured !== undefined && captureInWords(captured, ago)],
    ['Last delivery', ago(status.lastDeliveryAt)],
    ['Last pull', pullInWords(status, ago)],
    ['Read back', readBack && readBackInWords(readBack, ago)],
    ['Webhooks', webhooks && webhooksInWords(webhooks, ago)],
    ['Written back', ...writeBack.map((one) => writeBackInWords(one, ago, time))],
    ['Orders read', cursorInWords(cursors.order, ago)],
    ['Customers read', cursorInWords(cursors.customer, ago)],
    ['Oldest waiting', oldestPendingAt !== null && `captured ${ago(oldestPendingAt)}`],
    ['Oldest in doubt', oldestInDoubtAt !== null && `captured ${ago(oldestInDoubtAt)}`],
    ['Unsettled', unsettled > 0 && `${unsettled} orders wait for their lines`],
    [
      'Stranded',
      stranded > 0 &&
        `${stranded} messages will never be sent: the record, or the customer, that they wait for is not sent`,
    ],
    [
      'Flagged',
      flagged > 0 && `${flagged} were delivered, but a person should look at them: waybill audit --event delivered`,
    ],
  ]);
  output.line();
  showOutbox(output, status, ago);
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

function delivererInWords({ lease, daemons, notLive }: Status, ago: Ago): string[] {
  const holder = daemons.find(({ actor }) => actor === lease.holder);
  const noProcess = lease.lapsed
    ? `no process; ${lease.lapsed} fell silent`
    : 'no process (start the daemon: npm start)';
  const started = holder ? `, started ${ago(holder.startedAt)}` : '';
  const others = daemons.filter(({ actor }) => actor !== lease.holder);
  return [
    lease.holder === null
      ? noProcess
      : `${notLive === null ? '' : 'nothing (see Live); in charge is '}${lease.holder}, epoch ${lease.epoch}${started}`,
    ...others.map(
      ({ actor, startedAt }) =>
        `${actor} started ${ago(startedAt)} and has not said that it stopped: it stands by, or was killed`,
    ),
  ];
}

function pausesInWords({ pauses }: Status, ago: Ago, time: (ms: number) => string): string[] {
  if (pauses.length === 0) return ['none'];
  return pauses.map(({ lane, cause, since_at, until_at, actor, reason }) => {
    const until = until_at === null ? 'until resumed' : `until ${time(until_at)}`;
    return `${lane} (${cause}) since ${ago(since_at)}, ${until}, by ${actor}: ${reason}`;
  });
}

function adoptedInWords({ adopted: { customers, orders, open } }: Status): MaybeText {
  return (
    customers + orders > 0 &&
    clauses(
      `${customers} customers and ${orders} orders that the service had already`,
      open > 0 && `${open} differ and wait for a person: waybill bindings adopted --open`,
    )
  );
}

function cursorInWords({ changedAt, sweptAt }: Status['cursors']['order'], ago: Ago): string {
  if (changedAt === null && sweptAt === null) return 'never';
  const upTo = changedAt === null ? '(no change column)' : `${changedAt} ${inErpTime}`;
  return `changes up to ${upTo}; everything: ${ago(sweptAt)}`;
}

function heldInWords({ brakes, outbox, heldInvoices }: Status): MaybeText[] {
  const held = outbox.parked.find(({ parkClass }) => parkClass === 'held')?.count ?? 0;
  return [
    ...brakes.map(({ entity, reason }) => `all updates and removals of ${entity}s: ${reason}`),
    held > 0 && `${held} changes wait for a person`,
    (held > 0 || brakes.length > 0) && 'look: waybill confirm --dry-run; then: waybill confirm',
    heldInvoices > 0 &&
      `${heldInvoices} invoices are missing from the service’s list and stay on ours; look: waybill confirm invoices --dry-run`,
  ];
}

function liveInWords({ environment, notLive }: Status): string {
  if (notLive !== null) return `no: ${notLive}`;
  return environment === 'sandbox' ? 'a sandbox needs no go-live' : 'yes';
}

function webhooksInWords({ lastEventAt, pending, stopped }: NonNullable<Status['webhooks']>, ago: Ago): string {
  return clauses(`last event ${ago(lastEventAt)}`, pending > 0 && `${pending} events wait to be read about`, stopped);
}

function captureInWords({ succeededAt, failures, failure }: Status['runs'][number], ago: Ago): string {
  return clauses(ago(succeededAt), failures > 0 && `since then ${failures} failed: ${failure}`);
}

function writeBackInWords(
  { kind, succeededAt, sweeps, refused, failing }: Status['writeBack'][number],
  ago: Ago,
  time: (ms: number) => string,
): string {
  return clauses(
    `${kind}: ${ago(succeededAt)}`,
    sweeps && 'everything is being compared',
    refused > 0 && `${refused} refused by the ERP`,
    failing && `failing, tried again at ${time(failing.nextTryAt)}: ${failing.reason}`,
  );
}

function pullInWords({ lastPull, unpaidInvoices }: Status, ago: Ago): string {
  if (!lastPull) return 'never';
  const { startedAt, outcome, reason, pages, passes, listed, missed, malformed, listedAt } = lastPull;
  const isOlder = outcome === 'held' || outcome === 'failed';
  return clauses(
    `${ago(startedAt)}: ${outcome}${reason ? `: ${reason}` : ''}`,
    `${pages} pages in ${passes} readings, ${listed} invoices`,
    missed > 0 && `${missed} that were not met stay listed, because nothing proves that they left`,
    malformed > 0 && `${malformed} make no sense (waybill invoices --malformed)`,
    isOlder ? `${unpaidInvoices} on the list of ${ago(listedAt)}` : `${unpaidInvoices} unpaid now`,
  );
}

function readBackInWords(readBack: NonNullable<Status['readBack']>, ago: Ago): string {
  const { orders, read, final, gone, flagged, oldestReadAt } = readBack;
  return clauses(
    `${read} of ${orders} orders`,
    final > 0 && `${final} are final`,
    oldestReadAt !== null && `the oldest reading of the others: ${ago(oldestReadAt)}`,
    gone > 0 && `${gone} not at the service any more (waybill audit --event read_back --outcome gone)`,
    flagged > 0 && `${flagged} with another total (waybill audit --event read_back --outcome total)`,
  );
}

/** One sentence of those clauses that there are. */
function clauses(...texts: MaybeText[]): string {
  return texts.filter(Boolean).join('; ');
}
