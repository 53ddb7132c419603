import type { Outside } from '../outside.js';
import type { Entity } from '../record.js';
import type { FactOf, NoData, PartFact } from './fact-of.js';

/** The places where a service may want the idempotency key. */
export type KeyPlace = { in: 'header'; name: string; quoted: boolean } | { in: 'body'; name: string };

/** An answer that `service.answers` names by its words. */
export type SpecialAnswer = 'inProgress' | 'keyReused' | 'alreadyExists' | 'unknownCustomer' | 'gone';

/** The points about a service that a probe looks into. */
interface PointFacts {
  probe_of_key: NoData;
  probe_of_lifetime: NoData;
  probe_of_repeat: NoData;
  probe_of_key_in_record: NoData;
  probe_of_quotes: NoData;
  probe_of_other_body: NoData;
  probe_of_two_at_once: NoData;
  probe_of_refusals: NoData;
  probe_of_order_made: NoData;
  probe_of_customer_made: NoData;
  probe_of_pages: NoData;
  probe_of_first_page: NoData;
  probe_of_page_size: NoData;
  probe_of_page_fields: NoData;
  probe_of_errors: NoData;
  probe_of_400: NoData;
  probe_of_401: NoData;
  probe_of_403: NoData;
  probe_of_404: NoData;
  probe_of_retry_after: NoData;
  probe_of_change: { entity: Entity };
  probe_of_removal: { entity: Entity };
  probe_of_answer: { answer: SpecialAnswer };
}

/** The service's behaviour; for an unknown point, the reason. */
interface FoundFacts {
  probe_key_not_recognised: NoData;
  probe_lifetime_hidden: NoData;
  probe_repeat_refused: NoData;
  probe_key_kept_in_record: NoData;
  probe_key_quoted: NoData;
  probe_key_bare: NoData;
  probe_quotes_ignored: NoData;
  probe_quotes_refused: NoData;
  probe_quotes_other_key: NoData;
  probe_not_tried: NoData;
  probe_other_body_refused: NoData;
  probe_other_body_unnoticed: NoData;
  probe_answer_tells_nothing: NoData;
  probe_second_record: NoData;
  probe_two_records: NoData;
  probe_second_refused: NoData;
  probe_second_waits: NoData;
  probe_both_the_same: NoData;
  probe_answers_tell_nothing: NoData;
  probe_no_refusal_repeated: NoData;
  probe_refusals_remembered: NoData;
  probe_refusals_forgotten: NoData;
  probe_no_order_made: NoData;
  probe_no_customer_made: NoData;
  probe_customer_by_code: NoData;
  probe_customer_unnamed: NoData;
  probe_patch_keeps: NoData;
  probe_patch_unseen: NoData;
  probe_no_change_taken: NoData;
  probe_delete_refused: NoData;
  probe_page_0_refused: NoData;
  probe_page_0_empty: NoData;
  probe_page_0_is_1: NoData;
  probe_page_1_other: NoData;
  probe_page_1_empty: NoData;
  probe_list_unclear: NoData;
  probe_list_too_short: NoData;
  probe_no_page_read: NoData;
  probe_errors_usual: NoData;
  probe_not_asked_for: NoData;
  probe_never_slowed_down: NoData;
  probe_not_seen: NoData;
  probe_told_apart: NoData;
  probe_not_told_apart: NoData;
  probe_key_recognised: { place: KeyPlace };
  /** `status`: where it is another one than the first time. */
  probe_repeat_answered: { status: number | null };
  /** `place`: null where the answer names none. */
  probe_order_id: { place: string | null; isProven: boolean };
  probe_customer_id: { place: string };
  probe_change_not_tried: { entity: Entity };
  /** `patch`: it is refused, loses the other fields, or can't be seen to keep them. */
  probe_put: { patch: 'refused' | 'lost' | 'unseen' };
  /** `again`: the status of a second removal. */
  probe_delete_removes: { again: number | null };
  probe_pages_cut: { most: number };
  probe_pages_refused: { most: number; refused: number };
  probe_page_places: { invoices: string; total: string | null };
  /** `isAsUnknown`: an unknown address is answered in the same words. */
  probe_error_shape: {
    status: number;
    isJson: boolean;
    errorCode: Outside | null;
    message: Outside | null;
    isAsUnknown: boolean;
  };
  probe_error_places: { message: string; errorCode: string | null };
  probe_retry_after_absent: NoData;
  probe_retry_after_seconds: NoData;
  probe_retry_after_unclear: NoData;
  probe_retry_after_date: NoData;
}

/** Questions for the service's operator. */
interface AskFacts {
  probe_ask_key_place: NoData;
  probe_ask_lifetime: NoData;
  probe_ask_other_body: NoData;
  probe_ask_at_once: NoData;
  probe_ask_two_records: NoData;
  probe_ask_refusals: NoData;
  probe_ask_order_made: NoData;
  probe_ask_customer_made: NoData;
  probe_ask_pages: NoData;
  probe_ask_first_page: NoData;
  probe_ask_page_size: NoData;
  probe_ask_page_fields: NoData;
  probe_ask_total: NoData;
  probe_ask_error_body: NoData;
  probe_ask_400: NoData;
  probe_ask_401: NoData;
  probe_ask_403: NoData;
  probe_ask_404: NoData;
  probe_ask_limit: NoData;
  probe_ask_repeat_status: { status: number };
  /** `total`: of the order, in the smallest unit of its currency. */
  probe_ask_order_fields: { missing: readonly ('id' | 'total' | 'createdAt' | 'state')[]; total: number };
  probe_ask_change: { entity: Entity };
  probe_ask_removal: { entity: Entity };
  probe_ask_answer: { answer: SpecialAnswer };
}

/** Requests of a probe, and what came of them. */
interface RequestFacts {
  probe_asks_first_read: NoData;
  probe_asks_same_key: NoData;
  probe_asks_other_key: NoData;
  probe_asks_without_quotes: NoData;
  probe_asks_in_quotes: NoData;
  probe_asks_other_body: NoData;
  probe_asks_one_of_two: NoData;
  probe_asks_other_of_two: NoData;
  probe_asks_without_lines: NoData;
  probe_asks_corrected: NoData;
  probe_asks_unknown_customer: NoData;
  probe_asks_that_customer: NoData;
  probe_asks_customer_again: NoData;
  probe_asks_page_0: NoData;
  probe_asks_page_1: NoData;
  probe_asks_page_0_again: NoData;
  probe_asks_read_back: NoData;
  probe_asks_missing: NoData;
  probe_asks_unknown_address: NoData;
  probe_asks_forbidden: NoData;
  probe_asks_wrong_credential: NoData;
  probe_asks_customer: { place: KeyPlace };
  probe_asks_order: { place: KeyPlace };
  probe_asks_page: { limit: number };
  probe_asks_next_page: { limit: number };
  probe_asks_read: { entity: Entity; place: string };
  probe_asks_change: { entity: Entity; isWhole: boolean };
  probe_asks_removal: { entity: Entity; name: string };
  probe_asks_burst: { nth: number };
  /** `status`: null where no answer came, and `said` is the reason. */
  probe_exchange: {
    what: PartFact;
    method: string;
    address: string;
    status: number | null;
    said: Outside | PartFact | null;
  };
  probe_key_tried: { place: KeyPlace; exchange: PartFact };
  probe_page_shown: { entries: number; total: number | null };
  probe_no_list: NoData;
  probe_retry_after_shown: { value: Outside | null };
}

/** Steps of a probe, why it ends early, and why a record is left at the service. */
interface CourseFacts {
  probe_step_greet: NoData;
  probe_step_key_place: NoData;
  probe_step_ids: NoData;
  probe_step_key: NoData;
  probe_step_changes: NoData;
  probe_step_pages: NoData;
  probe_step_removal: NoData;
  probe_step_refusals: NoData;
  probe_step_burst: NoData;
  probe_interrupted: NoData;
  probe_may_not_send: NoData;
  probe_slowed_down_again: NoData;
  probe_took_too_long: NoData;
  probe_must_wait: { seconds: number };
  probe_requests_made: { requests: number };
  probe_creates_fail: { exchange: PartFact };
  probe_no_answer: { problem: PartFact | null };
  probe_credential_refused: { exchange: PartFact };
  probe_no_record_taken: { entity: Entity; refusals: readonly PartFact[] };
  probe_not_in_sandbox: { environment: string };
  probe_other_address: { baseUrl: string; confirmed: string };
  probe_id_uncertain: NoData;
  probe_may_exist: NoData;
  probe_delete_failed: { exchange: PartFact };
  /** `left`: names of test records. */
  probe_failed: { failure: PartFact; left: readonly string[] };
}

/** Facts about what a probe finds out of a service. */
export interface ProbeFacts extends PointFacts, FoundFacts, AskFacts, RequestFacts, CourseFacts {}
export type ProbeFact = FactOf<ProbeFacts>;
