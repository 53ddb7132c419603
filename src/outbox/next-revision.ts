import type { MessageState, Operation, ParkClass } from './message.js';

/** The newest message that capture wrote for a record. */
export interface NewestMessage {
  id: number;
  revision: number;
  operation: Operation;
  generation: number;
  state: MessageState;
  parkClass: ParkClass | null;
  contentHash: string;
  /** Attempts that were ever permitted; 0 means that no byte can have left. */
  attempts: number;
}

export interface KnownBinding {
  revision: number;
  generation: number;
  contentHash: string;
}

export type RevisionDecision =
  | { action: 'none' }
  | { action: 'write'; operation: Operation; revision: number; generation: number; supersedes: number | null };

/**
 * What capture does with a mapped row, given what is known of its record. Pure.
 *
 * A create is written again only while nothing can exist at the service: never sent, or refused with proof. Everywhere else
 * a change is an update, which waits until the record is acknowledged.
 * @param replaysRefusals whether the service answers a refused key with the same refusal for ever (a setting)
 */
export function nextRevision(
  contentHash: string,
  newest: NewestMessage | null,
  binding: KnownBinding | null,
  replaysRefusals: boolean,
): RevisionDecision {
  if (!newest) {
    if (!binding) return { action: 'write', operation: 'create', revision: 1, generation: 0, supersedes: null };
    if (binding.contentHash === contentHash) return { action: 'none' };
    return update(binding.revision + 1, binding.generation, null);
  }
  if (newest.contentHash === contentHash) return { action: 'none' };

  const revision = newest.revision + 1;
  const neverSent = newest.attempts === 0;
  switch (newest.state) {
    case 'pending':
      if (neverSent) return again(newest, revision, newest.generation);
      return update(revision, newest.generation, null);

    case 'parked':
    case 'discarded': {
      const nothingExists = newest.parkClass === 'unmapped' || newest.parkClass === 'refused' || neverSent;
      // What may exist must not be created again: the update waits for `outbox resolve`.
      if (!nothingExists) return update(revision, newest.generation, null);
      const burnt = replaysRefusals && newest.parkClass === 'refused' && newest.operation === 'create';
      return again(newest, revision, newest.generation + (burnt ? 1 : 0));
    }

    case 'sending':
    case 'in_doubt':
    case 'delivered':
      return update(revision, newest.generation, null);

    // The newest message is never superseded: its successor would be newer.
    case 'superseded':
      return update(revision, newest.generation, null);
  }
}

function again(newest: NewestMessage, revision: number, generation: number): RevisionDecision {
  const supersedes = newest.state === 'discarded' ? null : newest.id;
  return { action: 'write', operation: newest.operation, revision, generation, supersedes };
}

function update(revision: number, generation: number, supersedes: number | null): RevisionDecision {
  return { action: 'write', operation: 'update', revision, generation, supersedes };
}
