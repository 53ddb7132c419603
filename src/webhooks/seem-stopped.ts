/** A pull that ended, with how many invoices it found to have left the list that nobody had announced. */
export interface PullFinding {
  startedAt: number;
  unlisted: number;
}

/** So many pulls in a row that found something are no coincidence. */
const findingsInRow = 3;

/**
 * Whether webhooks seem to have stopped: pull after pull finds invoices that were paid, and since before the first of them no
 * event about an invoice has come, whatever else came. Pure.
 * @param pulls in any order
 * @param listeningSince when a listener started last; what was paid before that could not be announced
 * @returns a sentence for a person, or null
 */
export function webhooksSeemStopped(
  pulls: readonly PullFinding[],
  lastInvoiceEventAt: number | null,
  listeningSince: number | null,
): string | null {
  if (listeningSince === null) return null;
  const since = Math.max(lastInvoiceEventAt ?? 0, listeningSince);
  const unannounced = pulls.filter((pull) => pull.unlisted > 0 && pull.startedAt > since);
  if (unannounced.length < findingsInRow) return null;
  const invoices = unannounced.reduce((sum, { unlisted }) => sum + unlisted, 0);
  return `webhooks seem to have stopped: ${unannounced.length} pulls found ${invoices} invoices gone from the list that no event announced. Check the reverse proxy, and the address and the kinds of events that the service was given`;
}
