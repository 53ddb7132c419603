import type { StoredEvent } from '../webhooks/webhook-rows.js';

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
