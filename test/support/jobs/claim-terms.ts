import type { ClaimTerms } from '../../../src/outbound/deliver/claim-messages.js';

const patch = { method: 'PATCH', optional: () => [] } as const;

const shown = { header: 'in a header', body: 'in the body' };

/** Terms of a claim on which nothing is left: keys never age, and everything is due. */
export function claimTerms(given: Pick<ClaimTerms, 'epoch' | 'nowMs'> & Partial<ClaimTerms>): ClaimTerms {
  return {
    keyLifetimeMs: Number.POSITIVE_INFINITY,
    presentations: { customer: shown, order: shown },
    updates: { customer: patch, order: patch },
    newKeyField: () => null,
    stillRemoved: new Set(),
    dueByMs: null,
    wallLeadMs: 0,
    ...given,
  };
}
