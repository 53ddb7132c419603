import { appendAudit } from '../../audit/audit-log.js';
import type { ListFact } from '../../model/facts/lists.js';
import { outside } from '../../model/outside.js';
import type { JobContext } from '../../ops/job-context.js';
import { SendGate } from '../../outbound/deliver/send-gate.js';
import type { ServiceLease } from '../../outbound/deliver/service-lease.js';
import { ServiceReads } from '../../outbound/deliver/service-reads.js';
import type { ServiceClient } from '../../service/service-client.js';
import { lookAtClocks } from '../../store/elapsed-time.js';
import { announcedInvoice, applyOwnRead } from '../invoices/apply-own-read.js';
import { canStandInPath, invoiceQuestion, isAbsent, ownReadTerms } from '../invoices/own-read.js';
import { lastPull } from '../invoices/pull-record.js';
import { hasCreateUnderWay } from '../orders/order-reads.js';
import { type OrderRead, readOrder } from '../orders/read-order.js';
import { endEvents, endInvoiceEvents, pendingEvents, type StoredEvent } from './webhook-rows.js';

/** The records that events ask to be read, each once. */
interface AnnouncedReads {
  invoices: Map<string, StoredEvent[]>;
  orders: Map<string, StoredEvent[]>;
  /** Ids of events for which the whole list has to be pulled. */
  needPull: string[];
  /** Events for which there is nothing to read, by the reason. */
  endAtOnce: Map<NothingToRead, StoredEvent[]>;
}

type NothingToRead = 'invoices_not_read' | 'orders_not_read' | 'event_names_no_order';

/** Sorts events by what has to be read for them. Pure. @param can what this installation reads */
export function announcedReads(
  events: readonly StoredEvent[],
  can: { invoices: boolean; ownRead: boolean; orders: boolean },
): AnnouncedReads {
  const reads: AnnouncedReads = { invoices: new Map(), orders: new Map(), needPull: [], endAtOnce: new Map() };
  const add = <Name extends string>(to: Map<Name, StoredEvent[]>, name: Name, event: StoredEvent) =>
    to.set(name, [...(to.get(name) ?? []), event]);
  for (const event of events) {
    const { about } = event;
    const subject = event.subject !== null && canStandInPath(event.subject) ? event.subject : null;
    if (about === 'invoice') {
      if (!can.invoices) add(reads.endAtOnce, 'invoices_not_read', event);
      else if (can.ownRead && subject !== null) add(reads.invoices, subject, event);
      else reads.needPull.push(event.id);
    } else if (!can.orders) add(reads.endAtOnce, 'orders_not_read', event);
    else if (subject !== null) add(reads.orders, subject, event);
    else add(reads.endAtOnce, 'event_names_no_order', event);
  }
  return reads;
}

/** After events that could not be read about, and between two pulls that events ask for. */
const retryMs = 5_000;
const pullEveryMs = 30_000;

/**
 * When the daemon reads what events announced: at once when one has come, again later when something stood in the way, and at
 * most one pull every half minute, however many events ask for one. Pure, but for what it remembers.
 */
export class AnnouncedTurns {
  /** The first look finds what came while no process delivered. */
  #dueAtMs: number | null = Number.NEGATIVE_INFINITY;
  #pulledAtMs = Number.NEGATIVE_INFINITY;

  /** An event has come. */
  announce(): void {
    this.#dueAtMs = Number.NEGATIVE_INFINITY;
  }

  /** @returns whether it is time to read; the turn is taken by that */
  take(nowMs: number): boolean {
    if (this.#dueAtMs === null || this.#dueAtMs > nowMs) return false;
    this.#dueAtMs = null;
    return true;
  }

  /** Something has to wait. */
  waitFor(nowMs: number): void {
    this.#dueAtMs = Math.min(this.#dueAtMs ?? Number.POSITIVE_INFINITY, nowMs + retryMs);
  }

  /** @returns whether a pull may be made for events now; if not, the events' turn comes when it may */
  takePull(nowMs: number): boolean {
    if (nowMs - this.#pulledAtMs >= pullEveryMs) {
      this.#pulledAtMs = nowMs;
      return true;
    }
    this.#dueAtMs = Math.min(this.#dueAtMs ?? Number.POSITIVE_INFINITY, this.#pulledAtMs + pullEveryMs);
    return false;
  }
}

interface AnnouncedResult {
  /** Records that were read because of events. */
  read: number;
  /** True if some of them wait for a pull of the whole list. */
  needsPull: boolean;
  /** True if events wait that were not or could not be read about now. */
  waits: boolean;
}

/** Events of each kind that one run looks at: neither kind holds up the other. */
const atOnce = 200;
/** After so many records in a row that can't be read, the service is out of order: the rest waits for the next turn. */
const mostFailuresInRow = 5;
/** The time to wait for an order that may become ours, because a create has no answer yet. */
const mayBecomeOursMs = 120_000;
/** After so long without a reading, an event is left to the schedule. */
const giveUpMs = 3_600_000;

/**
 * The outcome for one record. `read` and `ended`: its events are over. `pull`: only the whole list can tell. `failed`:
 * it could not be read now. `too_early`: it may be ours once an answer is there.
 */
type ReadOutcome = 'read' | 'ended' | 'pull' | 'failed' | 'too_early';

/**
 * Reads the invoices and orders that events announced, through the same gate and pace as everything else, each once,
 * however many events named it. The content of an event changes nothing by itself.
 */
export async function readAnnounced(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  signal?: AbortSignal,
): Promise<AnnouncedResult> {
  const { store, settings, random } = context;
  const result: AnnouncedResult = { read: 0, needsPull: false, waits: false };
  const pending = await store.read('look for events', async (tx) => [
    await pendingEvents(tx, 'invoice', atOnce),
    await pendingEvents(tx, 'order', atOnce),
  ]);
  const events = pending.flat();
  if (events.length === 0) return result;
  const gate = new SendGate(context, lease, null, signal);
  const { readInvoice, readOrder } = settings.service.endpoints;
  const reads = announcedReads(events, {
    invoices: settings.invoices.enabled,
    ownRead: readInvoice !== undefined,
    orders: readOrder !== undefined,
  });
  for (const [code, unread] of reads.endAtOnce) await end(context, lease, unread, { code });
  result.needsPull = reads.needPull.length > 0;
  result.waits = pending.some(({ length }) => length === atOnce);
  for (const [records, readOne] of [
    [reads.invoices, readAnnouncedInvoice],
    [reads.orders, readAnnouncedOrder],
  ] as const) {
    let failures = 0;
    for (const [subject, about] of shuffled(records, random)) {
      if ((await gate.check('pull')) !== null) return { ...result, waits: true };
      const outcome = await readOne({ context, client, lease, signal }, subject, about);
      if (outcome === 'failed' && (await areLongAgo(context, about)))
        await end(context, lease, about, { code: 'event_given_up' });
      else if (outcome === 'failed' || outcome === 'too_early') result.waits = true;
      else if (outcome === 'pull') result.needsPull = true;
      else if (outcome === 'read') result.read++;
      failures = outcome === 'failed' ? failures + 1 : 0;
      if (failures === mostFailuresInRow) break;
    }
  }
  return result;
}

/**
 * Ends the events about invoices that came before the last pull, if that pull has ended and began at `since` or later.
 * @returns whether it did
 */
export async function endPulled({ nowMs }: JobContext, lease: ServiceLease, since = 0): Promise<boolean> {
  return lease.write('end events', async (tx) => {
    const pull = await lastPull(tx);
    if (!pull || pull.startedAt < since || !['proven', 'unproven', 'held'].includes(pull.outcome)) return false;
    // An invoice on hold may wait for days: pulling once more for an event would read the same, every half
    // minute.
    const outcome = { code: 'list_pulled', pullId: pull.id, held: pull.outcome === 'held' } as const;
    await endInvoiceEvents(tx, pull.startedAt, outcome, nowMs());
    return true;
  });
}

/** Input for reading a record of the service. */
interface Reading {
  context: JobContext;
  client: ServiceClient;
  lease: ServiceLease;
  signal: AbortSignal | undefined;
}

async function readAnnouncedInvoice(
  { context, client, lease, signal }: Reading,
  invoiceNo: string,
  about: readonly StoredEvent[],
): Promise<ReadOutcome> {
  const { store, settings, actor } = context;
  const { scope } = settings.invoices;
  const terms = ownReadTerms(settings);
  if (!terms) return 'pull';
  const known = await store.read('look for an invoice', (tx) => announcedInvoice(tx, invoiceNo));
  let isOdd = false;
  const asked = await new ServiceReads(context, client, lease, { signal, tries: 1 }).ask({
    ...invoiceQuestion(terms, known),
    keep: async (tx, said, nowMs, sentAtMs) => {
      // An address that leads elsewhere says that each invoice is absent: the pull finds that out. And with a list for each
      // customer, an invoice that was never listed could not be told to leave.
      isOdd = 'odd' in said || (known.isKnown ? isAbsent(said) : 'due' in said && scope !== 'all');
      if (isOdd) return;
      const change = await applyOwnRead(tx, known, said, sentAtMs, nowMs);
      await endEvents(tx, about, change ?? { code: 'nothing_changed' }, nowMs);
      const outcome = change === null ? 'same' : 'changed';
      const detail = { invoiceNo, change, events: about.length };
      await appendAudit(tx, [{ event: 'webhook', outcome, actor, detail }], nowMs);
    },
  });
  if ('noAnswer' in asked) return asked.isRefused ? 'pull' : 'failed';
  return isOdd ? 'pull' : 'read';
}

async function readAnnouncedOrder(
  { context, client, lease, signal }: Reading,
  orderId: string,
  about: readonly StoredEvent[],
): Promise<ReadOutcome> {
  const mayBecomeOurs = await awaitsOrderId(context, about);
  const read = await readOrder(context, client, lease, { orderId }, { signal, tries: 1 });
  if (read.kind === 'unknown' && mayBecomeOurs) return 'too_early';
  if (read.kind === 'not_read' && !read.isRefused) return 'failed';
  await end(context, lease, about, outcomeOf(read));
  return read.kind === 'read' ? 'read' : 'ended';
}

function outcomeOf(read: OrderRead): ListFact {
  if (read.kind === 'read') return { code: 'order_read', state: outside(read.status), changed: read.changed };
  if (read.kind === 'not_read') return { code: 'order_not_read', reason: read.reason };
  return { code: read.kind === 'gone' ? 'order_not_there' : 'order_not_ours' };
}

/** True if an unknown order may turn out to be ours: the service may announce it before it answers our create. */
async function awaitsOrderId({ store, nowMs }: JobContext, about: readonly StoredEvent[]): Promise<boolean> {
  const lastAt = Math.max(...about.map(({ receivedAt }) => receivedAt));
  if (lastAt < nowMs() - mayBecomeOursMs) return false;
  return store.read('look for orders without an answer', (tx) => hasCreateUnderWay(tx, lastAt));
}

/** True if all of these events surely came long ago: a clock that is ahead must not give them up. */
async function areLongAgo(context: JobContext, about: readonly StoredEvent[]): Promise<boolean> {
  const { sure } = await context.store.transaction('look at the clocks', (tx) => lookAtClocks(tx, context));
  return about.every(({ receivedAt }) => receivedAt < sure - giveUpMs);
}

/** In random order, so that records that always fail are not always first. */
function shuffled<T>(items: Iterable<T>, random: () => number): T[] {
  return [...items]
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

async function end(
  { nowMs }: JobContext,
  lease: ServiceLease,
  about: readonly StoredEvent[],
  outcome: ListFact,
): Promise<void> {
  await lease.write('end events', (tx) => endEvents(tx, about, outcome, nowMs()));
}
