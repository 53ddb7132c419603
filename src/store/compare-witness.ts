import type { Witness } from './witness.js';

/** How the store sees itself. */
export interface StoreTrace {
  incarnation: string;
  auditId: number;
  /** Incarnations that a person has replaced by this one, after a loss. */
  predecessors: readonly string[];
}

export interface StoreLoss {
  kind: 'lost' | 'older';
  reason: string;
}

/** Whether the store is the one that ran here last, and no older copy of it. Pure; null when it is, and on a first run. */
export function compareWitness(witness: Witness | null, store: StoreTrace): StoreLoss | null {
  if (!witness) return null;
  // Another machine's witness may not know yet that the loss was dealt with.
  if (store.predecessors.includes(witness.incarnation)) return null;
  if (witness.predecessors?.includes(store.incarnation))
    return {
      kind: 'older',
      reason: `the store is a copy from before a recovery: what took its place ran here until ${time(witness.at)}`,
    };
  if (witness.incarnation !== store.incarnation)
    return {
      kind: 'lost',
      reason: `the store is not the one that ran here until ${time(witness.at)} (it was lost, or the settings under \`store\` name another one)`,
    };
  if (store.auditId < witness.auditId)
    return {
      kind: 'older',
      reason: `the store is an older copy of itself: its last audit line is number ${store.auditId}, and ${witness.auditId} was there at ${time(witness.at)}`,
    };
  return null;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
