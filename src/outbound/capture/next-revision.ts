import type { Settings } from '../../config/settings.js';
import type { RecordFact } from '../../model/facts/records.js';
import type { Entity } from '../../model/record.js';
import { mayBeForgotten } from '../outbox/idempotency-key.js';
import { type FirstSend, isOtherRecord, type MessageState, type Operation, type ParkClass } from '../outbox/message.js';

/** The newest message that capture wrote for a record. */
export interface NewestMessage extends FirstSend {
  id: number;
  revision: number;
  operation: Operation;
  generation: number;
  state: MessageState;
  parkClass: ParkClass | null;
  contentHash: string | null;
  /** When a person or a look-up found its record at the service; null: the service acknowledged its own key, or nothing. */
  foundAt: number | null;
}

export interface KnownBinding {
  revision: number;
  generation: number;
  contentHash: string | null;
  /** Set when the record was made at the service by others, not under a key of ours. */
  adoption?: KnownAdoption | null;
}

interface KnownAdoption {
  /** Names of the fields that differed; null: they were not compared. */
  differs: string[] | null;
  /** A person has said what becomes of it. */
  isReviewed: boolean;
}

/** The memory of a record that was deleted at the service, or (`revision` is null) of a key that a record has left. */
export interface ClosedBinding {
  revision: number | null;
  generation: number;
}

export type RevisionDecision =
  | { action: 'none' }
  | { action: 'write'; operation: Operation; revision: number; generation: number; supersedes: number | null };

/**
 * Capture's decision about a mapped row, given the facts about its record. Pure.
 *
 * A create is written again only while nothing can exist at the service: never sent, or refused
 * with proof. Everywhere else a change is an update, which waits until the record is acknowledged.
 * @param replaysRefusals whether the service answers a refused key with the same refusal for ever
 * (a setting)
 */
export function nextRevision(
  contentHash: string,
  newest: NewestMessage | null,
  binding: KnownBinding | null,
  replaysRefusals: boolean,
  closed: ClosedBinding | null = null,
): RevisionDecision {
  const decision = decide(contentHash, newest, binding, replaysRefusals, closed);
  // To a key of an earlier generation the service would answer with the record that was removed.
  return decision.action === 'write' && decision.operation === 'create' && closed
    ? { ...decision, generation: Math.max(decision.generation, closed.generation + 1) }
    : decision;
}

function decide(
  contentHash: string,
  newest: NewestMessage | null,
  binding: KnownBinding | null,
  replaysRefusals: boolean,
  closed: ClosedBinding | null,
): RevisionDecision {
  if (!newest) {
    if (!binding) return create((closed?.revision ?? 0) + 1, 0);
    if (binding.contentHash === contentHash) return { action: 'none' };
    return update(binding.revision + 1, binding.generation, null);
  }
  const revision = Math.max(newest.revision, binding?.revision ?? 0, closed?.revision ?? 0) + 1;
  // The service has it no more, and whatever was said of it was said before.
  const isClosed = ['delivered', 'superseded', 'discarded'].includes(newest.state);
  if (!binding && closed && (closed.revision ?? 0) >= newest.revision && isClosed)
    return create(revision, newest.generation);
  // A store that was restored may know less of the record than the binding that was imported.
  const generation = Math.max(newest.generation, binding?.generation ?? 0);
  if (newest.operation === 'delete')
    return afterRemoval(contentHash, newest, binding, { revision, generation }, replaysRefusals);
  // It was withdrawn before it was sent, and is wanted again.
  if (newest.state === 'superseded' && newest.operation === 'create' && !binding)
    return create(revision, newest.generation + (isBurnt(newest, replaysRefusals) ? 1 : 0));
  if (newest.contentHash === contentHash) return { action: 'none' };

  // Once sent, even into a 429, the key belongs to its bytes.
  const neverSent = !newest.wasSent;
  switch (newest.state) {
    case 'pending':
      if (neverSent) return again(newest, revision, generation);
      return update(revision, generation, null);

    case 'parked':
    case 'discarded': {
      // A store that was recovered may not know when another one sent what is unproven here.
      const isUnsent = neverSent && newest.parkClass !== 'unproven';
      const nothingExists = newest.parkClass === 'unmapped' || newest.parkClass === 'refused' || isUnsent;
      // A record that may exist must not be created again: the update waits for `outbox resolve`.
      if (!nothingExists) return update(revision, generation, null);
      // The service acknowledged the record before: whatever became of a repeated create (`resync
      // --force`), a change to it is an update, and a new key would make a second record.
      if (newest.operation === 'create' && binding)
        return update(revision, generation, newest.state === 'parked' ? newest.id : null);
      const burnt = replaysRefusals && newest.parkClass === 'refused' && newest.operation === 'create';
      return again(newest, revision, generation + (burnt ? 1 : 0));
    }

    // The end of a superseded message is known from elsewhere, such as an export: what the service holds is compared with the row.
    case 'sending':
    case 'in_doubt':
    case 'delivered':
    case 'superseded':
      return update(revision, generation, null);
  }
}

/** A row that is there although its removal was asked for. */
function afterRemoval(
  contentHash: string,
  newest: NewestMessage,
  binding: KnownBinding | null,
  { revision, generation }: { revision: number; generation: number },
  replaysRefusals: boolean,
): RevisionDecision {
  if (newest.state === 'delivered') {
    // The service has it no more: a new record, with a new key.
    if (!binding) return create(revision, newest.generation + 1);
    // It came back before the store was lost, and its binding was imported.
    return binding.contentHash === contentHash ? { action: 'none' } : update(revision, generation, null);
  }
  const neverSent = !newest.wasSent;
  const isUnderWay =
    newest.state === 'sending' || newest.state === 'in_doubt' || (newest.state === 'pending' && !neverSent);
  // It can't be called back, and only when it has ended is it known what to say. A later pass meets the row again.
  if (isUnderWay) return { action: 'none' };
  // It followed a create that was refused, so that there is nothing that could be changed.
  if (newest.state === 'superseded' && !binding) return create(revision, newest.generation + (replaysRefusals ? 1 : 0));
  const withoutEffect = neverSent || newest.parkClass === 'refused' || newest.parkClass === 'held';
  const supersedes = withoutEffect && (newest.state === 'pending' || newest.state === 'parked') ? newest.id : null;
  return update(revision, generation, supersedes);
}

function isBurnt(newest: NewestMessage, replaysRefusals: boolean): boolean {
  return replaysRefusals && newest.parkClass === 'refused' && newest.operation === 'create';
}

function create(revision: number, generation: number): RevisionDecision {
  return { action: 'write', operation: 'create', revision, generation, supersedes: null };
}

function again(newest: NewestMessage, revision: number, generation: number): RevisionDecision {
  const supersedes = newest.state === 'discarded' ? null : newest.id;
  return { action: 'write', operation: newest.operation, revision, generation, supersedes };
}

function update(revision: number, generation: number, supersedes: number | null): RevisionDecision {
  return { action: 'write', operation: 'update', revision, generation, supersedes };
}

type ForcedDecision = RevisionDecision | { action: 'skip'; reason: RecordFact };

/**
 * The effect of `resync --force` on a row that has not changed. Pure. A create goes out again only with the same key
 * and bytes, and only while the service remembers the key: then the service answers with the record it has.
 */
export function forcedRevision(
  newest: NewestMessage | null,
  binding: KnownBinding | null,
  replaysRefusals: boolean,
  nowMs: number,
  keyLifetimeMs: number,
): ForcedDecision {
  if (!newest) return { action: 'skip', reason: { code: 'first_message_pruned' } };
  // Our key never made it: the service would take the same create for a new one.
  if (binding?.adoption) return { action: 'skip', reason: { code: 'adopted_takes_changes_only' } };
  const revision = Math.max(newest.revision, binding?.revision ?? 0) + 1;
  switch (newest.state) {
    case 'delivered':
      if (newest.operation !== 'create') return { action: 'skip', reason: { code: 'update_acknowledged' } };
      // Its key may never have arrived: the service would take it for a new create.
      if (newest.foundAt !== null) return { action: 'skip', reason: { code: 'found_without_key' } };
      if (!newest.wasSent || mayBeForgotten(newest.firstSentAt, nowMs, keyLifetimeMs))
        return { action: 'skip', reason: { code: 'key_may_be_forgotten' } };
      return { action: 'write', operation: 'create', revision, generation: newest.generation, supersedes: null };
    case 'parked': {
      if (newest.parkClass !== 'refused' && newest.parkClass !== 'unmapped')
        return { action: 'skip', reason: { code: 'needs_resolve', parkClass: newest.parkClass ?? '' } };
      // A repeated create was refused. The record is there all the same, and a new key would make a second one.
      if (newest.operation === 'create' && binding)
        return { action: 'skip', reason: { code: 'refused_when_repeated' } };
      return again(newest, revision, newest.generation + (isBurnt(newest, replaysRefusals) ? 1 : 0));
    }
    case 'discarded':
      return { action: 'skip', reason: { code: 'discarded_by_person' } };
    default:
      return { action: 'skip', reason: { code: 'on_its_way' } };
  }
}

/** The effect at the service of a record that is cancelled or deleted in the ERP (a setting). */
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
 * The fate of a record that the ERP cancelled or deleted. Pure; one question a paragraph.
 * @param patchedHash content hash of the record with the configured fields, for `patch`
 */
export function decideRemoval(
  effect: RemovalEffect,
  newest: NewestMessage | null,
  binding: KnownBinding | null,
  patchedHash: string | null,
): RemovalDecision {
  const neverSent = newest !== null && !newest.wasSent;
  const isUnsent = newest !== null && ((newest.state === 'pending' && neverSent) || isParkedWithoutEffect(newest));

  // Nothing of it can exist at the service: then nothing has to be said, whatever is configured.
  if (newest?.operation === 'create' && !binding) {
    if (newest.state === 'superseded' || newest.state === 'discarded' || newest.state === 'delivered')
      return { action: 'none' };
    // An unmapped record can have been sent only by a store that is lost: a person says first whether it is there.
    if (newest.parkClass === 'unmapped' && !neverSent) return { action: 'none' };
    if (isUnsent) return { action: 'withdraw', closes: newest.id };
  }
  const known = newest ?? binding;
  if (known === null || effect === 'nothing') return { action: 'none' };
  // A removal of a record that the service never had, or has no more. An update that waits for its create tells that it may come.
  if (!binding && !mayCome(newest)) return { action: 'none' };

  // It is asked for already, or a person said no to it. An imported binding tells that it came back since.
  const cameBack = newest !== null && binding !== null && binding.revision > newest.revision && !isOpen(newest.state);
  if (newest?.operation === 'delete' && newest.state !== 'superseded' && !cameBack) return { action: 'none' };
  // A message that was closed unsent says nothing of the service's content.
  const said = newest?.state === 'superseded' ? (binding ?? newest) : (newest ?? binding);
  if (effect === 'patch' && said?.contentHash === patchedHash) return { action: 'none' };

  // The key belongs to another record by now, and a person has not said which one is meant.
  if (newest && isOtherRecord(newest)) return { action: 'none' };

  const replaceable = newest?.operation === 'update' && isUnsent;
  return {
    action: 'write',
    operation: effect === 'delete' ? 'delete' : 'update',
    revision: Math.max(newest?.revision ?? 0, binding?.revision ?? 0) + 1,
    generation: binding?.generation ?? known.generation,
    supersedes: replaceable && newest ? newest.id : null,
  };
}

function isOpen(state: MessageState): boolean {
  return state === 'pending' || state === 'sending' || state === 'in_doubt';
}

/** True if a record without a binding may still come to the service. */
function mayCome(newest: NewestMessage | null): boolean {
  if (newest?.operation === 'create') return true;
  return newest?.operation === 'update' && (isOpen(newest.state) || newest.state === 'parked');
}

function isParkedWithoutEffect({ state, parkClass }: NewestMessage): boolean {
  return state === 'parked' && (parkClass === 'unmapped' || parkClass === 'refused' || parkClass === 'held');
}

/** True if an update writes over the whole record at the service, and not only over the fields that it names. */
export function replacesRecord({ service }: Settings, entity: Entity): boolean {
  return service.endpoints[entity === 'order' ? 'updateOrder' : 'updateCustomer'].method === 'PUT';
}
