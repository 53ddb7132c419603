import type { StoredEvent } from './webhook-rows.js';

/** What events ask to be read, each record once. */
export interface AnnouncedReads {
  invoices: Map<string, StoredEvent[]>;
  orders: Map<string, StoredEvent[]>;
  /** Ids of events for which the whole list has to be pulled. */
  needPull: string[];
  /** Events for which there is nothing to read, with the reason. */
  endAtOnce: { ids: string[]; outcome: string }[];
}

/** Sorts events by what has to be read for them. Pure. @param can what this installation reads */
export function announcedReads(
  events: readonly StoredEvent[],
  can: { invoices: boolean; ownRead: boolean; orders: boolean },
): AnnouncedReads {
  const reads: AnnouncedReads = { invoices: new Map(), orders: new Map(), needPull: [], endAtOnce: [] };
  const add = (to: Map<string, StoredEvent[]>, subject: string, event: StoredEvent) =>
    to.set(subject, [...(to.get(subject) ?? []), event]);
  const nameless: string[] = [];
  const unread: string[] = [];
  const unreadOrders: string[] = [];
  for (const event of events) {
    const { about, subject, id } = event;
    if (about === 'invoice' && !can.invoices) unread.push(id);
    // An address with a segment of dots is another address, however they are encoded.
    else if (about === 'invoice' && can.ownRead && subject !== null && !isDots(subject))
      add(reads.invoices, subject, event);
    else if (about === 'invoice') reads.needPull.push(id);
    else if (!can.orders) unreadOrders.push(id);
    else if (subject !== null && !isDots(subject)) add(reads.orders, subject, event);
    else nameless.push(id);
  }
  if (unread.length > 0) reads.endAtOnce.push({ ids: unread, outcome: 'invoices are not read (invoices.enabled)' });
  if (unreadOrders.length > 0)
    reads.endAtOnce.push({ ids: unreadOrders, outcome: 'orders are not read (service.endpoints.readOrder)' });
  if (nameless.length > 0)
    reads.endAtOnce.push({ ids: nameless, outcome: 'it names no order (webhooks.fields.orderId)' });
  return reads;
}

function isDots(subject: string): boolean {
  return /^\.{1,2}$/.test(subject);
}

/** After events that could not be read about, and between two pulls that events ask for. */
const retryMs = 5_000;
const pullEveryMs = 30_000;

/**
 * When the daemon reads what events announced: at once when one has come, later again when something stood in the way, and no
 * more than one pull every half a minute, however many events ask for one. Pure, but for what it remembers.
 */
export class AnnouncedTurns {
  /** A first look finds what came while nobody delivered. */
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
