import type { Outside } from '../outside.js';
import type { FactOf, NoData, PartFact } from './fact-of.js';

/** The service's own words in an answer; both null where it gives none. */
interface ErrorWords {
  /** Its code for the error, such as `invalid_sku`. */
  errorCode: Outside | null;
  message: Outside | null;
}

interface Answered extends ErrorWords {
  status: number;
}

/** Why a text is not what the service should have answered at a place. */
export type TextProblem = 'missing' | 'no_text' | 'empty' | 'too_long' | 'unreadable' | 'number' | 'no_time';

/** Problems of a body that should have answered. They are part of `unusable_answer` and the like. */
interface BodyFacts {
  no_json: NoData;
  no_json_object: NoData;
  /** The text at a place can't be what it should be. */
  unusable_text: { place: string; problem: TextProblem };
  /** The value at a place is not an id, or there is none. */
  unusable_id: { place: string };
  /** An amount is no whole number of the smallest unit. */
  no_amount: { place: string };
  /** An amount has a decimal point or an exponent, so it is not in the smallest unit. `setting`: switches the check off. */
  decimal_amount: { place: string; found: Outside; setting: 'service.checkTotal' | 'total' | null };
  names_no_id: NoData;
  /** The id that the answer gives holds our credential. */
  credential_in_id: NoData;
  other_record: { found: Outside; expected: string };
  /** The answer to a look-up has no list at its place. */
  no_list: { place: string };
  /** The settings name no field by which a look-up knows the record again. */
  no_match_fields: NoData;
  /** A look-up shows records, none of which is exactly ours. */
  none_is_ours: { count: number };
  /** The list is empty, and says that another page follows. */
  look_up_goes_on: NoData;
  several_shown: { count: number };
}

/** Reasons why a record can't be sent or asked for as it is. */
interface RequestFacts {
  /** A path needs a field that the record lacks, or that the service has not acknowledged. */
  path_field_missing: { path: string; field: string };
  /** A segment of dots is another address. */
  path_field_dots: { path: string; field: string; value: Outside };
  request_too_large: { bytes: number; limit: number };
  look_up_field_empty: { field: string };
  look_up_field_dots: { field: string; value: Outside };
  content_erased: NoData;
  /** The settings name no way to read an order. */
  no_way_to_read_orders: NoData;
  /** A look-up asks by fields that are not known any more. */
  content_unknown: NoData;
}

/** The way in which an exchange failed before there was an answer. */
interface WireFacts {
  /** No complete answer within the deadline. */
  timed_out: NoData;
  /** No connection within the deadline. */
  connection_timed_out: NoData;
  /** The connection never came about. */
  no_connection: { errno: string; message: Outside };
  /** It broke after the request may have left. */
  connection_broken: { errno: string; message: Outside };
  no_secure_connection: { errno: string; message: Outside };
  /** The proxy opened no tunnel. */
  proxy_refused: { status: number };
  /** Status and headers came, and no body that can be read. `encoding`: it is not packed in the way that `message` says. */
  answer_cut_off: {
    status: number;
    because: 'deadline' | 'too_large' | 'broken' | 'encoding';
    message: Outside | null;
  };
  /** A program error while a request was under way. */
  request_failed: { message: Outside };
}

/** Why a request was not let go. Nothing was sent. */
interface HeldBackFacts {
  stopping: NoData;
  client_closed: NoData;
  /** The store can't be asked whether requests may go. */
  gate_not_asked: { message: Outside };
  lease_ending: NoData;
  /** This node of a cluster sends nothing at the moment, while others do. */
  node_at_rest: NoData;
  /** The right to send was lost before the bytes could leave. */
  right_to_send_lost: NoData;
  /** It could not be noted that the request leaves. */
  leave_not_noted: NoData;
  /** Another request has just gone to see whether the service is back. */
  probe_under_way: NoData;
  outage: { reason: PartFact };
  lane_paused: { lane: string; cause: string; reason: PartFact };
  /** The service may have forgotten the key since the message was claimed. */
  key_expired: NoData;
  /** The clock was set since the message was claimed. */
  clock_was_set: NoData;
}

/** The requests that a limit keeps waiting. */
interface LimitFacts {
  /** `by`: the limit is one of the settings, or one that the service announces. */
  limit_used_up: { by: 'settings' | 'service'; requests: number; windowMs: number };
  /** The service announces that what it takes is used up, without a number. */
  announced_limit_used_up: NoData;
  /** The service asked for less, and requests are paced one by one. */
  slowed_down: NoData;
}

/** Why there is no access token. */
interface TokenFacts {
  /** The request for a token got no answer, or its answer was refused as below. */
  no_token: { tokenUrl: string; reason: PartFact };
  /** The answer grants a token that can't be used, or is no grant. */
  unusable_token: { status: number | null; message: Outside };
  wrong_token_type: { status: number | null; type: Outside };
  unsendable_token: { status: number | null };
}

/** Facts about an exchange with the service: its answer, or why there is none. */
export interface ServiceFacts extends BodyFacts, RequestFacts, WireFacts, HeldBackFacts, LimitFacts, TokenFacts {
  /** A status from 300 to 499. The verdict says what follows from it. */
  http_refused: Answered;
  /** A redirect, which is not followed. `location`: origin and path that it names. */
  http_redirected: Answered & { location: Outside };
  /** Any other status that is no answer. */
  http_failed: Answered;
  /** A 403 whose words sound like a block for a while. */
  http_perhaps_blocked: Answered;
  /** A removal was answered "not found", which proves nothing. */
  removal_not_found: Answered;
  /** A success status whose body says that it failed. `mark`: where it says so. */
  success_says_failed: Answered & { mark: Outside };
  /** A success status of another kind than the settings name. */
  other_success_status: { status: number; expected: number; setting: string };
  /** A success status whose body acknowledges nothing. */
  no_acknowledgement: { status: number; problem: PartFact };
  /** A success status whose body is not what was asked for. */
  unusable_answer: { status: number; problem: PartFact };
  /** Answered 401, and not sent again with another credential. */
  unauthorised_and_held: { reason: PartFact };
}
export type ServiceFact = FactOf<ServiceFacts>;
