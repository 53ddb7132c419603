import { performance } from 'node:perf_hooks';
import type { CustomerRecord } from '../../model/record.js';
import type { ErrorShape } from './answer.js';
import type { FaultInput } from './fault-plan.js';
import type { TokenRules } from './token-desk.js';
import type { WebhookOptions } from './webhook-sender.js';

/** A fixed time, or a range from which each request draws uniformly. In milliseconds. */
export type DelayMs = number | readonly [minMs: number, maxMs: number];

/** At most `requests` in any span of `windowMs` (a sliding window, not a calendar one). */
export interface Limit {
  requests: number;
  windowMs: number;
}

/** What a 429 says in `Retry-After`: the truth in one of two forms, nothing, or one of the lies seen in the wild. */
export type RetryAfterForm = 'seconds' | 'http-date' | 'absent' | 'junk' | 'past' | 'absurd';

/** Every knob of the sandbox. `startSandbox` takes any part of it; the rest is `defaultOptions`. */
export interface SandboxOptions {
  /** TCP port on 127.0.0.1; 0 lets the system choose. Default 0. */
  port: number;

  /** The bearer token that is accepted. Default `sandbox-token`. */
  token: string;
  /** Where the token stands instead of `Authorization: Bearer`: an API key. Default null. */
  apiKey: { header: string; scheme?: string } | null;
  /** Access tokens from POST /oauth/token are asked for, not `token`. Default null. */
  oauth: TokenRules | null;
  /** No token is asked for; whoever comes in by `tls.clientCa` is known. Default false. */
  byCertificate: boolean;
  /** Speaks https, with this key and certificate (PEM). With `clientCa` only those who show a certificate of it get in. Default null. */
  tls: { key: string; cert: string; clientCa?: string } | null;
  /** Repeat in refusals what was shown as a credential, as careless services do. Default false. */
  echoCredentials: boolean;
  /** Answer every authenticated request with 403. Default false. */
  forbidden: boolean;

  /** Where the idempotency key travels. `body`: in a field of every JSON body; DELETE then needs none. Default `header`. */
  keyIn: 'header' | 'body';
  /** The field that carries the key in a body; it is no part of the record. Default `idempotency_key`. */
  keyField: string;
  /** The header that carries the idempotency key. Default `idempotency-key`. */
  keyHeader: string;
  /** Which writing of the key is accepted: `"abc"` as in the IETF draft, `abc` as many services have it, or both. Default `either`. */
  keyForm: 'either' | 'quoted' | 'bare';
  /** How long a key is remembered, from its first request. After that the same key is a new request. Default 24 h. */
  keyLifetimeMs: number;
  /** Whether 4xx answers are remembered and replayed too. Default false: a corrected body may use the same key. */
  replayRefusals: boolean;
  /** Whether the same key with another body is refused with 422. Default true; false replays the first answer. */
  compareBodies: boolean;

  /** All of these hold at once. Default none. */
  limits: readonly Limit[];
  /** Default `seconds`. */
  retryAfter: RetryAfterForm;

  /** Before a request is counted and handled: the way there. Default 0. */
  delayBeforeMs: DelayMs;
  /** After the effect and before the answer: the service's work and the way back. The key is "in progress" meanwhile. Default 0. */
  delayAfterMs: DelayMs;
  /** A total, drawn and then split at a random point between before and after; added to the two above. Default 0. */
  delayMs: DelayMs;

  /** The faults that are on from the start. Default none. */
  faults: readonly FaultInput[];
  /** Makes the faults' probabilities and the choice of paid invoices repeatable. Default null: drawn from `random`. */
  seed: number | null;

  /** Fields that nobody knows are refused with 400, or accepted and kept. Default `refuse`. Customers take any field by design. */
  unknownFields: 'refuse' | 'accept';
  /** Order fields known besides customer_code, items and note. Default none. */
  extraOrderFields: readonly string[];
  /** Where null may stand for "cleared". Default `patch`: it is the only way to say so there. */
  nulls: 'never' | 'patch' | 'always';
  /** How errors are written. Default `nested`: `{error:{code,message}}`. */
  errorShape: ErrorShape;
  /** Further headers of every answer at an address without its id, such as `{'POST /v1/orders': {sunset: '…'}}`. Default none. */
  headersOf: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Fields besides the usual ones that a whole record needs. Default none. */
  requiredFields: { readonly customer: readonly string[]; readonly order: readonly string[] };
  /** Longest string of single fields, in UTF-16 units, by their names. Default none. */
  maxLengths: Readonly<Record<string, number>>;
  /** Longest string of a field, in UTF-16 units. Default 1,000. */
  maxStringLength: number;
  /** Most lines of an order. Default 1,000. */
  maxItems: number;
  /** Largest request body, in bytes; 413 above it. Default 1 MiB. */
  maxBodyBytes: number;
  /** The order field that carries the sender's own reference, by which the ledger finds duplicates. Default `note`. */
  orderReferenceField: string;

  /** Customers that are there from the start, each made by somebody else under a key of their own. Default none. */
  customers: readonly CustomerRecord[];
  /** Status and code of the answer that a customer with this code is there already. Default 409, `already_exists`. */
  alreadyExists: { status: 409 | 422; code: string };
  /** Whether that answer shows the customer who is there, as `error.customer`. Default false. */
  showExisting: boolean;

  /** Whether an order makes an invoice. Default true. */
  invoicePerOrder: boolean;
  /** The share of invoices that are born paid, 0 to 1. Default 0.25. */
  paidShare: number;
  /** Days from an order to its invoice's due date. Default 30. */
  paymentTermDays: number;
  /** How often on average somebody pays, adds or moves an invoice before a page of them is read. Default 0. */
  invoiceChanges: number;
  /** Announces paid invoices and changed orders to this address. Default null. */
  webhooks: WebhookOptions | null;
  /** The number of a list's first page. Default 1. */
  firstPage: number;
  /** Page size where `limit` is absent. Default 50. */
  defaultPageSize: number;
  /** Larger limits are silently clamped to this, as real services do. Default 100. */
  maxPageSize: number;

  /** UTC offset of the timestamps in answers, in minutes. Default 0. */
  utcOffsetMinutes: number;
  /** Wall clock, in ms since 1970. Default `Date.now`. */
  nowMs: () => number;
  /** The clock of the rate limit. Default `performance.now`, or `nowMs` where that was handed in. */
  monotonicMs: () => number;
  /** Uniform in [0, 1). Default `Math.random`. */
  random: () => number;
}

export const defaultOptions: SandboxOptions = {
  port: 0,
  token: 'sandbox-token',
  apiKey: null,
  oauth: null,
  byCertificate: false,
  tls: null,
  echoCredentials: false,
  forbidden: false,
  keyIn: 'header',
  keyField: 'idempotency_key',
  keyHeader: 'idempotency-key',
  keyForm: 'either',
  keyLifetimeMs: 24 * 60 * 60 * 1000,
  replayRefusals: false,
  compareBodies: true,
  limits: [],
  retryAfter: 'seconds',
  delayBeforeMs: 0,
  delayAfterMs: 0,
  delayMs: 0,
  faults: [],
  seed: null,
  unknownFields: 'refuse',
  extraOrderFields: [],
  nulls: 'patch',
  errorShape: 'nested',
  headersOf: {},
  requiredFields: { customer: [], order: [] },
  maxLengths: {},
  maxStringLength: 1000,
  maxItems: 1000,
  maxBodyBytes: 1024 * 1024,
  orderReferenceField: 'note',
  customers: [],
  alreadyExists: { status: 409, code: 'already_exists' },
  showExisting: false,
  invoicePerOrder: true,
  paidShare: 0.25,
  paymentTermDays: 30,
  invoiceChanges: 0,
  webhooks: null,
  firstPage: 1,
  defaultPageSize: 50,
  maxPageSize: 100,
  utcOffsetMinutes: 0,
  nowMs: Date.now,
  // The wall clock may jump, and a limit that jumps with it would accuse an innocent client.
  monotonicMs: () => performance.now(),
  random: Math.random,
};

/** Fills in the defaults. An option given as `undefined` counts as not given. */
export function resolveOptions(given: Partial<SandboxOptions>): SandboxOptions {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const options: SandboxOptions = { ...defaultOptions, ...set };
  // A test that holds the wall clock still expects the limit's window to stand still with it.
  if (given.nowMs && !given.monotonicMs) options.monotonicMs = given.nowMs;
  return options;
}
