import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { Fact } from '../../model/facts/fact.js';
import { raiseAlert } from '../../store/alerts.js';
import { factColumns } from '../../store/fact-columns.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { type MessageName, parkAsUnproven } from '../outbox/transitions.js';

/** The service's answers to creates of customers that may have been sent before, under the same key. */
export interface ResentCustomers {
  acknowledged: number;
  /** It refused them, because they exist already. */
  existed: number;
}

/** Fewer may be customers that others made while our first attempt was in doubt. */
const leastExisting = 3;
const leastShare = 0.9;

/**
 * True if the service has evidently forgotten its keys, or never heeds them. Pure. A service that remembers the key of
 * a customer repeats its acknowledgement; only one that does not finds that the customer exists.
 */
export function areKeysForgotten({ acknowledged, existed }: ResentCustomers): boolean {
  return existed >= leastExisting && existed / (existed + acknowledged) >= leastShare;
}

export const forgottenKeysAlert = 'keys.forgotten';

/** Orders that may have been sent, and that no key makes harmless any more. */
const doubted = `entity='order' AND operation='create' AND was_sent=1 AND first_sent_at IS NULL AND state IN ('in_doubt','parked')`;

/**
 * Stops the resend of orders that would rely on forgotten keys: those of the customers that exist already, in the transaction
 * that may bind these customers and so let their orders go, and all others where the keys are evidently forgotten. The service
 * is asked for them where it can be, otherwise they are parked.
 * @param existing keys of the customers, at least one
 * @returns how many were parked
 */
export async function doubtOrderKeys(
  tx: Tx,
  existing: readonly string[],
  resent: ResentCustomers,
  { canLookUp, actor }: { canLookUp: boolean; actor: string },
  nowMs: number,
): Promise<number> {
  const some = areKeysForgotten(resent) ? '' : `AND customer_key IN ${placeholders(existing.length)}`;
  const orders = await tx.rows<MessageName>(
    `SELECT id, entity, source_key FROM outbox_message
      WHERE state='in_doubt' AND entity='order' AND operation='create' AND first_sent_at IS NOT NULL ${some} ORDER BY id${tx.forUpdate}`,
    some === '' ? [] : existing,
  );
  if (orders.length === 0) return 0;
  const reason: Fact = { code: 'keys_perhaps_forgotten' };
  const why = factColumns(reason);
  const ids = orders.map(({ id }) => id);
  // A few thousand at a time: it may be every order of a lost store.
  for (let from = 0; from < ids.length; from += 5_000) {
    const chunk = ids.slice(from, from + 5_000);
    const set = 'UPDATE outbox_message SET first_sent_at=NULL, reason_code=?, reason_data=? WHERE id IN';
    await tx.run(`${set} ${placeholders(chunk.length)}`, [why.code, why.data, ...chunk]);
  }
  if (!canLookUp) await parkAsUnproven(tx, 'in_doubt', ids, reason);
  const event = canLookUp ? 'in_doubt' : 'parked';
  const lines = orders.map(({ id: messageId, entity, sourceKey }): AuditEntry => {
    return { event, outcome: 'unproven', entity, sourceKey, messageId, actor, detail: { reason } };
  });
  await appendAudit(tx, lines, nowMs);
  const count = (await tx.value<number>(`SELECT COUNT(*) FROM outbox_message WHERE ${doubted}`)) ?? 0;
  const alert = { code: 'keys_forgotten', ...resent, orders: count, isAsked: canLookUp } as const;
  await raiseAlert(tx, forgottenKeysAlert, alert, nowMs);
  return canLookUp ? 0 : ids.length;
}

/** True if orders still wait for the result of a look-up at a service that has forgotten their keys. */
export async function areOrdersDoubted(tx: Tx): Promise<boolean> {
  return (await tx.value(`SELECT 1 FROM outbox_message WHERE ${doubted} LIMIT 1`)) !== undefined;
}
