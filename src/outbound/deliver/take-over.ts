import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { JobContext } from '../../ops/job-context.js';
import { readClock } from '../../store/clock.js';
import type { Tx } from '../../store/store.js';
import { doubtOlderEpochs, giveBackUnsent } from '../outbox/transitions.js';
import { endOlderEpochs, unendedWrites } from './attempts.js';
import { followClock, forgetFutureSends } from './clock-trace.js';
import type { LeftMarks } from './send-marks.js';

/**
 * Requests of older epochs may have been sent: they are in doubt from here on. A message that one provably never sent
 * waits as before.
 * @param ended epochs whose processes have ended, with what they noted on this machine of what they sent
 * @param alive older epochs whose nodes are at work
 * @returns how many messages each is true of
 */
export async function takeOver(
  tx: Tx,
  context: JobContext,
  epoch: number,
  ended: readonly { epoch: number; left: LeftMarks }[],
  alive: readonly number[] = [],
): Promise<{ inDoubt: number; unsent: number }> {
  const at = context.nowMs();
  const { actor } = context;
  let unsent = 0;
  for (const { epoch: over, left } of ended) unsent += await giveBack(tx, over, left);
  await endOlderEpochs(tx, epoch, at, alive);
  const doubted = await doubtOlderEpochs(tx, epoch, readClock(context), alive);
  const reason = { code: 'process_stopped' } as const;
  const lines = doubted.map(({ id: messageId, entity, sourceKey }): AuditEntry => {
    return { event: 'in_doubt', outcome: 'unknown', entity, sourceKey, messageId, actor, detail: { reason } };
  });
  await appendAudit(tx, lines, at);
  // After what was being sent has its time of the first send.
  await followClock(tx, context);
  // A node that ended before another one on its machine noticed a step had claimed by the clock as it was.
  await forgetFutureSends(tx, context.nowMs());
  return { inDoubt: doubted.length, unsent };
}

/** Messages that a predecessor claimed and provably never sent were never tried. @returns the number of messages */
async function giveBack(tx: Tx, epoch: number, left: LeftMarks): Promise<number> {
  const unsent = left.neverLeft(await unendedWrites(tx, epoch));
  return giveBackUnsent(tx, [...unsent], epoch);
}
