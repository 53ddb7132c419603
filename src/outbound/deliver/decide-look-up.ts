import type { Entity } from '../../model/record.js';
import type { FoundRecord, LookUpFinding } from '../../model/verdict.js';
import type { ParkClass } from '../outbox/message.js';

export interface LookedUpMessage {
  entity: Entity;
  /** Why it was looked up: its key may be forgotten (`in_doubt`), or the service said that something exists (`conflict`). */
  cause: 'in_doubt' | 'conflict';
  /** Sum of its lines in the service's unit; null where there is nothing to compare. */
  expectedTotal: bigint | null;
}

export type LookUpDecision =
  | { to: 'delivered'; serviceId: string; flag: string; contentKnown: boolean }
  /** Somebody else made this customer: it is bound, and nothing of it is overwritten before a person has looked. */
  | { to: 'adopted'; found: FoundRecord }
  /** It does not exist: the same key and bytes go out as if for the first time. */
  | { to: 'pending' }
  | { to: 'parked'; parkClass: ParkClass; reason: string };

/**
 * What follows from what a look-up found. Pure. Only one exact match proves that a record exists, and only a service whose
 * look-up sees at once what was created can prove that it does not.
 */
export function decideLookUp(
  message: LookedUpMessage,
  finding: LookUpFinding,
  settings: { absenceProves: boolean; checkTotal: 'exact' | 'off' },
): LookUpDecision {
  const park = (reason: string): LookUpDecision => ({
    to: 'parked',
    parkClass: message.cause === 'conflict' ? 'conflict' : 'unproven',
    reason: `${reason} Look at the service, then use outbox resolve.`,
  });
  switch (finding.kind) {
    case 'found': {
      if (message.cause === 'conflict' && message.entity === 'customer') return { to: 'adopted', found: finding };
      const words = ['Found by look-up.'];
      const { expectedTotal } = message;
      const wrongTotal =
        settings.checkTotal === 'exact' &&
        expectedTotal !== null &&
        finding.total !== null &&
        BigInt(finding.total) !== expectedTotal;
      if (wrongTotal) words.push(`Its total there is ${finding.total}; the lines add up to ${expectedTotal}.`);
      if (finding.differs.length > 0) words.push(`It differs there in ${finding.differs.join(', ')}.`);
      // Something else made or changed it: the next update sends every field.
      const contentKnown = message.cause === 'in_doubt' && !wrongTotal && finding.differs.length === 0;
      return { to: 'delivered', serviceId: finding.serviceId, flag: words.join(' '), contentKnown };
    }
    case 'none':
      if (message.cause === 'conflict') return park('The service says that it exists, and a look-up finds nothing.');
      if (settings.absenceProves) return { to: 'pending' };
      return park(
        'The service may have forgotten the key since the first try, and a look-up finds nothing, which proves nothing (absenceProves).',
      );
    case 'several':
      return park(`A look-up finds it ${finding.count} times.`);
    case 'odd':
      return park(`A look-up proves nothing: ${finding.reason}.`);
  }
}
