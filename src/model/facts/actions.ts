import type { Outside } from '../outside.js';
import type { Entity } from '../record.js';
import type { FactOf, NoData, PartFact } from './fact-of.js';

/** Both sides' values of one field, such as the total; null: that side does not show it. */
export interface ClaimSides {
  what: string;
  ours: string | null;
  service: string | null;
}

/**
 * The service's answer to a person's claim that a record is there under an id. `same`: it shows the same record. `differs`:
 * another one. `absent`: none. `unread`: it could not be asked, or its answer tells nothing. `unasked`: nobody asked.
 */
export interface ClaimCheck {
  kind: 'same' | 'differs' | 'absent' | 'unread' | 'unasked';
  /** Why it is not the same; null where it is. */
  reason: PartFact | null;
  sides: ClaimSides[];
}

/** The way in which a text names a record: the ERP's key, an order's number, a customer's code, or an id of the service. */
export type NamedAs = 'key' | 'number' | 'code' | 'id';

/** Reasons why an action leaves a record alone. */
interface Refusals {
  /** Its message is at its end, or at the service right now. */
  already_delivered: NoData;
  already_superseded: NoData;
  already_discarded: NoData;
  being_sent: NoData;

  /** A retry would change nothing, or something else decides whether it may go out. */
  already_due: NoData;
  scan_unfinished: NoData;
  row_unmapped: NoData;
  held_for_review: NoData;
  taken_at_service: NoData;
  key_of_other_record: NoData;
  newer_revision: NoData;

  /** It may exist at the service, so a person has to look there first. */
  key_forgotten: NoData;
  may_have_arrived: NoData;
  key_seen: NoData;
  still_working: { until: number };
  would_be_second: { serviceId: string };

  /** A person's answer does not fit the record. */
  nothing_in_doubt: NoData;
  nothing_to_look_up: NoData;
  no_look_up: { entity: Entity };
  needs_service_id: NoData;
  other_service_id: { serviceId: string; said: string };
  moves_to_new_id: { entity: Entity; from: string; to: string };
  service_id_removed: { entity: string; serviceId: string };
  service_id_taken: { entity: string; serviceId: string; heldBy: string };
  /** Nothing but the person's word says that the record is there under this id. */
  unproven_claim: { serviceId: string; check: ClaimCheck };
  no_baseline: NoData;
  same_ids: NoData;
  no_binding: NoData;
  request_under_way: NoData;

  /** A name, or a line of a list, leads to no record or to several. */
  no_message: NoData;
  listed_twice: NoData;
  key_in_lines: { lines: readonly number[] };
  service_id_in_lines: { serviceId: string; lines: readonly number[] };
  line_unreadable: { message: Outside };
  line_columns: { found: number; needed: 1 | 2 };
  line_without_key: NoData;
  line_without_service_id: NoData;
  line_too_long: { limit: number };
  line_service_id_spaced: NoData;
  ambiguous_name: { records: number };

  /** It is not as it was shown. `state`: of its message, where that no longer matches what was asked for. */
  changed_since_shown: { state: string | null };
  other_list: NoData;
  moved_on: { records: number };
  invoice_listed_again: NoData;

  /** Nothing is known of a customer, or its messages still need its data. */
  unknown_customer: NoData;
  needs_delivery: { states: readonly string[] };
  needs_settling: NoData;
}
/** The request makes no sense. */
interface WrongRequests {
  id_names_one: { records: number };
  subject_not_named: NoData;
  list_has_no_month: NoData;
  no_month: NoData;
  comparison_gone: NoData;
  comparison_not_repairable: NoData;
  comparison_too_old: NoData;
  /** `as`: what the name is of a record. */
  name_ambiguous: {
    name: string;
    some: readonly { entity: Entity; sourceKey: string; number: string | null; as: readonly NamedAs[] }[];
    count: number;
  };
}
/** Why the service's answer does not show that a claim is right. */
interface ClaimFacts {
  claim_not_asked: NoData;
  claim_not_answered: NoData;
  claim_absent: NoData;
  claim_differs: { fields: readonly string[] };
  /** It shows nothing by which the record can be known. */
  claim_unnamed: NoData;
}
/** The fate of a record. */
interface Changes {
  goes_to: { state: string; newKey: boolean };
  is_delivered_as: { serviceId: string };
  goes_out: { as: 'create' | 'removal' | 'it_is' | 'whole' };
  changes_fields: { fields: readonly string[]; changes: readonly FieldChange[] };
}
export type ChangeFact = FactOf<Changes>;

/** A field of a record at the service, before and after; null: nothing. */
interface FieldChange {
  field: string;
  from: string | null;
  to: string | null;
}

export type RefusalFact = FactOf<Refusals>;
/** Codes of refusals that say everything by themselves. */
export type PlainRefusal = { [Code in keyof Refusals]: NoData extends Refusals[Code] ? Code : never }[keyof Refusals];

/** Facts about what a person asks for: what an action would do, did, or leaves alone. */
export interface ActionFacts extends Refusals, WrongRequests, ClaimFacts, Changes {
  would_erase: { key: string; bodies: number; excerpts: number; orderBodies: number };
  erased: { messages: number; bodies: number; excerpts: number };
  would_move: { entity: string; sourceKey: string; from: string; to: string };
  moved: NoData;
  would_unlist: { invoices: number; sum: string; currency: string; scale: number };
  look_up_follows: NoData;
  would_end_hold: { entity: string; source: string | null; reason: PartFact };
  held_for: { entity: Entity; operation: string; reason: PartFact | null };
  would_change_field: { entity: Entity; field: string };
  compares_whole_list: NoData;
  compares_records: { subject: string; month: string | null; requests: number; seconds: number | null };
  comparison_goes_on: NoData;
  comparison_replaces: NoData;
  would_repair: { list: string };
  removal_follows: NoData;
}
