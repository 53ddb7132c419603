import type { Outside } from '../outside.js';
import type { Entity } from '../record.js';
import type { FactOf, NoData } from './fact-of.js';
import type { RowFacts } from './rows.js';

/** A column that should never change, and did. Null: empty. */
export interface ChangedColumn {
  column: string;
  before: Outside | null;
  now: Outside | null;
}

/** A column and its value. Null: empty. */
export interface ColumnValue {
  column: string;
  value: Outside | null;
}

/** Facts about a record and its rows in the ERP: problems of a row, holds, removals. */
export interface RecordFacts extends RowFacts, RestoreFacts {
  /** An order that the service has left `orders.pending`; its status column has a value that the settings do not name. */
  left_with_status: ColumnValue;

  /** A record of the service that its row says is not to be sent. `columns`: those that the unmet settings name, at most 5. */
  not_pending_any_more: { settings: readonly string[]; columns: readonly ColumnValue[] };
  /** The query of a record that the service has yields no row for it. */
  not_in_query_any_more: { setting: string };

  /** The key belongs to another record than the one that the service has under it. `columns`: at most 5. */
  key_reused: { columns: readonly ChangedColumn[] };
  /** A create that a lost store may have sent already. */
  may_have_been_sent: NoData;
  /** A removal that has to write the whole record (PUT), of which nothing is known any more. */
  nothing_to_replace: NoData;

  /** Holds of single records. */
  earlier_change_held: NoData;
  mapping_changed: NoData;
  /** `from` had the number or code of this record and is gone from the ERP, where `to` has it now. */
  seems_renamed: { entity: Entity; from: string; to: string };
  /** A removal after a recovery: the ERP can't be asked whether the record goes on under another key. */
  name_unknown: { entity: Entity };
  /** A row that says it goes on for another record. `spelled`: that one's key as the store has it. */
  replaces_record: {
    entity: Entity;
    from: string;
    to: string;
    spelled: string | null;
    because: 'claimed_twice' | 'spelled_otherwise' | 'request_under_way' | 'still_there' | 'recovery_unsettled';
    /** The other row, for `claimed_twice`. */
    rival?: string;
  };
  /** The ERP seems to have been restored, and gave this key before. */
  key_given_before: NoData;
  /** An order would lose lines at the service. `lost`: the first 5 of `lostSkus`. */
  lines_lost: { before: number; now: number; lost: readonly { qty: number; sku: Outside }[]; lostSkus: number };

  /** Holds of a whole pass. */
  too_many_removals: { count: number; limit: number };
  too_many_creates: { count: number; limit: number };
  too_many_updates: { count: number; limit: number };
  source_empty: NoData;
  /** `before`: rows that were eligible. */
  source_drained: { before: number };
  source_restored: { evidence: RestoreEvidence };

  /** Unsent messages that were closed. */
  cancelled_before_sending: NoData;
  replaced_before_sending: { by: string };
  renamed_before_sending: { to: string };
  /** The service has this customer under the code as the one of another source, with this key. */
  customer_of_other_source: { sourceKey: string };
  goes_on_under_key: { entity: Entity; from: string; to: string };

  /** Records that `resync --force` skips. */
  first_message_pruned: NoData;
  adopted_takes_changes_only: NoData;
  update_acknowledged: NoData;
  found_without_key: NoData;
  key_may_be_forgotten: NoData;
  needs_resolve: { parkClass: string };
  refused_when_repeated: NoData;
  discarded_by_person: NoData;
  on_its_way: NoData;
}
export type RecordFact = FactOf<RecordFacts>;
export type LeftFact = Extract<RecordFact, { code: 'left_with_status' }>;

/** Signs of a restored ERP: keys and times only grow, and keys keep their records. */
interface RestoreFacts {
  highest_key_fell: { found: Outside; before: Outside };
  latest_change_fell: { found: Outside; before: Outside };
  keys_turned: NoData;
}
/** `legacy`: the sentence of an earlier version. */
export type RestoreEvidence = FactOf<RestoreFacts> | { legacy: Outside };

/** The fault of a source as a whole: its updates and removals wait for a person. */
export type SourceFact = Extract<RecordFact, { code: 'source_empty' | 'source_drained' | 'source_restored' }>;
/** Why the updates and removals of a pass wait for a person. */
export type PassFact =
  | SourceFact
  | Extract<RecordFact, { code: 'too_many_removals' | 'too_many_updates' | 'too_many_creates' }>;
