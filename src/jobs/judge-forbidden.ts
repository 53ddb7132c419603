import type { Entity } from '../model/entity.js';
import type { Verdict } from '../model/verdict.js';
import type { Operation } from '../outbox/message.js';

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
