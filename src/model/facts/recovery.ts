import type { Entity } from '../record.js';
import type { FactOf, NoData, PartFact } from './fact-of.js';

/** Why records can't get the keys that they have in the ERP now. Nothing was written. */
interface RekeyFacts {
  /** Another process captures. */
  stop_daemon_first: { reason: PartFact };
  /** Another process talks to the service. */
  stop_holder_first: { holder: string };
  rekey_is_under_way: { entity: Entity };
  keys_of_two_sources: { from: string; to: string };
  several_sources_one_by_one: NoData;

  same_keys: NoData;
  record_not_known: { entity: Entity; key: string };
  erp_still_has: { entity: Entity; from: string; to: string };
  erp_has_no_key: { entity: Entity; key: string };
  both_at_service: { entity: Entity; from: string; fromId: string | null; to: string; toId: string };
  new_key_may_be_there: { entity: Entity; key: string };
  request_about_key: { key: string };
  removed_at_service: { entity: Entity; from: string; to: string };

  /** Keys can't be taken for the same. */
  known_from_other_name: { count: number; name: string };
  key_names_other: { entity: Entity; key: string; change: PartFact };
  none_under_their_keys: { count: number };

  /** Known records are not found among the rows, or not told apart. */
  listed_pair_unknown: { key: string; serviceId: string };
  records_not_told_apart: NoData;
  no_known_record_found: NoData;
  rest_may_be_known: { gone: number; unknown: number };
}

/** Why a recovery can't be done now. Delivery stays held. */
interface RecoverFacts {
  earlier_requests_open: NoData;
  nothing_is_held: NoData;
  /** `source`: empty for that of the section erp. */
  source_unreadable: { source: string; reason: PartFact };
  erp_not_read_whole: { reason: PartFact };
  lines_still_missing: { orders: number; first: string };
  /** Another recovery has ended, and another loss was found since. */
  held_anew: { loss: PartFact };
  other_recovery_ended: NoData;
}

/** Facts about keys that changed, and about a store that was lost. */
export interface RecoveryFacts extends RekeyFacts, RecoverFacts {}
export type RecoveryFact = FactOf<RecoveryFacts>;
