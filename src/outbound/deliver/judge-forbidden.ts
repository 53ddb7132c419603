import type { Entity } from '../../model/record.js';
import type { Verdict } from '../../model/verdict.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { Operation } from '../outbox/message.js';

/** Whether the last request of this kind that was answered by success or 403 was a success. Read backwards along the primary key. */
export async function passedSinceForbidden(tx: Tx, entity: Entity, operation: Operation): Promise<boolean> {
  const [last] = await tx.select<{ verdict: string }>(
    `SELECT a.verdict FROM attempt a JOIN outbox_message m ON m.id=a.message_id
      WHERE a.purpose=? AND m.entity=? AND (a.verdict='delivered' OR (a.verdict='misconfigured' AND a.status=403))
      ORDER BY a.id DESC LIMIT 1`,
    [operation, entity],
  );
  return last?.verdict === 'delivered';
}

/** Those of these messages of which an earlier request was answered 403. */
export async function forbiddenBefore(tx: Tx, messageIds: readonly number[]): Promise<Set<number>> {
  if (messageIds.length === 0) return new Set();
  const rows = await tx.select<{ message_id: number }>(
    `SELECT DISTINCT message_id FROM attempt
      WHERE verdict='misconfigured' AND status=403 AND message_id IN ${placeholders(messageIds.length)}`,
    [...messageIds],
  );
  return new Set(rows.map((row) => Number(row.message_id)));
}

export interface ForbiddenCandidate {
  entity: Entity;
  operation: Operation;
  verdict: Verdict;
  status: number | null;
  /** Whether an earlier request of the same message was answered 403. */
  wasForbidden: boolean;
}

/** What is done in one way at the service, and so at one endpoint. */
export function endpointKey({ entity, operation }: Pick<ForbiddenCandidate, 'entity' | 'operation'>): string {
  return `${operation} ${entity}`;
}

/**
 * Tells a 403 that is about one record from one that is about us. Where others have passed at the same endpoint since the last
 * 403 there, our credential may evidently do this: the record waits for a moment, in which others show whether it still may,
 * and when it is forbidden once more after that, it is the record. Pure.
 * @param outcomes in the order in which they came
 * @param passedSince endpoints where a request has passed since the last 403, by `endpointKey`
 */
export function judgeForbidden(outcomes: readonly ForbiddenCandidate[], passedSince: ReadonlySet<string>): Verdict[] {
  const passed = new Set(passedSince);
  return outcomes.map((outcome) => {
    const { verdict, status, wasForbidden } = outcome;
    const endpoint = endpointKey(outcome);
    if (verdict.kind === 'delivered') passed.add(endpoint);
    if (verdict.kind !== 'misconfigured' || status !== 403) return verdict;
    return passed.delete(endpoint) ? { ...verdict, others: wasForbidden ? 'pass still' : 'passed' } : verdict;
  });
}
