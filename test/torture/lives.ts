import type { LedgerRequest } from '../../src/lab/sandbox/ledger.js';
import type { History, Life } from './history.js';

export interface LifeWithRequests extends Life {
  requests: readonly LedgerRequest[];
}

/**
 * The parts of each store that there was, oldest first: a store that was lost or replaced by an older copy takes its
 * attempts and its witness with it. The last one keeps the rows that it has from the copy, but not the doings of
 * before.
 */
export function livesOf(history: History): LifeWithRequests[] {
  const { past, ledger } = history;
  if (!past) return [{ ...history, requests: ledger.requests }];
  const isBefore = (atMs: number) => atMs <= past.endedAtMs;
  return [
    { ...past, requests: ledger.requests.filter(({ received_at_ms }) => isBefore(received_at_ms)) },
    {
      ...history,
      requests: ledger.requests.filter(({ received_at_ms }) => !isBefore(received_at_ms)),
      attempts: history.attempts.filter(({ intended_at }) => !isBefore(intended_at)),
      events: history.events.filter(({ at_ms }) => !isBefore(at_ms)),
      operated: history.operated.filter(({ at }) => !isBefore(at)),
    },
  ];
}
