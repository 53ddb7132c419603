import type { Fact } from './facts/fact.js';
import type { JsonValue } from './record.js';

/** The proof of one exchange with the service. The table in docs/architecture.md says what follows from each. */
export type Verdict =
  /**
   * Acknowledged, and the acknowledgement is complete and valid. `flag` asks a person to look, e.g. at a wrong total; `state`
   * is the record's state in the service's own word, where it says one, and `total` an order's total as it says it. `renamedFrom`
   * is the id before, where the id is a field of ours and this changed it.
   */
  | { kind: 'delivered'; serviceId: string; flag: Fact | null; state?: string; total?: number; renamedFrom?: string }
  /** The request may have taken effect: timeout, reset, cut-off answer, 5xx, any unlisted status. */
  | ({ kind: 'in_doubt'; reason: Fact } & AmongOthers)
  /**
   * The endpoint's success status with a complete body that is no acknowledgement, or another 2xx that is empty or a JSON object.
   * `saysFailed`: the service itself says that it failed, which may be about this record alone.
   */
  | ({ kind: 'invalid'; reason: Fact; saysFailed?: true } & Partial<Refusal> & AmongOthers)
  /** Provably nothing was sent. `tls`: the service's certificate was not accepted. */
  | { kind: 'unavailable'; reason: Fact; tls: boolean }
  /**
   * The service asks for less. `retryAfterMs` is null when it does not say for how long. `mayHaveTakenEffect`: a 503 may come
   * from a gateway after the service behind it has acted; only a 429 is decided before.
   */
  | ({ kind: 'throttled'; reason: Fact; retryAfterMs: number | null; mayHaveTakenEffect?: true } & AmongOthers)
  | { kind: 'unauthorised'; reason: Fact }
  /** `mayHaveTakenEffect`: a redirect may follow a deed ("see other"). `others`: of a 403, those at the same endpoint. */
  | ({ kind: 'misconfigured'; reason: Fact; mayHaveTakenEffect?: true } & AmongOthers)
  /** The first request with this key is still running at the service. */
  | ({ kind: 'busy'; reason: Fact } & AmongOthers)
  | { kind: 'unknown_customer'; reason: Fact }
  /**
   * Something exists at the service under this key, or under another one. `existing`: the customer that the answer carries,
   * when it is exactly ours.
   */
  | { kind: 'conflict'; reason: Fact; what: 'key_reused' | 'already_exists'; existing?: FoundRecord }
  /** The service refuses these bytes; nothing took effect. */
  | ({ kind: 'refused'; reason: Fact } & Partial<Refusal>)
  /** We did not let it go: paused, stopped, or the lease was too short. Nothing was sent. */
  | { kind: 'not_sent'; reason: Fact };

/** Tells an answer about one record from one about the service. */
interface AmongOthers {
  /**
   * `passed`: the service accepts other records, so that the answer is about this one, which waits by itself. `pass still`: it has
   * come so often that a person has to look. Absent: it may be about the service as a whole.
   */
  others?: 'passed' | 'pass still';
}

/** The service's own "no". */
interface Refusal {
  /** The same for refusals that differ in their numbers alone. */
  likeness: string;
}

export type VerdictKind = Verdict['kind'];
export type Delivered = Extract<Verdict, { kind: 'delivered' }>;
/** Why there is no proper answer, whatever was asked. */
export type Failure = Exclude<Verdict, Delivered>;

/** Why an answer with the right status is not what was asked for. */
export class Unusable {
  constructor(readonly problem: Fact) {}
}

/** The reading of a list page, an invoice or an order. */
export interface ReadAnswer<Value> {
  kind: 'read';
  value: Value;
}

/** The result of a look-up, which asks the service for a record. */
export type LookUpFinding =
  | FoundRecord
  | { kind: 'none' }
  | { kind: 'several'; count: number }
  /** Something was answered that proves nothing. */
  | { kind: 'odd'; reason: Fact };

/** Exactly one record is exactly ours. */
export interface FoundRecord {
  kind: 'found';
  serviceId: string;
  total: number | null;
  /** Fields that both have, with other values. */
  differs: string[];
  /** The record as the service shows it, with whatever it has besides our fields. */
  shown: { [name: string]: JsonValue };
}

/** The places of the error in a JSON body, such as `error.code`, in the order in which they are looked at. */
export interface ErrorPlaces {
  readonly code: readonly string[];
  readonly message: readonly string[];
  /** Which fields are wrong. */
  readonly details: readonly string[];
}

/** Understands {error:{code,message}}, problem+json (RFC 9457), {message}, {errors:[{field,message}]} and OAuth (RFC 6749). */
export const usualErrorPlaces: ErrorPlaces = {
  code: ['error.code', 'code', 'type', 'errors.0.code', 'error'],
  message: ['error.message', 'error.detail', 'error.title', 'message', 'detail', 'title', 'error_description', 'error'],
  details: ['errors', 'error.errors', 'error.details', 'invalid-params'],
};
