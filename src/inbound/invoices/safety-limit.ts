import { appendAudit } from '../../audit/audit-log.js';
import type { InvoicesSettings } from '../../config/sections/invoices.js';
import type { DropFact } from '../../model/facts/lists.js';
import type { JobContext } from '../../ops/job-context.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { markFoundDue } from '../../store/write-back-due.js';
import { countListedInvoices, listHeldInvoices } from './list-invoices.js';
import { isDropped, isKept, isStaged } from './swap-invoices.js';

export const heldDropCause = 'held.invoices';

/**
 * The loss that keeps listed what a pull would take off, until a person confirms; null: it may leave. Pure. A list that lacks
 * so many at once was hardly paid so fast: more likely something happened to the service, or to the settings that say what to
 * ask for.
 * @param leaving invoices that would leave without a state that the service says of them
 * @param listed invoices that are listed as due
 */
export function dropHold(
  { leaving, listed }: { leaving: number; listed: number },
  { maxDrops, maxDropShare }: Pick<InvoicesSettings, 'maxDrops' | 'maxDropShare'>,
): DropFact | null {
  if (leaving <= maxDrops || leaving / listed <= maxDropShare) return null;
  return { code: 'many_would_leave', leaving, listed, maxDrops, maxDropShare };
}

/**
 * Judges what the staged list would take off, right before it is swapped in, and raises or ends the alert. An invoice that is
 * held stays so until a pull meets it, it leaves by a state that is said of it, or a person confirms: an index that is rebuilt
 * bit by bit would take off the rest.
 * @returns how many are kept, and what holds the whole list; null: it may be swapped in, and takes off none that is kept
 */
export async function judgeDrop(
  tx: Tx,
  limits: InvoicesSettings,
  nowMs: number,
): Promise<{ kept: number; held: DropFact | null }> {
  await tx.run(`UPDATE invoice SET drop_held_at=NULL WHERE drop_held_at IS NOT NULL AND ${isStaged}`);
  const leaving = await tx.value<number>(`SELECT COUNT(*) FROM invoice WHERE ${isDropped}`);
  const held = dropHold({ leaving: leaving ?? 0, listed: await countListedInvoices(tx) }, limits);
  if (held !== null)
    await tx.run(`UPDATE invoice SET drop_held_at=? WHERE drop_held_at IS NULL AND ${isDropped}`, [nowMs]);
  const kept = await tx.value<number>(`SELECT COUNT(*) FROM invoice WHERE ${isKept} AND ${isDropped}`);
  if (!kept) return { kept: 0, held };
  const { rows } = await listHeldInvoices(tx, 3);
  const some = rows.map(({ invoice_no }) => invoice_no);
  await raiseAlert(tx, heldDropCause, { code: 'invoices_held', leaving: kept, some, drop: held }, nowMs);
  return { kept, held };
}

/** Ends the alert where nothing is held any more. */
export async function endDropAlert(tx: Tx, nowMs: number): Promise<void> {
  if (!(await isDropHeld(tx))) await endAlert(tx, heldDropCause, nowMs);
}

/** True if invoices wait for `waybill confirm invoices`. */
export async function isDropHeld(tx: Tx): Promise<boolean> {
  return (await tx.value(`SELECT invoice_no FROM invoice WHERE ${isKept} LIMIT 1`)) !== undefined;
}

const batchSize = 500;

/**
 * Takes off the list what a person was shown and is still held, and nothing else: an invoice that a pull has met since stays.
 * @param shown the numbers of the invoices
 * @returns how many have left
 */
export async function confirmDrop(
  { store, actor, nowMs }: JobContext,
  shown: readonly string[],
  reason: string,
): Promise<number> {
  return store.transaction('record what was confirmed', async (tx) => {
    const at = nowMs();
    let dropped = 0;
    for (let from = 0; from < shown.length; from += batchSize) {
      const numbers = shown.slice(from, from + batchSize);
      const held = `invoice_no IN ${placeholders(numbers.length)} AND ${isKept}`;
      await markFoundDue(tx, 'invoices', `SELECT invoice_no FROM invoice WHERE ${held}`, numbers);
      dropped += await tx.run(`UPDATE invoice SET unlisted_at=?, missed_at=NULL, drop_held_at=NULL WHERE ${held}`, [
        at,
        ...numbers,
      ]);
    }
    await endDropAlert(tx, at);
    const detail = { reason, invoices: dropped };
    await appendAudit(tx, { event: 'operator', outcome: 'confirm_drop', actor, detail }, at);
    return dropped;
  });
}
