import type { Outside } from '../outside.js';
import type { JsonValue } from '../record.js';
import type { FactOf, NoData, PartFact } from './fact-of.js';

/** The difference of a record between the two sides, or the reason why nothing may be said of it. Stored as they are. */
export type FindingCause =
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

/** A finding about one record. */
interface FindingFacts {
  message_in_doubt: { operation: string; reason: PartFact | null };
  message_on_its_way: { operation: string };
  waits_for_person: { operation: string; parkClass: string | null; reason: PartFact | null };
  sent_while_compared: NoData;
  not_shown: { reason: PartFact };
  row_unusable: { reason: PartFact };
  /** The ERP has the record, and the query gives no row with its key. */
  row_not_found: NoData;
  may_still_appear: NoData;
  not_at_service_any_more: NoData;
  not_in_erp_any_more: NoData;
  cancelled_in_erp: { onCancelled: string };
  fields_differ: { fields: readonly string[]; count: number };
  /** Values that the two sides do not share, field by field. */
  values_differ: { fields: readonly { field: string; erp: JsonValue; service: JsonValue }[] };
  waits_for_lines: { reason: PartFact };
  message_discarded: { reason: PartFact | null };
  withdrawn_and_eligible: NoData;
  was_never_sent: NoData;
  /** `state`: at the service; null: it says nothing of it. */
  invoice_off_list: { state: Outside | null };
  invoice_perhaps_off_list: NoData;
  invoice_on_list: { state: Outside };
  invoice_changed: NoData;
  finding_erased: NoData;
}

/** Why a comparison stopped, or a repair leaves something to a person. */
interface RunFacts {
  another_begun: NoData;
  process_stopping: NoData;
  invoices_not_enabled: NoData;
  list_not_read: NoData;
  list_proven: { passes: number; pages: number };
  list_not_proven: { passes: number; pages: number; reason: PartFact | null };
  /** The proof where no list was read. `subject`: orders or customers. */
  none_asked: { subject: string };
  /** `isAll`: each that Waybill knows there was asked for, and the service did not show `unread` of them. */
  known_asked: { subject: string; isAll: boolean; unread: number };
  orders_not_askable: NoData;
  not_comparable: { reason: PartFact };
  /** A finding about several records. */
  found_of_records: { cause: FindingCause };
  /** `subject`: orders, customers or invoices. `mostGone`: `capture.maxRemovals`. `nothingShown`: the service showed no record. */
  left_to_person: { cause: FindingCause; subject: string; mostGone: number; nothingShown: boolean };
}

/** Facts about a comparison of both sides. */
export interface ReconcileFacts extends FindingFacts, RunFacts {}
export type ReconcileFact = FactOf<ReconcileFacts>;
export type LeftToPerson = Extract<ReconcileFact, { code: 'left_to_person' }>;
