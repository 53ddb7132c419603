import type { Fact } from '../../model/facts/fact.js';
import type { PartFact } from '../../model/facts/fact-of.js';
import type { FindingCause, ReconcileFact } from '../../model/facts/reconcile.js';
import type { JsonValue } from '../../model/record.js';
import type { MessageState, Operation, ParkClass } from '../../outbound/outbox/message.js';
import type { ShownRecord } from '../../service/read-record.js';
import { type Comparison, compareRecord, compareTotals, type FieldDifference } from './compare-record.js';

type Fields = { readonly [name: string]: JsonValue };

/** The ERP's version of a record. */
export type ErpSide =
  /** `total`: what it amounts to; null: not known, or not to be compared. */
  | { kind: 'row'; record: Fields; total: bigint | null }
  /** The row can't become a record now. */
  | { kind: 'unmapped'; reason: Fact }
  | { kind: 'cancelled' }
  | { kind: 'gone' };

/** The service's version; `unread`: the reason why it is not known. */
export type ServiceSide = ShownRecord | { kind: 'unread'; reason: Fact };

/** The newest message of a record, as far as it decides what may be compared. */
export interface NewestOf {
  state: MessageState;
  operation: Operation;
  parkClass: ParkClass | null;
  reason: Fact | null;
}

/** The possible faults between the two sides. `unjudged`: nothing may be said yet, and `cause` says why. */
export type FindingKind = 'missing' | 'different' | 'extra' | 'unjudged';

export type Cause = FindingCause;

export interface Judgement {
  kind: FindingKind;
  cause: Cause;
  reason: ReconcileFact;
  fields: FieldDifference[];
}

/** `same`: nothing is wrong. Both may also have nothing of it. */
export type Judged = { finding: Judgement | null; unshown: string[] };

/**
 * The reason why a record may not be compared: a message of it is open; null: nothing stands against it. Pure.
 */
export function openCause(newest: NewestOf | null): Judgement | null {
  if (newest === null) return null;
  const { state, operation, parkClass, reason } = newest;
  const unjudged = (cause: Cause, fact: ReconcileFact): Judgement => {
    return { kind: 'unjudged', cause, reason: fact, fields: [] };
  };
  switch (state) {
    case 'in_doubt':
      return unjudged('in_doubt', { code: 'message_in_doubt', operation, reason });
    case 'pending':
    case 'sending':
      return unjudged('under_way', { code: 'message_on_its_way', operation });
    case 'parked':
      return unjudged(parkClass === 'held' ? 'held' : 'parked', {
        code: 'waits_for_person',
        operation,
        parkClass,
        reason,
      });
    default:
      return null;
  }
}

/**
 * The fault of a record that the store has bound to one of the service. Pure; one question a paragraph.
 * @param hasMoved its message or its binding changed while the two sides were read
 * @param isRecent its last request is so recent that the service may not show yet what came of it
 * @param onCancelled what the settings say of a cancelled record
 */
export function judgeBound(
  erp: ErpSide,
  service: ServiceSide,
  newest: NewestOf | null,
  about: {
    hasMoved: boolean;
    isRecent: boolean;
    onCancelled: string;
    optional: readonly string[];
    shownBefore: ReadonlySet<string>;
  },
): Judged {
  const say = (
    kind: FindingKind,
    cause: Cause,
    reason: ReconcileFact,
    comparison: Partial<Comparison> = {},
  ): Judged => ({
    finding: { kind, cause, reason, fields: comparison.differing ?? [] },
    unshown: comparison.unshown ?? [],
  });
  const open = openCause(newest);
  if (open) return { finding: open, unshown: [] };
  if (about.hasMoved) return say('unjudged', 'under_way', { code: 'sent_while_compared' });

  if (service.kind === 'unread') return say('unjudged', 'unread', { code: 'not_shown', reason: service.reason });
  if (erp.kind === 'unmapped') return say('unjudged', 'unmapped', { code: 'row_unusable', reason: erp.reason });

  // If nobody has anything of it, nothing is wrong.
  if (service.kind === 'absent' && erp.kind !== 'row') return { finding: null, unshown: [] };
  if (service.kind === 'absent')
    return about.isRecent
      ? say('unjudged', 'unproven', mayStillShow)
      : say('missing', 'gone_at_service', { code: 'not_at_service_any_more' });
  if (erp.kind === 'gone') return say('extra', 'deleted_in_erp', { code: 'not_in_erp_any_more' });
  if (erp.kind === 'cancelled')
    return say('unjudged', 'filtered', { code: 'cancelled_in_erp', onCancelled: about.onCancelled });

  const comparison = compareRecord(erp.record, service.fields, about.optional, about.shownBefore);
  comparison.differing.push(...compareTotals(erp.total, service.total));
  if (comparison.differing.length === 0) return { finding: null, unshown: comparison.unshown };
  const fields = comparison.differing.map(({ field }) => field);
  const reason = { code: 'fields_differ', fields: fields.slice(0, mostNamed), count: fields.length } as const;
  return say('different', 'changed', reason, comparison);
}

const mayStillShow = { code: 'may_still_appear' } as const;
/** Fields that a finding names. */
const mostNamed = 5;

/**
 * The fault of an eligible row of the ERP that the store has bound to nothing. Pure.
 * @param waits why capture does not take it yet, or null
 * @param isRecent a request for it may still take effect
 */
export function judgeUnbound(
  erp: Extract<ErpSide, { kind: 'row' | 'unmapped' }>,
  newest: NewestOf | null,
  waits: PartFact | null,
  isRecent: boolean,
): Judgement {
  const open = openCause(newest);
  if (open) return open;
  const say = (kind: FindingKind, cause: Cause, reason: ReconcileFact): Judgement => ({
    kind,
    cause,
    reason,
    fields: [],
  });
  if (erp.kind === 'unmapped') return say('unjudged', 'unmapped', { code: 'row_unusable', reason: erp.reason });
  if (waits !== null) return say('unjudged', 'waiting', { code: 'waits_for_lines', reason: waits });
  if (isRecent) return say('unjudged', 'unproven', mayStillShow);
  switch (newest?.state) {
    case 'discarded':
      return say('missing', 'discarded', {
        code: 'message_discarded',
        reason: newest.reason,
      });
    case 'superseded':
    case 'delivered':
      return say('missing', 'withdrawn', { code: 'withdrawn_and_eligible' });
    default:
      return say('missing', 'never_sent', { code: 'was_never_sent' });
  }
}

/** The same of a row that may not be sent (any more): a repair would send nothing, so it must not give anything up either. Pure. */
export function asUnsendable<F extends Judgement>(finding: F): F {
  const causes: Partial<Record<Cause, Cause>> = { gone_at_service: 'gone_unsendable', changed: 'changed_unsendable' };
  return { ...finding, cause: causes[finding.cause] ?? finding.cause };
}
