import { heldAsAdopted } from '../outbox/held-as-adopted.js';
import type { PassCounts } from '../outbox/hold-messages.js';
import type { Operation } from '../outbox/message.js';
import { unknownContent } from '../outbox/unknown-content.js';
import type { KnownBinding, NewestMessage } from './next-revision.js';

export interface BrakeLimits {
  maxUpdates: number;
  maxRemovals: number;
}

/**
 * Why the updates and removals of a pass wait for a person, or null. Pure. What a pass would do to so many records at once
 * was hardly done by hand: more likely something happened to the ERP.
 * @param standing what was found wrong with the source itself (empty, restored), as long as nobody confirmed it
 */
export function passBrake(counts: PassCounts, limits: BrakeLimits, standing: string | null): string | null {
  if (counts.updates + counts.removals === 0) return null;
  if (standing !== null) return standing;
  if (counts.removals > limits.maxRemovals)
    return `${counts.removals} removals in one pass, more than capture.maxRemovals (${limits.maxRemovals})`;
  if (counts.updates > limits.maxUpdates)
    return `${counts.updates} updates in one pass, more than capture.maxUpdates (${limits.maxUpdates})`;
  return null;
}

export interface HoldInput {
  operation: Operation;
  contentHash: string;
  mappingFingerprint: string;
  newest: (NewestMessage & { mappingFingerprint: string; reason: string | null }) | null;
  binding: (KnownBinding & { mappingFingerprint: string }) | null;
  /** Whether an update replaces the whole record at the service (PUT). */
  replacesRecord: boolean;
  /** Why creates of this key are suspicious (the ERP was restored, and the key was given before), or null. */
  suspiciousCreate: string | null;
}

/**
 * Why a single message waits for a person whatever else its pass does, or null. Pure.
 */
export function holdReason(input: HoldInput): string | null {
  const { operation, newest, binding } = input;
  if (operation === 'create') return input.suspiciousCreate;
  // It says what the service holds already, so that nothing will be sent.
  if (binding !== null && binding.contentHash === input.contentHash) return null;
  // Nobody has said yes to the change that this one takes the place of.
  if (newest?.state === 'parked' && newest.parkClass === 'held')
    return newest.reason ?? 'an earlier change to it is held';
  if (binding?.adoption && !binding.adoption.isReviewed) {
    const { differs } = binding.adoption;
    // Of what nobody has compared, an update of single fields says only what was edited since.
    const isWhole = input.replacesRecord || binding.contentHash === unknownContent;
    if (differs === null ? isWhole : differs.length > 0) return heldAsAdopted;
  }
  if (operation === 'update' && mappingOf(newest, binding) !== input.mappingFingerprint)
    return 'the mapping changed, and this record with it';
  return null;
}

/** Under which mapping the record was last sent, or is on its way. */
function mappingOf(newest: HoldInput['newest'], binding: HoldInput['binding']): string | null {
  const isUnderWay =
    newest !== null &&
    ['pending', 'sending', 'in_doubt', 'delivered'].includes(newest.state) &&
    !isOlder(newest, binding);
  return isUnderWay ? newest.mappingFingerprint : (binding?.mappingFingerprint ?? newest?.mappingFingerprint ?? null);
}

function isOlder(newest: NewestMessage, binding: KnownBinding | null): boolean {
  return binding !== null && newest.revision <= binding.revision;
}

/**
 * What tells that a key belongs to another record now: the columns that never change (number, creation time) did. Pure.
 * @param before as JSON of column → value; null when it is not known
 * @returns the columns that differ in words, or null
 */
export function changedIdentity(before: string | null, now: string | null): string | null {
  if (before === null || now === null || before === now) return null;
  const [old, current] = [JSON.parse(before), JSON.parse(now)] as [Columns, Columns];
  const names = Object.keys(old);
  // Other columns were configured meanwhile: that says nothing about the record.
  if (names.join('\n') !== Object.keys(current).join('\n')) return null;
  const changed = names.filter((name) => old[name] !== current[name]);
  return (
    changed.map((name) => `${name} was ${old[name] ?? 'empty'} and is ${current[name] ?? 'empty'}`).join(', ') || null
  );
}

type Columns = { [name: string]: string | null };
