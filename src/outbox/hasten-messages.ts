import type { Tx } from '../store/store.js';

/**
 * Brings the next try of messages in doubt forward to `notLaterThan`: how long they had to wait came from an outage that is
 * over. @returns how many there were
 */
export async function hastenInDoubt(tx: Tx, notLaterThan: number): Promise<number> {
  return tx.run("UPDATE outbox_message SET next_attempt_at=? WHERE state='in_doubt' AND next_attempt_at>?", [
    notLaterThan,
    notLaterThan,
  ]);
}
