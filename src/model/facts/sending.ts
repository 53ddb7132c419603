import type { Outside } from '../outside.js';
import type { Entity } from '../record.js';
import type { NoData, PartFact } from './fact-of.js';

/** Names another record of ours: the key may be renamed later. */
interface NamesRecord {
  entity: Entity;
  sourceKey: string;
}

/** A point that a person should look at on a delivered record. */
interface FlagFacts {
  /** The service acknowledged, or shows, another total than that of the lines. `expected`: decimal digits, in its unit of money. */
  total_differs: { found: number; expected: string };
  /** The service keeps calling a record by its old id. */
  id_not_changed: { serviceId: string; newId: string };
  /** The service did not have what was to be removed. */
  was_not_there: { reason: PartFact };
  /** At most five names of fields, and how many they are. */
  found_by_look_up: { differs: readonly string[]; count: number };
}

/** Why a message that may exist at the service waits for a person, or what a look-up came to. */
interface DoubtFacts {
  /** The service acknowledged another record's id. */
  acknowledged_as_other: NamesRecord & { serviceId: string };
  /** The service acknowledged a second id for a record that has one. `entity`, `sourceKey`: the record. */
  acknowledged_twice: NamesRecord & { serviceId: string; boundTo: string };
  found_as_other: NamesRecord & { serviceId: string };
  found_twice: { entity: Entity; serviceId: string; boundTo: string };
  /** A look-up finds what may be another record, with the same number or code, that may have been sent as well. */
  found_perhaps_other: NamesRecord & { serviceId: string; shares: string };
  /** The found record is one that Waybill has removed at the service, which goes on showing it. */
  found_removed: { entity: Entity; serviceId: string };
  found_with_other_lines: { serviceId: string };
  /** The settings' mark of a removed record stands on what was found. */
  found_marked_removed: { serviceId: string };
  /** It was made before ours was first sent. `madeAt`: as the service writes it. */
  found_made_before: { serviceId: string; madeAt: Outside };
  found_with_other_total: { serviceId: string; found: number; expected: string };
  found_with_other_customer: { serviceId: string };
  found_several: { count: number };
  /** The service says that it exists, and a look-up finds nothing. */
  exists_but_not_found: NoData;
  /** A look-up finds nothing, which proves nothing at this service. */
  absence_proves_nothing: NoData;
  /** Nothing has the first key of a record that a lost store may have sent under a later one. */
  absent_under_first_key: NoData;
  /** The service fails at every try of this record while it takes others, and look-ups find nothing of it. */
  fails_again_and_again: NoData;
  look_up_inconclusive: { problem: PartFact };
  /** The service does not let us read the customer that it says it has. */
  customer_not_shown: { reason: PartFact };
  /** A look-up finds nothing, but the service may still be working on the last request. */
  perhaps_under_way: NoData;
  not_found_once: NoData;
  /** Another customer with the same code is on its way. */
  rival_on_its_way: NoData;
  /** The service may have forgotten the key. `lifetimeKnown`: the settings say how long it remembers. */
  key_perhaps_forgotten: { lifetimeKnown: boolean };
  /** The settings show the key to the service in another way than when it was sent. */
  key_shown_otherwise: NoData;
  /** The process that was sending stopped without an outcome. */
  process_stopped: NoData;
  /** The store failed before the outcome was on record. */
  outcome_not_recorded: NoData;
}

/** Why a message was closed or is held, other than by its row. */
interface ClosedFacts {
  /** It was sent to an id that the record does not have any more. */
  sent_to_other_id: { from: string; to: string };
  already_held: NoData;
  already_acknowledged: NoData;
  already_there_adopted: NoData;
  /** Its row was gone, or not to be sent any more, when it came up for sending. */
  left_before_sending: NoData;
  /** The ERP could not be asked if its row is still to be sent. */
  erp_not_asked: NoData;
  back_in_erp: NoData;
  replaced_by_newer: NoData;
  /** The service had the record already, with other values. `clears`: an update would clear fields that only the service has. */
  adopted_differs: { clears: boolean };
  /** The service's record belongs to another customer of ours: two in the ERP have one code. */
  code_shared: NamesRecord & { serviceId: string };
  shown_as_other: { boundTo: string; serviceId: string };
  /** The service's record may belong to another customer of ours, which is not settled. */
  twin_unsettled: NamesRecord & { serviceId: string };
  content_erased_unsent: NoData;
  content_erased_in_doubt: NoData;
  /** An order names another customer code than the one by which the service knows its customer. */
  customer_code_differs: NamesRecord & { named: string; bound: string; mayBeThere: boolean };
}

/** Why a person's list can't say that a record of the ERP is one at the service. */
interface AdoptionFacts {
  has_other_id: { boundTo: string };
  id_is_of_other: NamesRecord & { serviceId: string };
  /** Waybill has removed the record of this id at the service. */
  id_was_removed: { entity: Entity; serviceId: string };
  /** No eligible row of the ERP has the key. */
  key_not_in_erp: NoData;
  /** The row can't be mapped, so there is nothing to compare with. */
  nothing_to_compare: { problem: PartFact };
  /** The service knows customers by their code, and the ERP has another one. */
  code_is_other: { found: string | null; serviceId: string };
  /** A list names a key or an id twice. */
  stands_twice: { what: 'key' | 'id'; value: string; line: number };
  is_being_sent: NoData;
  was_removed_by_us: NoData;
}

/** The unknowns that a lost store leaves, and the records that an import brings. */
interface RecoveryFacts {
  perhaps_sent_before_loss: { isProvable: boolean };
  /** A resend under the first key would make a second record. */
  perhaps_beside_first_key: NoData;
  /** `before`: why it was held, where it may be a known record. */
  perhaps_released_before_loss: { before?: PartFact };
  /** Customers sent again under their keys exist already, so the service may have forgotten all keys. */
  keys_perhaps_forgotten: NoData;
  perhaps_respelled: NoData;
  binding_imported: NoData;
  removal_imported: NoData;
  /** A reason from before the keys of the ERP changed: keys in it are the old ones. */
  before_keys_changed: { reason: PartFact };
}

/** The reason that holds a whole lane, and the facts that a person needs about it. */
interface LaneFacts {
  /** Equal refusals in a row. */
  equal_refusals: { count: number; reason: PartFact };
  /** `timeZone`: that of the schedule, in which people have set them. */
  quiet_hours: { untilMs: number; timeZone: string };
  /** The credential may be another one: one request goes to see whether the service takes it. */
  credential_perhaps_new: NoData;
  limits_allow_more: NoData;
  /** The lease of delivery went to another process. */
  lease_lost: NoData;
  nothing_went_through: { seconds: number; reason: PartFact | null };
  /** The reason may be about a person, so the audit leaves it out: it stands with the record. */
  words_left_out: NoData;
  /** A person's own words. */
  person_said: { text: Outside };
  /** The same, of a change that became the new baseline without being sent. */
  person_adopted: { text: Outside };
  service_unreachable: { reason: PartFact };
  credential_refused: { reason: PartFact; setting: string };
  lists_forbidden: { reason: PartFact };
  writes_forbidden: { reason: PartFact };
  no_acknowledgements: { reason: PartFact };
  refused_in_a_row: { count: number; reason: PartFact };
}

/** Facts about a message on its way to the service: why it waits, is flagged, parked or closed. */
export interface SendingFacts extends FlagFacts, DoubtFacts, ClosedFacts, AdoptionFacts, RecoveryFacts, LaneFacts {}
