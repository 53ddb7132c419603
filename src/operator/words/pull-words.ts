import type { LastPull } from '../../inbound/invoices/pull-record.js';

/** How the last pull of the invoices ended, for the terminal and the desk. Pure. */
export function pullInWords(pull: LastPull, time: (ms: number) => string): string {
  const reason = pull.reason ? ` (${pull.reason})` : '';
  const malformed = pull.malformed > 0 ? ` ${pull.malformed} make no sense: waybill invoices --malformed.` : '';
  const isOlder = (pull.outcome === 'held' || pull.outcome === 'failed') && pull.listedAt !== null;
  const age = isOlder ? ` The list is of ${time(pull.listedAt as number)}.` : '';
  return `Last pull ${time(pull.endedAt ?? pull.startedAt)}: ${pull.outcome}${reason}.${age}${malformed}`;
}
