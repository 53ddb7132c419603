import type { Fact } from '../../model/facts/fact.js';
import { deleteOldest } from '../../store/delete-oldest.js';
import type { Horizon } from '../../store/elapsed-time.js';
import { factColumns, factOf } from '../../store/fact-columns.js';
import type { Tx } from '../../store/store.js';
import type { WebhookEvent } from './webhook-handler.js';

/** `pending`: its record has to be read. `done`: it was. */
type WebhookState = 'pending' | 'done';

export interface StoredEvent extends WebhookEvent {
  state: WebhookState;
  outcome: Fact | null;
  receivedAt: number;
  handledAt: number | null;
}

/**
 * Stores an event, without its body: what is true is read from the service. One without an id that comes again may be a repetition or a later event of the same content: its record is
 * read once more, by a read that begins after it came (`endEvents`).
 * @returns false: it is a repetition: one with this id is there, or is not handled yet
 */
export async function insertEvent(tx: Tx, event: WebhookEvent, nowMs: number): Promise<boolean> {
  const isNew = await tx.insertNew(
    `INSERT INTO webhook_event (event_id, type, about, subject, state, received_at) VALUES (?,?,?,?,'pending',?)`,
    [event.id, event.type, event.about, event.subject, nowMs],
  );
  if (isNew || !event.isNameless) return isNew;
  const before = await tx.value<string>(`SELECT state FROM webhook_event WHERE event_id=?${tx.forUpdate}`, [event.id]);
  // Later by a millisecond at least, so that a read under way for the event before does not end this one.
  await tx.run(
    `UPDATE webhook_event SET state='pending', outcome_code=NULL, outcome_data=NULL, handled_at=NULL,
            received_at=CASE WHEN received_at<? THEN ? ELSE received_at+1 END
      WHERE event_id=?`,
    [nowMs, nowMs, event.id],
  );
  return before === 'done';
}

const columns = 'event_id AS id, type, about, subject, state, outcome_code, outcome_data, received_at, handled_at';

const eventOf = ({ outcomeCode, outcomeData, ...event }: RowOf): StoredEvent =>
  ({ ...event, outcome: factOf(outcomeCode, outcomeData) }) as StoredEvent;

type RowOf = Omit<StoredEvent, 'outcome'> & { outcomeCode: string | null; outcomeData: string | null };

/** Events whose invoice or order has to be read, the oldest first. */
export async function pendingEvents(tx: Tx, about: 'invoice' | 'order', limit: number): Promise<StoredEvent[]> {
  const rows = await tx.rows<RowOf>(
    `SELECT ${columns} FROM webhook_event
      WHERE state='pending' AND about=? ORDER BY received_at, event_id LIMIT ${Math.trunc(limit)}`,
    [about],
  );
  return rows.map(eventOf);
}

/** The newest events first; of those that come after this one in that order, where it is given. */
export async function listEvents(
  tx: Tx,
  limit: number,
  after: Pick<StoredEvent, 'receivedAt' | 'id'> | null = null,
): Promise<StoredEvent[]> {
  const where = after === null ? '' : 'WHERE received_at<=? AND (received_at<? OR event_id>?)';
  const rows = await tx.rows<RowOf>(
    `SELECT ${columns} FROM webhook_event ${where} ORDER BY received_at DESC, event_id LIMIT ${Math.trunc(limit)}`,
    after === null ? [] : [after.receivedAt, after.receivedAt, after.id],
  );
  return rows.map(eventOf);
}

/** Ends events, with what came of them. One that came once more since it was looked up stays pending. */
export async function endEvents(
  tx: Tx,
  events: readonly Pick<StoredEvent, 'id' | 'receivedAt'>[],
  outcome: Fact,
  nowMs: number,
): Promise<void> {
  if (events.length === 0) return;
  const same = events.map(() => '(event_id=? AND received_at=?)').join(' OR ');
  const { code, data } = factColumns(outcome);
  await tx.run(
    `UPDATE webhook_event SET state='done', outcome_code=?, outcome_data=?, handled_at=? WHERE state='pending' AND (${same})`,
    [code, data, nowMs, ...events.flatMap(({ id, receivedAt }) => [id, receivedAt])],
  );
}

/** Ends events about invoices that came before this time. */
export async function endInvoiceEvents(tx: Tx, before: number, outcome: Fact, nowMs: number): Promise<void> {
  const { code, data } = factColumns(outcome);
  await tx.run(
    "UPDATE webhook_event SET state='done', outcome_code=?, outcome_data=?, handled_at=? WHERE state='pending' AND about='invoice' AND received_at<?",
    [code, data, nowMs, before],
  );
}

/** Removes up to `limit` events that were received before this time and are not pending. */
export async function pruneEvents(tx: Tx, before: Horizon, limit: number): Promise<number> {
  const where = "received_at<? AND state<>'pending' ORDER BY received_at";
  return deleteOldest(tx, { table: 'webhook_event', key: 'event_id', where, before }, limit);
}
