import type { ServiceSettings } from '../config/sections/service.js';
import type { EndpointName, LookUpEndpoint } from '../config/sections/service-endpoints.js';
import type { Entity, JsonValue } from '../model/record.js';
import { KnownSecrets } from '../model/secret.js';
import type { FoundRecord, LookUpFinding, Verdict } from '../model/verdict.js';
import { AnswerRedaction } from './answer-redaction.js';
import { composeRequest, type SendRequest } from './compose-request.js';
import { type EndpointNotice, EndpointWatch } from './endpoint-lifecycle.js';
import type { TimedExchange } from './exchange.js';
import { judge } from './judge.js';
import { customerInAnswer, lookUpAddress, readLookUp } from './look-up.js';
import { openWire, type Wire, type WireOptions } from './wire/open-wire.js';

export interface Sent {
  verdict: Verdict;
  startedAtMs: number | null;
  durationMs: number | null;
  status: number | null;
  requestId: string | null;
  excerpt: string | null;
  /** See `TimedExchange`. */
  repeatedAfter401?: true;
  /** The customer that the answer "already exists" carries, when it is exactly ours. */
  existing?: FoundRecord | null;
}

export interface ReadOptions {
  endpoint?: 'listInvoices' | 'readInvoice' | 'readOrder';
  /** Higher goes first; what is sent has 0, and what is in no hurry -1. */
  priority?: number;
  isProbe?: boolean;
}

export interface Read {
  exchange: TimedExchange['exchange'];
  startedAtMs: number | null;
  durationMs: number | null;
  requestId: string | null;
}

export interface LookedUp extends Omit<Sent, 'verdict'> {
  finding: LookUpFinding | null;
  verdict: Extract<Verdict, { reason: string }>;
}

export interface ServiceClientOptions extends WireOptions {
  /** Hears, once for each, that the service announces the end of an endpoint. */
  onEndpointNotice?: (notice: EndpointNotice) => void;
}

/** The service's HTTP interface: which path, which headers, and what an answer means. */
export class ServiceClient {
  readonly #service: ServiceSettings;
  readonly #wire: Wire;
  readonly #nowMs: () => number;
  readonly #watch: EndpointWatch;
  readonly #redaction: AnswerRedaction;

  constructor(options: ServiceClientOptions) {
    this.#service = options.service;
    this.#nowMs = options.nowMs;
    const tell = options.onEndpointNotice ?? (() => undefined);
    this.#watch = new EndpointWatch(options.service.endpoints, tell, options.nowMs);
    const known = options.secrets ?? new KnownSecrets();
    this.#redaction = new AnswerRedaction(() => known.all);
    this.#wire = openWire({ ...options, secrets: known });
  }

  /** Sends one message once and judges the answer. */
  async send(request: SendRequest): Promise<Sent> {
    const composed = composeRequest(this.#service, request);
    if ('problem' in composed) return neverSent(composed.problem);
    const { endpoint, record, expected } = composed;
    const timed = await this.#wire.transport.exchange(composed.request);
    this.#heed(endpoint, timed);
    const exchange = this.#redaction.exchange(timed.exchange, expected.successStatus);
    const verdict = judge(this.#service, expected, exchange, this.#nowMs());
    const isThere = request.entity === 'customer' && request.operation === 'create' && verdict.kind === 'conflict';
    return {
      ...this.#record(timed),
      verdict: this.#redaction.verdict(verdict, composed.knownId),
      ...(isThere ? { existing: customerInAnswer(this.#service, record, exchange) } : {}),
    };
  }

  /** Asks whether the service has a record. `finding` is null when it did not say; then `verdict` tells why. */
  async lookUp(
    endpoint: LookUpEndpoint,
    message: { entity: Entity; record: string; idempotencyKey: string },
    asking: Pick<SendRequest, 'gate' | 'isProbe'>,
  ): Promise<LookedUp> {
    const record = JSON.parse(message.record) as { [name: string]: JsonValue };
    const address = lookUpAddress(endpoint, record, message.idempotencyKey);
    if ('problem' in address) {
      const { verdict: _, ...nothingSent } = neverSent(address.problem);
      const finding: LookUpFinding = { kind: 'odd', reason: address.problem };
      return { ...nothingSent, finding, verdict: { kind: 'refused', reason: address.problem } };
    }
    const { path, query } = address;
    const timed = await this.#wire.transport.exchange({
      method: 'GET',
      path,
      query,
      isProbe: asking.isProbe ?? false,
      gate: asking.gate,
    });
    const { lookUpCustomer } = this.#service.endpoints;
    const ofCustomer = endpoint === lookUpCustomer ? 'lookUpCustomer' : 'readCustomer';
    this.#heed(message.entity === 'order' ? 'lookUpOrder' : ofCustomer, timed);
    const exchange = this.#redaction.exchange(timed.exchange, endpoint.successStatus);
    const request = { entity: message.entity, operation: 'update' as const, expectedId: null, expectedTotal: null };
    // No status of a look-up is an acknowledgement: what is asked here is only why there was no answer.
    const judged = judge(this.#service, { ...request, successStatus: 0 }, exchange, this.#nowMs());
    const verdict = this.#redaction.verdict(judged, null);
    return {
      ...this.#record(timed),
      finding: this.#redaction.finding(readLookUp(endpoint, record, message.idempotencyKey, exchange), record),
      verdict: 'reason' in verdict ? verdict : { kind: 'in_doubt', reason: verdict.kind },
    };
  }

  /** Reads one page of a list, or one record. What it means is the caller's business. */
  async get(
    path: string,
    query: Record<string, string>,
    gate: () => Promise<string | null>,
    { endpoint = 'listInvoices', priority = 0, isProbe = false }: ReadOptions = {},
  ): Promise<Read> {
    const timed = await this.#wire.transport.exchange({ method: 'GET', path, query, priority, isProbe, gate });
    this.#heed(endpoint, timed);
    return {
      exchange: this.#redaction.exchange(timed.exchange, null),
      startedAtMs: timed.startedAtMs,
      durationMs: timed.durationMs,
      requestId: this.#redaction.requestId(timed),
    };
  }

  /** See `Pacer.recall`. */
  recall(agesMs: readonly number[], longerThanMs: number): void {
    this.#wire.pacer.recall(agesMs, longerThanMs);
  }

  /** See `Pacer.usedUp`. */
  get usedUp(): { reason: string; waitMs: number } | null {
    return this.#wire.pacer.usedUp;
  }

  /** See `Pacer.forgetAdvice`. */
  forgetAdvice(): void {
    this.#wire.pacer.forgetAdvice();
  }

  /** See `Pacer.reconsider`. */
  reconsider(): void {
    this.#wire.pacer.reconsider();
  }

  /** See `AuthorisedTransport.replacedSince`. */
  credentialReplacedSince(sinceMs: number, whereNothingTells = false): boolean {
    return this.#wire.transport.replacedSince(sinceMs, whereNothingTells);
  }

  /** Requests that are waiting for their turn. */
  get waiting(): number {
    return this.#wire.pacer.waiting;
  }

  close(): void {
    this.#wire.close();
  }

  #heed(endpoint: EndpointName, { exchange }: TimedExchange): void {
    if (exchange.kind === 'answer' || exchange.kind === 'cut_off') this.#watch.heed(endpoint, exchange.headers);
  }

  #record(timed: TimedExchange): Omit<Sent, 'verdict'> {
    const { exchange } = timed;
    const answered = exchange.kind === 'answer' || exchange.kind === 'cut_off';
    return {
      ...(timed.repeatedAfter401 ? { repeatedAfter401: true as const } : {}),
      startedAtMs: timed.startedAtMs,
      durationMs: timed.durationMs,
      status: answered ? exchange.status : null,
      requestId: this.#redaction.requestId(timed),
      excerpt: this.#redaction.excerpt(timed),
    };
  }
}

/** Parked with the reason, because a person has to look at the template or the record; nothing was sent. */
function neverSent(reason: string): Sent {
  return {
    verdict: { kind: 'refused', reason },
    startedAtMs: null,
    durationMs: null,
    status: null,
    requestId: null,
    excerpt: null,
  };
}
