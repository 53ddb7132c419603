import type { Settings } from '../config/settings.js';
import type { LastPull } from '../inbound/invoices/pull-record.js';
import type { Point } from '../operator/figures/read-figures.js';
import { inErpTime } from '../operator/format.js';
import type { NodeView } from '../store/nodes.js';
import { span } from '../words/span.js';
import { tell, tellWhole } from '../words/words.js';
import { checkStatus } from './check-status.js';
import { doubtInWords, type Status } from './read-status.js';

/** A time and how long ago it was. */
export type Ago = (ms: number | null) => string;

type MaybeText = string | null | false;

export function agoFormatter(time: (ms: number) => string, nowMs: number): Ago {
  return (ms) => (ms === null ? 'never' : `${time(ms)} (${span(nowMs - ms)} ago)`);
}

interface StatusContext {
  settings: Settings;
  nowMs: number;
  time: (ms: number) => string;
}

/** The state of Waybill, a name and its texts a line, for the terminal and the desk alike. Pure. */
export function describeStatus(
  status: Status,
  { settings, nowMs, time }: StatusContext,
): (readonly [name: string, ...texts: MaybeText[]])[] {
  const result = checkStatus(status);
  const ago = agoFormatter(time, nowMs);
  const { alerts, runs, readBack, webhooks, writeBack, cursors, outbox } = status;
  const { oldestPendingAt, oldestInDoubtAt, unsettled, stranded, flagged } = outbox;
  const captured = runs.find(({ job }) => job === 'capture');
  return [
    ['Installation', `${status.installation}, ${status.environment}: ${status.service}`],
    ['Credential', status.credential],
    ['Health', `${result.level}: ${result.text}`],
    ['Live', liveInWords(status, time)],
    ['Doubt', doubtInWords(settings.service)],
    ['Delivering', ...delivererInWords(status, ago)],
    ['Pauses', ...pausesInWords(status, ago, time)],
    ['Held', ...heldInWords(status)],
    ['Adopted', adoptedInWords(status)],
    [
      'Alerts',
      ...alerts.map(({ cause, sinceAt, message }) => `${cause} since ${ago(sinceAt)}: ${tellWhole(message, { time })}`),
    ],
    ['Last capture', captured !== undefined && captureInWords(captured, ago, time)],
    ['Last delivery', ago(status.lastDeliveryAt)],
    ['Last hour', status.lastHour && figuresInWords(status.lastHour)],
    ['Last pull', pullInWords(status, ago, time)],
    ['Read back', readBack && readBackInWords(readBack, ago)],
    ['Webhooks', webhooks && webhooksInWords(webhooks, ago, time)],
    ['Written back', ...writeBack.map((one) => writeBackInWords(one, ago, time))],
    ['Orders read', cursorInWords(cursors.order, ago)],
    ['Customers read', cursorInWords(cursors.customer, ago)],
    ...status.sources.map(({ name, order, customer, run }): readonly [string, ...MaybeText[]] => [
      `Source ${name}`,
      `captured ${run === null ? 'never' : captureInWords(run, ago, time)}`,
      `orders: ${cursorInWords(order, ago)}`,
      `customers: ${cursorInWords(customer, ago)}`,
    ]),
    ['Oldest waiting', oldestPendingAt !== null && `captured ${ago(oldestPendingAt)}`],
    ['Oldest in doubt', oldestInDoubtAt !== null && `captured ${ago(oldestInDoubtAt)}`],
    ['Retention', status.retentionWaits],
    ['Looked up again', lookUpsInWords(status, time)],
    ['Unsettled', unsettled > 0 && `${unsettled} orders wait for their lines`],
    [
      'Stranded',
      stranded !== null &&
        stranded > 0 &&
        `${stranded} messages will never be sent: the record, or the customer, that they wait for is not sent`,
    ],
    [
      'Flagged',
      flagged !== null &&
        flagged > 0 &&
        `${flagged} were delivered, but a person should look at them: waybill audit --event delivered`,
    ],
  ];
}

function delivererInWords({ lease, nodes, daemons, notLive }: Status, ago: Ago): string[] {
  if (lease.holder === null && nodes.some(({ state }) => state === 'at work'))
    return nodes.map((node) => nodeInWords(node, notLive, ago));
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

function nodeInWords(node: NodeView, notLive: Status['notLive'], ago: Ago): string {
  if (node.standsBy !== null) {
    const standsBy = {
      code: 'node_stands_by',
      node: node.name,
      process: node.holder ?? '',
      why: node.standsBy,
    } as const;
    return `${tell(standsBy)} (since ${ago(node.sinceAt)})`;
  }
  if (node.state === 'left') return `node ${node.name} has left, ${ago(node.beatAt)}`;
  if (node.state !== 'at work') return `node ${node.name} stopped without a word, ${ago(node.beatAt)}`;
  return clauses(
    `${notLive === null ? '' : 'nothing (see Live); '}node ${node.name}: ${node.holder}`,
    node.leads && 'leads',
    node.rests !== null && 'sends nothing (see Health)',
    `version ${node.version}`,
    `since ${ago(node.sinceAt)}`,
    ...node.places,
  );
}

function pausesInWords({ pauses }: Status, ago: Ago, time: (ms: number) => string): string[] {
  if (pauses.length === 0) return ['none'];
  return pauses.map(({ lane, cause, since_at, until_at, actor, reason }) => {
    const until = until_at === null ? 'until resumed' : `until ${time(until_at)}`;
    return `${lane} (${cause}) since ${ago(since_at)}, ${until}, by ${actor}: ${tell(reason, { time })}`;
  });
}

/** Why creates that may have arrived are neither sent again nor settled yet. */
function lookUpsInWords({ lookUps: { count, untilAt } }: Status, time: (ms: number) => string): MaybeText {
  if (untilAt === null) return null;
  const which = count === 1 ? '1 record' : `${count} records`;
  return `${which} that may have arrived, until ${time(untilAt)}: the service may still be working on what it shows nothing of`;
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

function heldInWords({ holds, outbox, heldInvoices }: Status): MaybeText[] {
  const held = outbox.parked.find(({ parkClass }) => parkClass === 'held')?.count ?? 0;
  return [
    ...holds.map(
      ({ entity, source = '', reason }) =>
        `all updates and removals of ${entity}s${source && ` of ${source}`}: ${tell(reason)}`,
    ),
    held > 0 && `${held} ${held === 1 ? 'change waits' : 'changes wait'} for a person`,
    (held > 0 || holds.length > 0) && 'look: waybill confirm --dry-run; then: waybill confirm',
    heldInvoices > 0 &&
      `${heldInvoices} ${heldInvoices === 1 ? 'invoice is missing from the service’s list and stays' : 'invoices are missing from the service’s list and stay'} on ours; look: waybill confirm invoices --dry-run`,
  ];
}

function liveInWords({ environment, notLive }: Status, time: (ms: number) => string): string {
  if (notLive !== null) return `no: ${tell(notLive, { time })}`;
  return environment === 'sandbox' ? 'a sandbox needs no go-live' : 'yes';
}

function webhooksInWords(
  { lastEventAt, pending, stopped }: NonNullable<Status['webhooks']>,
  ago: Ago,
  time: (ms: number) => string,
): string {
  return clauses(
    `last event ${ago(lastEventAt)}`,
    pending > 0 && `${pending} events wait to be read about`,
    stopped && tellWhole(stopped, { time }),
  );
}

function captureInWords(
  { succeededAt, failures, failure }: Status['runs'][number],
  ago: Ago,
  time: (ms: number) => string,
): string {
  return clauses(
    ago(succeededAt),
    failures > 0 && failure && `since then ${failures} failed: ${tell(failure, { time })}`,
  );
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
    failing &&
      `failing, tried again ${failing.nextTryAt === null ? 'now' : `at ${time(failing.nextTryAt)}`}: ${tell(failing.reason, { time })}`,
  );
}

function pullInWords({ lastPull, unpaidInvoices }: Status, ago: Ago, time: (ms: number) => string): string {
  if (!lastPull) return 'never';
  const { startedAt, outcome, reason, pages, passes, listed, missed, malformed, listedAt } = lastPull;
  const isOlder = outcome === 'held' || outcome === 'failed';
  return clauses(
    `${ago(startedAt)}: ${outcome}${butFor(lastPull)}${reason ? `: ${tellWhole(reason, { time })}` : ''}`,
    `${pages} pages in ${passes} readings, ${listed} invoices`,
    missed > 0 && `${missed} that were not met stay listed, because nothing proves that they left`,
    malformed > 0 && `${malformed} are invalid (waybill invoices --malformed)`,
    isOlder ? `${unpaidInvoices} on the list of ${ago(listedAt)}` : `${unpaidInvoices} unpaid now`,
  );
}

/** A proof covers the rows that were understood. */
function butFor({ isProven, malformed }: LastPull): string {
  return isProven && malformed > 0 ? ` but for ${malformed}` : '';
}

/** The end of the last pull of the invoices, for the terminal and the desk. Pure. */
export function lastPullInWords(pull: LastPull, time: (ms: number) => string): string {
  const reason = pull.reason ? ` (${tell(pull.reason, { time })})` : '';
  const malformed = pull.malformed > 0 ? ` ${pull.malformed} are invalid: waybill invoices --malformed.` : '';
  const isOlder = (pull.outcome === 'held' || pull.outcome === 'failed') && pull.listedAt !== null;
  const age = isOlder ? ` The list is of ${time(pull.listedAt as number)}.` : '';
  return `Last pull ${time(pull.endedAt ?? pull.startedAt)}: ${pull.outcome}${butFor(pull)}${reason}.${age}${malformed}`;
}

/** The work of a period, for the terminal and the desk alike. Pure. */
export function figuresInWords({ delivered, notDelivered, requests, halfS, mostS, waiting }: Point): string {
  const within = (seconds: number) => span(Math.ceil(seconds) * 1_000);
  return clauses(
    `${delivered} acknowledged`,
    halfS !== null && mostS !== null && `half within ${within(halfS)} of their capture, 95 % within ${within(mostS)}`,
    (notDelivered ?? 0) > 0 && `${notDelivered} sendings without an acknowledgement`,
    `${requests} requests`,
    (waiting ?? 0) > 0 && `at most ${waiting} waited`,
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
