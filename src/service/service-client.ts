import type { ServiceSettings } from '../config/sections/service.js';
import type { LookUpEndpoint } from '../config/sections/service-endpoints.js';
import type { Entity, JsonValue } from '../model/record.js';
import { KnownSecrets } from '../model/secret.js';
import { type Delivered, type Failure, type LookUpFinding, type ReadAnswer, Unusable } from '../model/verdict.js';
import { type Clock, systemClock } from '../store/clock.js';
import { AnswerRedaction } from './answer-words.js';
import { type ComposedRequest, composeRequest, type Passage, type SendRequest } from './compose-request.js';
import {
  type Credential,
  type CredentialFault,
  certificateOnly,
  StaticCredential,
  wrongCredential,
} from './credential/credential.js';
import { OauthCredential, type OauthCredentialOptions } from './credential/oauth-credential.js';
import type { FileSource } from './credential/watched-files.js';
import { type EndpointNotice, EndpointWatch } from './endpoint-lifecycle.js';
import { type AnswerPlaces, noPlaces } from './failure-mark.js';
import { judge, parseAnswer } from './judge.js';
import { expectFinding, lookUpAddress } from './look-up.js';
import { RateLimiter } from './rate-limit/rate-limiter.js';
import { concurrencyOf } from './rate-limit/sliding-slots.js';
import { newTrace } from './trace-id.js';
import { AuthorisedTransport } from './wire/authorised-transport.js';
import { Connections, type OpenClient } from './wire/connections.js';
import { Transport, type TransportOptions, type TransportRequest } from './wire/transport.js';

/** The outcome of one request. */
export interface Sent<Answer = Delivered> {
  verdict: Answer | Failure;
  /** When it left, in milliseconds since 1970; null: it never did. */
  startedAtMs: number | null;
  durationMs: number | null;
  /** See `TimedExchange`; absent: one, if it left. */
  requests?: number;
  status: number | null;
  /** The service's own name for the request. */
  requestId: string | null;
  /**
   * The beginning of the answer to a write, redacted; null: it acknowledges the write, or has no body. A read or a
   * look-up may show other people than the record's, where `waybill forget` would not find it.
   */
  excerpt: string | null;
  /** See `TimedExchange`. */
  repeatedAfter401?: true;
  /** The trace that its requests belonged to; absent: none (`service.traceparent`). */
  traceId?: string;
}

/** A question for a page of a list, or for one record. */
export interface ReadQuestion<Value> {
  endpoint: 'listInvoices' | 'readInvoice' | 'readOrder' | 'lookUpOrder' | 'readCustomer' | 'lookUpCustomer';
  path: string;
  query: Record<string, string>;
  /** Statuses that answer it. */
  answers: readonly number[];
  places: AnswerPlaces;
  /**
   * Makes of status and body what was asked for, or says why it is none.
   * @param json of the body; undefined: the body is none
   */
  read: (status: number, json: unknown, body: string) => Value | Unusable;
}

/** A request that sees what the service makes of it, and the answer as it came, with our credentials taken out. */
export type ProbeRequest = Pick<TransportRequest, 'method' | 'path' | 'query' | 'headers' | 'body'> & {
  /** It shows a credential that the service never gave. */
  isWrong?: boolean;
};

export interface ProbeAnswer {
  status: number;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  body: string;
}

export interface ServiceClientOptions extends Omit<TransportOptions, 'monotonicMs' | 'rateLimiter' | 'connections'> {
  /** The clock of the pace; absent: the system's. */
  clock?: Clock;
  /** Learns of every secret that comes while the program runs, and says what is taken out of all that is said. */
  secrets?: KnownSecrets;
  /** Told what a person should know of the files of the credential. */
  warn?: (message: string) => void;
  /** Told of each access token that came (null), and of each that did not. */
  onToken?: (fault: CredentialFault | null) => void;
  /** The wire of requests; absent: undici. */
  openClient?: OpenClient;
  /** The reader of the credential's files; absent: the disk. */
  files?: FileSource;
  /** The dice for the ids of traces; absent: the system's. */
  random?: () => number;
  /** Hears, once for each, that the service announces the end of an endpoint. */
  onEndpointNotice?: (notice: EndpointNotice) => void;
  /** The limits are those of several nodes together. */
  isShared?: boolean;
}

/** As many as are acknowledged by all requests under way at once, several times over. */
const mostGivenIds = 1_000;

/**
 * The service's HTTP interface: which path, which headers, and what an answer means. Everything goes through one rate
 * limiter, one set of connections and one credential.
 */
export class ServiceClient {
  readonly rateLimiter: RateLimiter;
  readonly #service: ServiceSettings;
  readonly #transport: Transport;
  readonly #authorised: AuthorisedTransport;
  readonly #nowMs: () => number;
  readonly #random: () => number;
  readonly #watch: EndpointWatch;
  readonly #redaction: AnswerRedaction;
  readonly #connections: Connections;
  /** The ids that records were acknowledged with of late, and by which key. */
  readonly #givenIds = new Map<string, string>();

  constructor(options: ServiceClientOptions) {
    const { service, nowMs, clock = systemClock, secrets = new KnownSecrets() } = options;
    this.#service = service;
    this.#nowMs = nowMs;
    this.#random = options.random ?? Math.random;
    this.#watch = new EndpointWatch(service.endpoints, options.onEndpointNotice ?? (() => undefined), nowMs);
    this.#redaction = new AnswerRedaction(() => secrets.all);
    const concurrency = concurrencyOf(service);
    const limits = service.limits.map(({ requests, perSeconds }) => ({ requests, windowMs: perSeconds * 1000 }));
    // Nodes share this one as well: a place of it is free again with the answer.
    if (options.isShared && service.concurrency !== undefined) limits.push({ requests: concurrency, windowMs: 0 });
    this.rateLimiter = new RateLimiter({ concurrency, limits, clock });
    const { files, warn = () => undefined } = options;
    const watching = { secrets, monotonicMs: clock.monotonicMs, warn, files };
    if (service.token) secrets.add(service.token.reveal());
    const connections = new Connections({ service, openClient: options.openClient, ...watching });
    this.#connections = connections;
    this.#transport = new Transport({
      ...options,
      monotonicMs: () => clock.monotonicMs(),
      rateLimiter: this.rateLimiter,
      connections,
    });
    const credential = openCredential(service, {
      ...watching,
      send: (request, gate) => this.#transport.askForToken(request, gate),
      nowMs,
      random: this.#random,
      onAnswer: options.onToken,
    });
    this.#authorised = new AuthorisedTransport(this.#transport, credential, connections);
  }

  /** Sends one message once and judges the answer. */
  async send(message: SendRequest): Promise<Sent> {
    const composed = composeRequest(this.#service, message);
    // A person has to look at the template or the record, so the message is parked with the reason.
    if ('problem' in composed) return neverSent({ kind: 'refused', reason: composed.problem });
    const sent = await this.#exchange(composed, message);
    if (message.operation === 'create' && sent.verdict.kind === 'delivered')
      this.#heedRepeated(`${message.entity} ${sent.verdict.serviceId}`, message.idempotencyKey);
    return sent;
  }

  /**
   * A second record with one id may have read the answer to the request before it, where a gateway sent that twice. Every later
   * answer on this connection would then be about another record.
   */
  #heedRepeated(id: string, key: string): void {
    if ((this.#givenIds.get(id) ?? key) !== key) this.#connections.renew();
    this.#givenIds.set(id, key);
    if (this.#givenIds.size <= mostGivenIds) return;
    const [oldest = ''] = this.#givenIds.keys();
    this.#givenIds.delete(oldest);
  }

  /** Asks whether the service has a record. If ours was erased, nothing is left to ask by or to compare with. */
  async lookUp(
    endpoint: LookUpEndpoint,
    message: { entity: Entity; record: string | null; idempotencyKey: string },
    passage: Passage,
  ): Promise<Sent<LookUpFinding>> {
    const { entity, idempotencyKey } = message;
    if (message.record === null) return neverSent({ kind: 'odd', reason: { code: 'content_erased' } });
    const record = JSON.parse(message.record) as { [name: string]: JsonValue };
    const address = lookUpAddress(endpoint, record, idempotencyKey);
    if ('problem' in address) return neverSent({ kind: 'odd', reason: address.problem });
    const ofCustomer = endpoint === this.#service.endpoints.lookUpCustomer ? 'lookUpCustomer' : 'readCustomer';
    const composed = {
      endpoint: entity === 'order' ? 'lookUpOrder' : ofCustomer,
      request: { method: 'GET', ...address },
      expected: expectFinding(endpoint, entity, record, idempotencyKey),
      // Customers may be called by our own code.
      knownIds: Object.values(record),
    } as const;
    return this.#exchange(composed, passage);
  }

  /** Reads one page of a list, or one record. */
  async read<Value>(question: ReadQuestion<Value>, passage: Passage): Promise<Sent<ReadAnswer<Value>>> {
    const { endpoint, path, query, answers, places } = question;
    const read = (status: number, json: unknown, body: string): ReadAnswer<Value> | Unusable => {
      const readable = this.#redaction.readable(body);
      const value = question.read(status, readable === body ? json : parseAnswer(places, readable), readable);
      return value instanceof Unusable ? value : { kind: 'read', value };
    };
    const customerOrInvoice = endpoint.endsWith('Customer') ? 'customer' : 'invoice';
    const entity = endpoint.endsWith('Order') ? 'order' : customerOrInvoice;
    const expected = { asks: 'read', entity, answers, places, read } as const;
    return this.#exchange({ endpoint, request: { method: 'GET', path, query }, expected, knownIds: [] }, passage);
  }

  /** Asks what no message would ask. Whatever the answer, it is what was asked for; only "slow down" is heeded as well. */
  async probe(
    { isWrong = false, ...asked }: ProbeRequest,
    { gate }: Passage,
  ): Promise<Sent<ReadAnswer<ProbeAnswer>> & { answer: ProbeAnswer | null }> {
    const request = { ...asked, gate };
    const wrong = isWrong ? wrongCredential(this.#service.credential) : null;
    const timed = await (wrong ? this.#transport.exchange(request, wrong) : this.#authorised.exchange(request));
    const exchange = this.#redaction.exchange(timed.exchange, []);
    const { startedAtMs, durationMs, requests } = timed;
    const answer = exchange.kind === 'answer' ? exchange : null;
    const expected = { asks: 'read', entity: 'order', answers: [], places: noPlaces, read: nothing } as const;
    const verdict = judge<never>(this.#service, expected, exchange, this.#nowMs());
    return {
      verdict: answer && verdict.kind !== 'throttled' ? { kind: 'read', value: answer } : verdict,
      answer,
      startedAtMs,
      durationMs,
      requests,
      status: answer?.status ?? null,
      requestId: this.#redaction.requestId(timed),
      excerpt: asked.method === 'GET' ? null : this.#redaction.excerpt(timed),
    };
  }

  /** See `AuthorisedTransport.replacedSince`. */
  credentialReplacedSince(sinceMs: number, whereNothingTells = false): boolean {
    return this.#authorised.replacedSince(sinceMs, whereNothingTells);
  }

  /** See `AuthorisedTransport.readFilesAgain`. */
  readFilesAgain(): void {
    this.#authorised.readFilesAgain();
  }

  close(): void {
    this.rateLimiter.close();
    this.#transport.close();
  }

  /** The one way to the service: what is composed goes out, and its answer is redacted and judged. */
  async #exchange<Answer extends Delivered | LookUpFinding | ReadAnswer<unknown>>(
    { endpoint, request, expected, knownIds }: ComposedRequest<Answer>,
    { gate, priority = 0, isProbe = false }: Passage,
  ): Promise<Sent<Answer>> {
    const trace = this.#service.traceparent ? newTrace(this.#random) : null;
    const { method, path, query, body } = request;
    const headers = trace ? { traceparent: trace.traceparent, ...request.headers } : request.headers;
    const timed = await this.#authorised.exchange({ method, path, query, headers, body, gate, priority, isProbe });
    const { exchange, startedAtMs, durationMs, requests } = timed;
    const head = exchange.kind === 'answer' || exchange.kind === 'cut_off' ? exchange : null;
    if (head) this.#watch.heed(endpoint, head.headers);
    const isWrite = expected.asks !== 'look_up' && expected.asks !== 'read';
    const verdict = judge(this.#service, expected, this.#redaction.exchange(exchange, expected.answers), this.#nowMs());
    const sent: Sent<Answer> = {
      verdict: this.#redaction.verdict(verdict, knownIds, head?.status ?? 0) as Answer | Failure,
      startedAtMs,
      durationMs,
      requests,
      status: head?.status ?? null,
      requestId: this.#redaction.requestId(timed),
      excerpt: isWrite && verdict.kind !== 'delivered' ? this.#redaction.excerpt(timed) : null,
    };
    if (timed.repeatedAfter401) sent.repeatedAfter401 = true;
    if (trace) sent.traceId = trace.traceId;
    return sent;
  }
}

const nothing = () => new Unusable({ code: 'no_json' });

function neverSent<V>(verdict: V) {
  return { verdict, startedAtMs: null, durationMs: null, status: null, requestId: null, excerpt: null };
}

/** The credential of the settings. */
function openCredential(
  service: Pick<ServiceSettings, 'credential' | 'token' | 'tokenFile'>,
  options: Omit<OauthCredentialOptions, 'settings' | 'secrets'> & { secrets: KnownSecrets },
): Credential {
  const { credential, token, tokenFile } = service;
  switch (credential.kind) {
    case 'oauth':
      return new OauthCredential({ ...options, settings: credential });
    case 'certificate':
      return certificateOnly;
    default:
      return new StaticCredential({ ...options, settings: credential, token: token?.reveal() ?? '', tokenFile });
  }
}
