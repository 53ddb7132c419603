import type { Fact } from '../../model/facts/fact.js';
import type { JsonValue } from '../../model/record.js';
import type { MessageState, Operation, ParkClass } from '../../outbound/outbox/message.js';
import type { ShownRecord } from '../../service/read-record.js';
import { tell } from '../../words/words.js';
import { type Comparison, compareRecord, type FieldDifference } from './compare-record.js';

type Fields = { readonly [name: string]: JsonValue };

/** What the ERP has of a record. */
export type ErpSide =
  /** `total`: what it amounts to; null: not known, or not to be compared. */
  | { kind: 'row'; record: Fields; total: bigint | null }
  /** The row can't become a record now. */
  | { kind: 'unmapped'; reason: string }
  | { kind: 'cancelled' }
  | { kind: 'gone' };

/** What the service has of it; `unread`: why that is not known. */
export type ServiceSide = ShownRecord | { kind: 'unread'; reason: string };

/** The newest message of a record, as far as it decides what may be compared. */
export interface NewestOf {
  state: MessageState;
  operation: Operation;
  parkClass: ParkClass | null;
  reason: Fact | null;
}

/** What can be wrong between the two sides. `unjudged`: nothing may be said yet, and `cause` says why. */
export type FindingKind = 'missing' | 'different' | 'extra' | 'unjudged';

export type Cause =
  | 'never_sent'
  | 'gone_at_service'
  | 'gone_unsendable'
  | 'discarded'
  | 'withdrawn'
  | 'changed'
  | 'changed_unsendable'
  | 'deleted_in_erp'
  | 'in_doubt'
  | 'unproven'
  | 'under_way'
  | 'parked'
  | 'held'
  | 'unmapped'
  | 'waiting'
  | 'new_on_list'
  | 'left_list'
  | 'not_proven'
  | 'filtered'
  | 'unread';

export interface Judgement {
  kind: FindingKind;
  cause: Cause;
  /** In words, with what comes from outside as it came. */
  reason: string;
  fields: FieldDifference[];
}

/** `same`: nothing is wrong. Both may also have nothing of it. */
export type Judged = { finding: Judgement | null; unshown: string[] };

/**
 * What may not be compared, because a message of the record is open; null: nothing stands against it. Pure.
 */
export function openCause(newest: NewestOf | null): Judgement | null {
  if (newest === null) return null;
  const { state, operation, parkClass, reason } = newest;
  const unjudged = (cause: Cause, words: string): Judgement => ({ kind: 'unjudged', cause, reason: words, fields: [] });
  switch (state) {
    case 'in_doubt':
      return unjudged(
        'in_doubt',
        `its ${operation} may have been sent: ${reason === null ? 'its outcome is not known' : tell(reason)}`,
      );
    case 'pending':
    case 'sending':
      return unjudged('under_way', `its ${operation} is on its way`);
    case 'parked':
      return unjudged(
        parkClass === 'held' ? 'held' : 'parked',
        `its ${operation} is parked (${parkClass}): ${reason === null ? '' : tell(reason)}`,
      );
    default:
      return null;
  }
}

/**
 * What is wrong with a record that the store has bound to one of the service. Pure; one question a paragraph.
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
  const say = (kind: FindingKind, cause: Cause, reason: string, comparison: Partial<Comparison> = {}): Judged => ({
    finding: { kind, cause, reason, fields: comparison.differing ?? [] },
    unshown: comparison.unshown ?? [],
  });
  const open = openCause(newest);
  if (open) return { finding: open, unshown: [] };
  if (about.hasMoved) return say('unjudged', 'under_way', 'it was sent while it was compared');

  if (service.kind === 'unread') return say('unjudged', 'unread', service.reason);
  if (erp.kind === 'unmapped') return say('unjudged', 'unmapped', erp.reason);

  // Where nobody has anything of it, nothing is wrong.
  if (service.kind === 'absent' && erp.kind !== 'row') return { finding: null, unshown: [] };
  if (service.kind === 'absent')
    return about.isRecent
      ? say('unjudged', 'unproven', mayStillShow)
      : say('missing', 'gone_at_service', 'the service has it no more');
  if (erp.kind === 'gone') return say('extra', 'deleted_in_erp', 'the ERP has it no more');
  if (erp.kind === 'cancelled')
    return say('unjudged', 'filtered', `it is cancelled in the ERP, and onCancelled says ${about.onCancelled}`);

  const comparison = compareRecord(erp.record, service.fields, about.optional, about.shownBefore);
  // Its lines may be right, and its total wrong all the same.
  if (erp.total !== null && service.total !== null && erp.total !== service.total)
    comparison.differing.push({ field: 'total', erp: `${erp.total}`, service: `${service.total}` });
  if (comparison.differing.length === 0) return { finding: null, unshown: comparison.unshown };
  return say('different', 'changed', comparison.differing.map(({ field }) => field).join(', '), comparison);
}

const mayStillShow = 'the service does not show it yet, and may still be working on its last request';

/**
 * What is wrong with an eligible row of the ERP that the store has bound to nothing. Pure.
 * @param waits why capture does not take it yet, or null
 * @param isRecent a request for it may still take effect
 */
export function judgeUnbound(
  erp: Extract<ErpSide, { kind: 'row' | 'unmapped' }>,
  newest: NewestOf | null,
  waits: Fact | null,
  isRecent: boolean,
): Judgement {
  const open = openCause(newest);
  if (open) return open;
  const say = (kind: FindingKind, cause: Cause, reason: string): Judgement => ({ kind, cause, reason, fields: [] });
  if (erp.kind === 'unmapped') return say('unjudged', 'unmapped', erp.reason);
  if (waits !== null) return say('unjudged', 'waiting', tell(waits));
  if (isRecent) return say('unjudged', 'unproven', mayStillShow);
  switch (newest?.state) {
    case 'discarded':
      return say('missing', 'discarded', `a person discarded it: ${newest.reason === null ? '' : tell(newest.reason)}`);
    case 'superseded':
    case 'delivered':
      return say('missing', 'withdrawn', 'it was withdrawn or removed, and is eligible again');
    default:
      return say('missing', 'never_sent', 'it was never sent');
  }
}

/** The same of a row that may not be sent (any more): a repair would send nothing, so it must not give anything up either. Pure. */
export function asUnsendable<F extends Judgement>(finding: F): F {
  const causes: Partial<Record<Cause, Cause>> = { gone_at_service: 'gone_unsendable', changed: 'changed_unsendable' };
  return { ...finding, cause: causes[finding.cause] ?? finding.cause };
}
