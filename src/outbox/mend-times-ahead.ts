import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { removalAfterThisPass } from './hold-messages.js';
import { clockToleranceMs, sentUnknownWhen } from './key-age.js';

/**
 * After a clock that ran ahead was set right: what was sent "tomorrow" was sent nobody knows when, so that its key counts as
 * forgotten, and what waits until then waits no longer. Where no time lies ahead nothing is written.
 * @param longestWaitMs the longest that a message waits for its next try
 * @returns how many messages had such a time
 */
export async function mendTimesAhead(tx: Tx, nowMs: number, longestWaitMs: number): Promise<number> {
  // By their ids: on MySQL, an UPDATE over a range would lock the gaps in which a capture writes.
  const sent = await tx.select(
    "SELECT id FROM outbox_message WHERE state='in_doubt' AND operation='create' AND first_sent_at>?",
    [nowMs + clockToleranceMs],
  );
  const waiting = await tx.select(
    `SELECT id FROM outbox_message
      WHERE state IN ('pending','in_doubt') AND entity IN ('customer','order') AND is_backlog IN (0,1)
        AND next_attempt_at>? AND next_attempt_at<?`,
    [nowMs + longestWaitMs + clockToleranceMs, removalAfterThisPass],
  );
  for (const [rows, set, value] of [
    [sent, 'first_sent_at', sentUnknownWhen],
    [waiting, 'next_attempt_at', nowMs],
  ] as const)
    for (let from = 0; from < rows.length; from += 500) {
      const ids = rows.slice(from, from + 500).map((row) => Number(row.id));
      await tx.run(
        `UPDATE outbox_message SET ${set}=? WHERE id IN ${placeholders(ids.length)} AND state IN ('pending','in_doubt')`,
        [value, ...ids],
      );
    }
  return new Set([...sent, ...waiting].map((row) => Number(row.id))).size;
}
