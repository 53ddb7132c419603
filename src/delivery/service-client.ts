import type { AxiosAdapter } from 'axios';
import type { EndpointName, LookUpEndpoint } from '../config/endpoint-settings.js';
import type { ServiceSettings } from '../config/service-settings.js';
import type { Entity } from '../model/entity.js';
import { KnownSecrets } from '../model/known-secrets.js';
import type { FoundRecord, LookUpFinding } from '../model/look-up-finding.js';
import type { CustomerRecord, JsonValue, OrderItem } from '../model/record.js';
import type { Verdict } from '../model/verdict.js';
import { type Clock, systemClock } from '../store/clock.js';
import { orderTotal } from './acknowledgement.js';
import { AnswerRedaction } from './answer-redaction.js';
import { AuthorisedTransport } from './authorised-transport.js';
import { concurrencyOf } from './concurrency-of.js';
import { Connections } from './connections.js';
import type { CredentialFault } from './credential/credential.js';
import { openCredential } from './credential/open-credential.js';
import type { FileSource } from './credential/watched-files.js';
import { endpointNames } from './endpoint-names.js';
import { type EndpointNotice, EndpointWatch } from './endpoint-notice.js';
import type { TimedExchange } from './exchange.js';
import { customerInAnswer } from './existing-customer.js';
import { fillPath } from './fill-path.js';
import { idIsCode } from './id-is-code.js';
import { lookUpAddress, readLookUp } from './look-up.js';
import { Pacer } from './pacer.js';
import { Transport } from './transport.js';
import { judge } from './verdict.js';

/** What is needed to send one message: frozen bytes and their key, never something to compose. */
export interface SendRequest {
  entity: Entity;
  operation: 'create' | 'update' | 'delete';
  idempotencyKey: string;
  /** The method that was frozen with the bytes; absent or null: the endpoint's. */
  method?: string | null;
  /** The frozen bytes. */
  body: string;
  /** The field of these bytes that carries the key; absent or null: a header carries it. */
  keyField?: string | null;
  /** The mapped record as JSON, to check the acknowledgement against. */
  record: string;
  /** The id that the service gave; null before the create is acknowledged. */
  serviceId: string | null;
  /** Lets everything else pass that waits for a slot. */
  isPatient?: boolean;
  /** It goes to see whether a service that is down is back: once, without resends. */
  isProbe?: boolean;
  gate: () => Promise<string | null>;
}

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

export interface ServiceClientOptions {
  service: ServiceSettings;
  quickResends: number;
  nowMs: () => number;
  /** What the pace is measured by; absent: the system's. */
  clock?: Clock;
  /** What puts a request on the wire; absent: Node's own http. */
  adapter?: AxiosAdapter;
  /** Learns of every secret that comes while the program runs, and says what is taken out of all that is said. */
  secrets?: KnownSecrets;
  /** Told what somebody should know of the files of the credential. */
  warn?: (message: string) => void;
  /** Told of each access token that came (null), and of each that did not. */
  onToken?: (fault: CredentialFault | null) => void;
  /** What the files of the credential are read by; absent: the disk. */
  files?: FileSource;
  /** Hears, once for each, that the service announces the end of an endpoint. */
  onEndpointNotice?: (notice: EndpointNotice) => void;
}

/** The service's HTTP interface: which path, which headers, and what an answer means. */
export class ServiceClient {
  readonly #service: ServiceSettings;
  readonly #pacer: Pacer;
  readonly #wire: Transport;
  readonly #transport: AuthorisedTransport;
  readonly #nowMs: () => number;
  readonly #watch: EndpointWatch;
  readonly #redaction: AnswerRedaction;

  constructor(options: ServiceClientOptions) {
    this.#service = options.service;
    this.#nowMs = options.nowMs;
    const tell = options.onEndpointNotice ?? (() => undefined);
    this.#watch = new EndpointWatch(options.service.endpoints, tell, options.nowMs);
    const { limits } = options.service;
    this.#pacer = new Pacer({
      concurrency: concurrencyOf(options.service),
      limits: limits.map(({ requests, perSeconds }) => ({ requests, windowMs: perSeconds * 1000 })),
      ...(options.clock ? { clock: options.clock } : {}),
    });
    const known = options.secrets ?? new KnownSecrets();
    this.#redaction = new AnswerRedaction(() => known.all);
    const { monotonicMs } = options.clock ?? systemClock;
    const watching = {
      secrets: known,
      monotonicMs,
      warn: options.warn ?? (() => undefined),
      ...(options.files ? { files: options.files } : {}),
    };
    const { service } = options;
    if (service.token) known.add(service.token.reveal());
    const connections = new Connections({ service, maxSockets: concurrencyOf(service), ...watching });
    this.#wire = new Transport({ ...options, pacer: this.#pacer, connections });
    const credential = openCredential(service, {
      ...watching,
      send: (request, gate) => this.#wire.askForToken(request, gate),
      nowMs: options.nowMs,
      random: Math.random,
      ...(options.onToken ? { onAnswer: options.onToken } : {}),
    });
    this.#transport = new AuthorisedTransport(this.#wire, credential, connections);
  }

  /** Sends one message once and judges the answer. */
  async send(request: SendRequest): Promise<Sent> {
    const { entity, operation } = request;
    const record = JSON.parse(request.record) as CustomerRecord & { items?: OrderItem[] };
    const name = endpointNames[entity][operation];
    const endpoint = this.#service.endpoints[name];
    // A customer is known by its own code, unless the service gives ids.
    const knownByCode = idIsCode(this.#service.acknowledgement);
    const customerCode =
      entity === 'customer' && knownByCode ? (request.serviceId ?? record.customer_code) : record.customer_code;
    const path = fillPath(endpoint.path, {
      ...record,
      order_id: entity === 'order' ? request.serviceId : null,
      customer_code: customerCode,
      id: request.serviceId,
    });
    if ('problem' in path) return neverSent(path.problem);
    const { idempotency, maxRequestBytes } = this.#service;
    const bytes = Buffer.byteLength(request.body);
    if (bytes > maxRequestBytes)
      return neverSent(
        `It is ${bytes} bytes large, and the service takes ${maxRequestBytes} (service.maxRequestBytes).`,
      );
    const timed = await this.#transport.exchange({
      method: (request.method as typeof endpoint.method | null | undefined) ?? endpoint.method,
      path: path.filled,
      headers: {
        ...(operation === 'delete' ? {} : { 'Content-Type': 'application/json' }),
        ...(request.keyField
          ? {}
          : { [idempotency.header]: idempotency.quoted ? `"${request.idempotencyKey}"` : request.idempotencyKey }),
      },
      ...(operation === 'delete' ? {} : { body: request.body }),
      priority: request.isPatient ? -1 : 0,
      isProbe: request.isProbe ?? false,
      gate: request.gate,
    });
    this.#heed(name, timed);
    const expectedId = entity === 'customer' && knownByCode ? customerCode : request.serviceId;
    const exchange = this.#redaction.exchange(timed.exchange, endpoint.successStatus);
    const verdict = judge(
      this.#service,
      {
        entity,
        operation,
        // A replayed create is answered with the id it had, whatever is bound by now.
        expectedId: operation === 'create' && !(entity === 'customer' && knownByCode) ? null : expectedId,
        successStatus: endpoint.successStatus,
        expectedTotal: operation !== 'delete' && record.items ? orderTotal(record.items) : null,
      },
      exchange,
      this.#nowMs(),
    );
    const isThere = entity === 'customer' && operation === 'create' && verdict.kind === 'conflict';
    return {
      ...this.#record(timed),
      verdict: this.#redaction.verdict(verdict, expectedId),
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
    const timed = await this.#transport.exchange({
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
    const timed = await this.#transport.exchange({ method: 'GET', path, query, priority, isProbe, gate });
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
    this.#pacer.recall(agesMs, longerThanMs);
  }

  /** See `Pacer.usedUp`. */
  get usedUp(): { reason: string; waitMs: number } | null {
    return this.#pacer.usedUp;
  }

  /** See `Pacer.forgetAdvice`. */
  forgetAdvice(): void {
    this.#pacer.forgetAdvice();
  }

  /** See `Pacer.reconsider`. */
  reconsider(): void {
    this.#pacer.reconsider();
  }

  /** See `AuthorisedTransport.replacedSince`. */
  credentialReplacedSince(sinceMs: number, whereNothingTells = false): boolean {
    return this.#transport.replacedSince(sinceMs, whereNothingTells);
  }

  /** Requests that are waiting for their turn. */
  get waiting(): number {
    return this.#pacer.waiting;
  }

  close(): void {
    this.#pacer.close();
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
