import type { ListFact } from '../../model/facts/lists.js';
import type { Tx } from '../../store/store.js';

/** A pull that ended, and how many unannounced invoices it took off the list. */
interface PullFinding {
  startedAt: number;
  unlisted: number;
}

/** This many pulls that found something are no coincidence. */
const findingsInRow = 3;

/**
 * Tells if webhooks seem to have stopped: several pulls found invoices that were paid, and no event about an invoice
 * has come since before the first of them. Pure.
 * @param pulls in any order
 * @param listeningSince when a listener last started; earlier payments could not be announced
 * @returns null where they have not
 */
export function webhooksSeemStopped(
  pulls: readonly PullFinding[],
  lastInvoiceEventAt: number | null,
  listeningSince: number | null,
): ListFact | null {
  if (listeningSince === null) return null;
  const since = Math.max(lastInvoiceEventAt ?? 0, listeningSince);
  const unannounced = pulls.filter((pull) => pull.unlisted > 0 && pull.startedAt > since);
  if (unannounced.length < findingsInRow) return null;
  const invoices = unannounced.reduce((sum, { unlisted }) => sum + unlisted, 0);
  return { code: 'webhooks_stopped', pulls: unannounced.length, invoices };
}

/** The number of events, and the time of the last. `listening` is the start of a listener. */
interface TallyRow {
  name: string;
  number: number;
  lastAt: number;
}

/** Adds what was counted in memory since the last time: forged requests cost the store nothing. */
export async function addToTally(tx: Tx, counts: ReadonlyMap<string, number>, nowMs: number): Promise<void> {
  const { onTaken, inserted } = tx.dialect;
  for (const [name, number] of counts)
    await tx.run(
      `INSERT INTO webhook_tally (name, number, last_at) VALUES (?,?,?)
         ${onTaken(['name'])} number=webhook_tally.number+${inserted('number')}, last_at=${inserted('last_at')}`,
      [name, number, nowMs],
    );
}

/** Pulls that are looked at. */
const newestPulls = 200;

export async function readWebhookStatus(tx: Tx) {
  const tally = await tx.rows<TallyRow>('SELECT name, number, last_at FROM webhook_tally ORDER BY name');
  const listeningSinceAt = tally.find(({ name }) => name === 'listening')?.lastAt ?? null;
  const pulls = await tx.rows<PullFinding>(
    `SELECT started_at, unlisted FROM invoice_pull WHERE outcome IN ('proven','unproven') ORDER BY id DESC LIMIT ${newestPulls}`,
  );
  const pending = await tx.value<number>("SELECT COUNT(*) FROM webhook_event WHERE state='pending'");
  return {
    /** When an event was stored last; null: never. */
    lastEventAt: await lastReceivedAt(tx, ''),
    /** When a listener started last; null: never. */
    listeningSinceAt,
    /** Events that have to be read about. */
    pending: pending ?? 0,
    tally: tally.filter(({ name }) => name !== 'listening'),
    /** The sentence that webhooks seem to have stopped, or null. */
    stopped: webhooksSeemStopped(pulls, await lastReceivedAt(tx, "WHERE about='invoice'"), listeningSinceAt),
  };
}

async function lastReceivedAt(tx: Tx, where: string): Promise<number | null> {
  const sql = `SELECT received_at FROM webhook_event ${where} ORDER BY received_at DESC LIMIT 1`;
  return (await tx.value<number>(sql)) ?? null;
}
