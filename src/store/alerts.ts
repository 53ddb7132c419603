import type { AlertFact } from '../model/facts/alerts.js';
import type { Fact } from '../model/facts/fact.js';
import { deleteOldest } from './delete-oldest.js';
import type { Horizon } from './elapsed-time.js';
import { factColumns, factOf } from './fact-columns.js';
import type { SqlValue, Tx } from './store.js';

/** The subject of an alert: the first word of its cause. docs/operating.md says of each what to do. */
export const alertKinds = [
  ...[
    'pause',
    'parked',
    'capture',
    'pull',
    'silence',
    'waiting',
    'orders',
    'held',
    'source',
    'keyless',
    'left',
    'keys',
    'invoices',
  ],
  ...[
    'states',
    'endpoint',
    'read_order',
    'read_invoice',
    'read_customer',
    'webhooks',
    'write-back',
    'redis',
    'node',
    'witness',
  ],
] as const;

type AlertKind = (typeof alertKinds)[number];
export type AlertCause = AlertKind | `${AlertKind}.${string}`;

/** One trouble that a person should know of, from the moment it began until it is over. */
export interface Alert {
  id: number;
  /** The trouble, as a name that stays the same: `pause.service.credential`, `parked`. */
  cause: string;
  /** The trouble, with its subject. */
  message: AlertFact | Extract<Fact, { code: 'legacy' }>;
  /** Milliseconds since 1970. */
  sinceAt: number;
  overAt: number | null;
  /** When a person was told that it began, or that it is over; null: not yet. */
  raisedToldAt: number | null;
  overToldAt: number | null;
  /** The number of failed tries to tell the next notice. */
  tries: number;
}

/**
 * Says that something needs a person. As long as it lasts, saying it again only brings the fact up to date: it is told
 * once. Made for the caller's own transaction, so that an alert exists if and only if its cause does.
 * @param cause at most 64 characters, without anything personal
 * @returns whether it is new
 */
export async function raiseAlert(tx: Tx, cause: AlertCause, message: AlertFact, nowMs: number): Promise<boolean> {
  const { code, data } = factColumns(message);
  const [open] = await tx.rows('SELECT message_code, message_data FROM alert WHERE open_cause=?', [cause]);
  if (open) {
    if (open.messageCode !== code || open.messageData !== data)
      await tx.run('UPDATE alert SET message_code=?, message_data=? WHERE open_cause=?', [code, data, cause]);
    return false;
  }
  // Two processes may notice the same thing at the same time.
  return tx.insertNew(
    'INSERT INTO alert (cause, open_cause, message_code, message_data, since_at, next_try_at) VALUES (?,?,?,?,?,?)',
    [cause, cause, code, data, nowMs, nowMs],
  );
}

/** Says that a cause is over. @returns whether it had been raised */
export async function endAlert(tx: Tx, cause: string, nowMs: number): Promise<boolean> {
  const sql = 'UPDATE alert SET open_cause=NULL, over_at=?, tries=0, next_try_at=? WHERE open_cause=?';
  return (await tx.run(sql, [nowMs, nowMs, cause])) > 0;
}

/** The alerts that are not over, the oldest first. */
export async function openAlerts(tx: Tx): Promise<Alert[]> {
  return selectAlerts(tx, 'open_cause IS NOT NULL ORDER BY since_at, id');
}

/** Those that are not over, and those whose end was not told yet, the oldest first. */
export async function unfinishedAlerts(tx: Tx): Promise<Alert[]> {
  return selectAlerts(tx, 'over_told_at IS NULL ORDER BY since_at, id');
}

/** True if a person is still to be told something of it, now or later. Pure. */
export function isToTell({ raisedToldAt, overAt, overToldAt }: Alert): boolean {
  return overToldAt === null && (raisedToldAt === null || overAt !== null);
}

/** The alerts that are due to be told, in the order in which they happened. */
export async function untoldAlerts(tx: Tx, nowMs: number, limit: number): Promise<Alert[]> {
  const due = 'over_told_at IS NULL AND next_try_at<=? AND (raised_told_at IS NULL OR over_at IS NOT NULL)';
  return selectAlerts(tx, `${due} ORDER BY id LIMIT ${Math.trunc(limit)}`, [nowMs]);
}

/** Keeps an alert from being told before this time, e.g. while it is being told. */
export async function postponeAlert(tx: Tx, id: number, nextTryAt: number, tries: number): Promise<void> {
  await tx.run('UPDATE alert SET next_try_at=?, tries=? WHERE id=?', [nextTryAt, tries, id]);
}

/** Notes that a person was told that it began, or that it is over. */
export async function markTold(tx: Tx, id: number, state: 'raised' | 'over', nowMs: number): Promise<void> {
  const column = state === 'raised' ? 'raised_told_at' : 'over_told_at';
  await tx.run(`UPDATE alert SET ${column}=?, tries=0, next_try_at=? WHERE id=?`, [nowMs, nowMs, id]);
}

/** Forgets up to `limit` alerts that were over, and told, before this time. */
export async function pruneAlerts(tx: Tx, before: Horizon, limit: number): Promise<number> {
  return deleteOldest(tx, { table: 'alert', key: 'id', where: 'over_told_at<? ORDER BY id', before }, limit);
}

async function selectAlerts(tx: Tx, condition: string, parameters: readonly SqlValue[] = []): Promise<Alert[]> {
  const columns = 'id, cause, message_code, message_data, since_at, over_at, raised_told_at, over_told_at, tries';
  const rows = await tx.rows(`SELECT ${columns} FROM alert WHERE ${condition}`, parameters);
  return rows.map(({ messageCode, messageData, ...row }) => ({
    ...row,
    message: factOf(messageCode, messageData) as Alert['message'],
  }));
}
