import type { Settings } from '../../config/settings.js';
import type { Entity } from '../../model/record.js';
import { isOtherRecord, type MessageState } from '../outbox/message.js';
import type { KnownBinding, NewestMessage } from './next-revision.js';

/** What follows when a record is cancelled or deleted in the ERP (a setting). */
type RemovalEffect = 'nothing' | 'delete' | 'patch';

export type RemovalDecision =
  | { action: 'none' }
  /** An unsent create is closed; nothing is sent. */
  | { action: 'withdraw'; closes: number }
  | {
      action: 'write';
      operation: 'delete' | 'update';
      revision: number;
      generation: number;
      supersedes: number | null;
    };

/**
 * What becomes of a record that the ERP cancelled or deleted. Pure; one question a paragraph.
 * @param patchedHash content hash of the record with the configured fields, for `patch`
 */
export function decideRemoval(
  effect: RemovalEffect,
  newest: NewestMessage | null,
  binding: KnownBinding | null,
  patchedHash: string | null,
): RemovalDecision {
  const neverSent = newest !== null && newest.firstSentAt === null;
  const parkedWithoutEffect =
    newest?.state === 'parked' &&
    (newest.parkClass === 'unmapped' || newest.parkClass === 'refused' || newest.parkClass === 'held');

  // Nothing of it can exist at the service: then nothing has to be said, whatever is configured.
  if (newest?.operation === 'create' && !binding) {
    if (newest.state === 'superseded' || newest.state === 'discarded' || newest.state === 'delivered')
      return { action: 'none' };
    // An unmapped record can have been sent only by a store that is lost: a person says first whether it is there.
    if (newest.parkClass === 'unmapped' && !neverSent) return { action: 'none' };
    if ((newest.state === 'pending' && neverSent) || parkedWithoutEffect)
      return { action: 'withdraw', closes: newest.id };
  }
  const known = newest ?? binding;
  if (known === null || effect === 'nothing') return { action: 'none' };
  // A removal of a record that the service never had, or has no more. An update that waits for its create tells that it may come.
  const mayCome =
    newest?.operation === 'create' ||
    (newest?.operation === 'update' && (isUnderWay(newest.state) || newest.state === 'parked'));
  if (!binding && !mayCome) return { action: 'none' };

  // It is asked for already, or a person said no to it. An imported binding tells that it came back since.
  const cameBack =
    newest !== null && binding !== null && binding.revision > newest.revision && !isUnderWay(newest.state);
  if (newest?.operation === 'delete' && newest.state !== 'superseded' && !cameBack) return { action: 'none' };
  // What was closed unsent says nothing of what the service has.
  const said = newest?.state === 'superseded' ? (binding ?? newest) : (newest ?? binding);
  if (effect === 'patch' && said?.contentHash === patchedHash) return { action: 'none' };

  // The key belongs to another record by now, and a person has not said which one is meant.
  if (newest && isOtherRecord(newest)) return { action: 'none' };

  const replaceable =
    newest?.operation === 'update' && ((newest.state === 'pending' && neverSent) || parkedWithoutEffect);
  return {
    action: 'write',
    operation: effect === 'delete' ? 'delete' : 'update',
    revision: Math.max(newest?.revision ?? 0, binding?.revision ?? 0) + 1,
    generation: binding?.generation ?? known.generation,
    supersedes: replaceable && newest ? newest.id : null,
  };
}

function isUnderWay(state: MessageState): boolean {
  return state === 'pending' || state === 'sending' || state === 'in_doubt';
}

/** Whether an update writes over the whole record at the service, and not only over what it names. */
export function replacesRecord({ service }: Settings, entity: Entity): boolean {
  return service.endpoints[entity === 'order' ? 'updateOrder' : 'updateCustomer'].method === 'PUT';
}
