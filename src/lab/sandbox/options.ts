import type { CustomerRecord } from '../../model/record.js';
import type { FaultInput } from './fault-plan.js';

/** A fixed time, or a range from which each request draws uniformly. In milliseconds. */
export type DelayMs = number | readonly [minMs: number, maxMs: number];

/** At most `requests` in any span of `windowMs` (a sliding window, not a calendar one). */
export interface Limit {
  requests: number;
  windowMs: number;
}

/** The form of `Retry-After` in a 429: the truth in one of two forms, nothing, or a lie that real services tell. */
export type RetryAfterForm = 'seconds' | 'http-date' | 'absent' | 'junk' | 'past' | 'absurd';

/** The form of the service's errors: the shapes that real services use. */
export type ErrorShape = 'nested' | 'problem' | 'message' | 'errors' | 'fault' | 'text' | 'html';

/** For each kind of answer, the places of fields that do not stand on top: `{order: {order_id: 'data.id'}}`. */
export type AnswerPlaces = Partial<Record<'order' | 'customer' | 'invoices', Readonly<Record<string, string>>>>;

/** The sandbox's demands on a client that asks for an access token (OAuth 2.0, client credentials). */
export interface TokenRules {
  clientId: string;
  clientSecret: string;
  /** The place of the client's id and secret; `certificate`: the id alone, in the body. */
  authentication: 'basic' | 'post' | 'certificate';
  /** The lifetime of a token. */
  lifetimeMs: number;
  /** True if the answer names it. */
  saysLifetime: boolean;
  /** The scope that the client has to ask for, if any. */
  scope: string | null;
  /** The answer that every client gets instead of the truth, if any. */
  trouble: 'down' | 'html' | 'same-token' | null;
}

/** The receiver and the form of the events that the sandbox announces. */
export interface WebhookOptions {
  url: string;
  /** `standard`: Standard Webhooks. `hmac`: a hex HMAC-SHA256 of `TIMESTAMP.BODY`. Default `standard`. */
  scheme?: 'standard' | 'hmac';
  /** base64 with or without `whsec_`, or for `hmac` any text. */
  secret: string;
}

/** The options that are fixed once the sandbox has started, with their defaults. */
const fixedDefaults = {
  /** TCP port on 127.0.0.1; 0 lets the system choose. */
  port: 0,
  /** Serve https with this key and certificate (PEM). With `clientCa`, only clients with a certificate of it get in. */
  tls: null as { key: string; cert: string; clientCa?: string } | null,
  /** All of these hold at once. `setLimit` replaces them. */
  limits: [] as readonly Limit[],
  /** The faults that are on from the start. */
  faults: [] as readonly FaultInput[],
  /** Makes the faults' probabilities and the choice of paid invoices repeatable. null: faults draw from `random`. */
  seed: null as number | null,
  /** Customers that exist from the start, each made by somebody else under a key of its own. */
  customers: [] as readonly CustomerRecord[],
  /** The time for which a key is remembered, from its first request. After that the same key is a new request. */
  keyLifetimeMs: 24 * 60 * 60 * 1000,
  /** True if 4xx answers are remembered and replayed too. false: a corrected body may use the same key. */
  replayRefusals: false,
  /** True if the same key with another body is refused with 422; false replays the first answer. */
  compareBodies: true,
  /** The answer to the same key with the same body after a success: the first answer again, or 409. */
  repeats: 'replay' as 'replay' | 'refuse',
  /** Largest request body; 413 above it. */
  maxBodyBytes: 1024 * 1024,
  /** The order field that carries the sender's own reference, by which the ledger finds duplicates. */
  orderReferenceField: 'note',
  /** Wall clock, in ms since 1970. */
  nowMs: Date.now as () => number,
  /** The rate limit's clock: a wall clock may jump, and the limit with it. `nowMs` when only that is given. */
  monotonicMs: () => performance.now(),
  /** Uniform in [0, 1). */
  random: Math.random as () => number,
};

/** The options that may change while the sandbox runs, with their defaults. */
const changeableDefaults = {
  /** The bearer token that is accepted. */
  token: 'sandbox-token',
  /** Expect the token in this header instead of `Authorization: Bearer`. */
  apiKey: null as { header: string; scheme?: string } | null,
  /** Accept access tokens from POST /oauth/token instead of `token`. */
  oauth: null as TokenRules | null,
  /** Ask for no token: a client that got in by `tls.clientCa` is known. */
  byCertificate: false,
  /** Repeat the client's credential in refusals, as careless services do. */
  echoCredentials: false,
  /** Answer every authenticated request with 403. */
  forbidden: false,
  /** Addresses, by their beginning, that are answered with 403. */
  forbiddenPaths: [] as readonly string[],
  /** Methods that are answered with 405. */
  refusedMethods: [] as readonly string[],

  /** The place of the idempotency key. `body`: in a field of every JSON body; DELETE then needs none. */
  keyIn: 'header' as 'header' | 'body',
  /** The body field that carries the key. It is not part of the record. */
  keyField: 'idempotency_key',
  /** The header that carries the key. */
  keyHeader: 'idempotency-key',
  /** The accepted form of that header: `"abc"` as in the IETF draft, `abc` as many services have it, or both. */
  keyForm: 'either' as 'either' | 'quoted' | 'bare',
  /** True if a write without a key is refused. false: it takes effect each time it comes. */
  needsKey: true,

  retryAfter: 'seconds' as RetryAfterForm,
  /** Before a request is counted and handled: the way there. */
  delayBeforeMs: 0 as DelayMs,
  /** After the effect and before the answer: work and the way back. The key is in progress meanwhile. */
  delayAfterMs: 0 as DelayMs,
  /** A total, drawn and then split at a random point between before and after; added to the two above. */
  delayMs: 0 as DelayMs,

  /** True if unknown order fields are refused with 400; false: they are kept. Customers take any field by design. */
  unknownFields: 'refuse' as 'refuse' | 'accept',
  /** Order fields known besides customer_code, items and note. */
  extraOrderFields: [] as readonly string[],
  /** The fields in which null may stand for "cleared". A PATCH has no other way to say so. */
  nulls: 'patch' as 'never' | 'patch' | 'always',
  /** The status of an answer to a create. */
  createdStatus: 201,
  answerPlaces: {} as AnswerPlaces,
  /** `nested` is `{error:{code,message}}`, `fault` is `{fault:{no,text}}`. */
  errorShape: 'nested' as ErrorShape,
  /** Extra headers of every answer, by method and address without id: `{'POST /v1/orders': {sunset: '…'}}`. */
  headersOf: {} as Readonly<Record<string, Readonly<Record<string, string>>>>,
  /** Fields that a whole record needs besides the usual ones. */
  requiredFields: { customer: [] as readonly string[], order: [] as readonly string[] },
  /** Longest string of single fields, by their names, in UTF-16 units. */
  maxLengths: {} as Readonly<Record<string, number>>,
  /** Longest string of all other fields, in UTF-16 units. */
  maxStringLength: 1000,
  /** Most lines of an order. */
  maxItems: 1000,

  /** The answer to a create of a customer whose code exists. */
  alreadyExists: { status: 409, code: 'already_exists' } as { status: 409 | 422; code: string },
  /** True if that answer shows the existing customer, as `error.customer`. */
  showExisting: false,

  /** True if an order makes an invoice. */
  invoicePerOrder: true,
  /** The share of invoices that are paid from the start, 0 to 1. */
  paidShare: 0.25,
  /** The average number of invoices that are paid, added or moved before each page of them is read. */
  invoiceChanges: 0,
  /** Announce paid invoices and changed orders to this address. */
  webhooks: null as WebhookOptions | null,
  /** The number of a list's first page. */
  firstPage: 1,
  maxPageSize: 100,
  /** Larger limits are silently clamped to `maxPageSize`, as many services do, or refused with 400. */
  largePages: 'clamp' as 'clamp' | 'refuse',
  /** UTC offset of the timestamps in answers. */
  utcOffsetMinutes: 0,
};

export type ChangeableOptions = typeof changeableDefaults;
/** Every option of the sandbox. `startSandbox` takes any part of them. */
export type SandboxOptions = typeof fixedDefaults & ChangeableOptions;

/** Fills in the defaults. An option given as `undefined` counts as not given. */
export function resolveOptions(given: Partial<SandboxOptions>): SandboxOptions {
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const options: SandboxOptions = { ...fixedDefaults, ...changeableDefaults, ...set };
  // A test that holds the wall clock still expects the limit's window to stand still with it.
  if (given.nowMs && !given.monotonicMs) options.monotonicMs = given.nowMs;
  return options;
}
