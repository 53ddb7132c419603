import {
  Axios,
  type AxiosAdapter,
  AxiosError,
  AxiosHeaders,
  type AxiosInstance,
  type AxiosRequestConfig,
  type AxiosResponse,
  type InternalAxiosRequestConfig,
} from 'axios';
import axiosRetry from 'axios-retry';
import type { ServiceSettings } from '../../config/sections/service.js';
import { doubledMs } from '../../model/backoff.js';
import type { Fact } from '../../model/facts/fact.js';
import { outside } from '../../model/outside.js';
import type { Credential, CredentialFault } from '../credential/credential.js';
import { readRateLimit } from '../rate-limit/rate-limit-headers.js';
import { longestRestMs, type RateLimiter, type Turn } from '../rate-limit/rate-limiter.js';
import type { Connections } from './connections.js';
import { undiciAdapter } from './undici-adapter.js';
import {
  deadlineCode,
  exchangeOfError,
  type Gate,
  NotSent,
  plainHeaders,
  type TimedExchange,
  type WireExchange,
} from './wire-exchange.js';

export interface TransportOptions {
  service: ServiceSettings;
  rateLimiter: RateLimiter;
  connections: Connections;
  /** Resends at once of what provably never left. */
  quickResends: number;
  nowMs: () => number;
  /** Durations go by it: the clock on the wall may be set while a request is under way. */
  monotonicMs: () => number;
  /** The wire that sends a request and reads its answer, as text; absent: undici. */
  adapter?: AxiosAdapter;
}

export interface TransportRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base URL, with its version. */
  path: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string;
  /** Higher goes first. */
  priority?: number;
  /** Not resent at once, also when it provably never left. */
  isProbe?: boolean;
  gate: Gate;
}

/** An exchange, and which proof it showed; absent: none. */
type ProvenExchange = TimedExchange & { proof?: number | undefined };

/** The state of a request on its way through axios, and of its last try. A class: axios copies plain objects. */
class Journey {
  /** When the last try left the gate; null: it did not. */
  started: { atMs: number; monotonicMs: number } | null = null;
  /** The last try was seen to wait for a connection that did not come about. */
  neverConnected = false;
  /** Which proof it showed. */
  proof: number | undefined;
  answer: WireExchange | null = null;

  constructor(
    /** Undefined: the path is the whole address. */
    readonly baseURL: string | undefined,
    readonly request: TransportRequest,
    /** The credential that it shows; null: a request for a token, which shows its own. */
    readonly credential: Credential | null,
  ) {}

  /** The body that is sent now. axios would copy all of it several times on the way to the adapter. */
  fill(config: InternalAxiosRequestConfig, headers: Record<string, string>): void {
    const { method, path, query, body } = this.request;
    config.method = method;
    config.url = path;
    if (this.baseURL !== undefined) config.baseURL = this.baseURL;
    if (query !== undefined) config.params = query;
    if (body !== undefined) config.data = body;
    config.headers = headers as InternalAxiosRequestConfig['headers'];
  }

  exchangeOf(error: AxiosError): WireExchange {
    return error.cause instanceof NotSent ? error.cause.exchange : exchangeOfError(error, this.neverConnected);
  }
}

type BareConfig = AxiosRequestConfig & { waybill: Journey | null };

declare module 'axios' {
  interface InternalAxiosRequestConfig {
    waybill?: Journey | null;
  }
}

/** Nothing left for the service. */
const neverReached = new Set<WireExchange['kind']>(['unreachable', 'no_credential', 'not_sent']);

/** The waits before a request whose connection broke goes again at once. */
const quickBackoff = { baseMs: 100, maxMs: 10_000 };

/** Before everything that waits for the token. */
const tokenPriority = 1_000_000;

/**
 * The one door to the wire: credential, slot, gate, send, bounded and timed body. The rate limiter sits inside the axios adapter, because
 * axios-retry re-enters the instance and its resends must wait for their slots as well.
 */
export class Transport {
  readonly #baseUrl: string;
  readonly #client: AxiosInstance;
  /** To where tokens come from. */
  readonly #elsewhere: AxiosInstance;
  readonly #connections: Connections;
  readonly #monotonicMs: () => number;
  #isClosed = false;

  constructor(options: TransportOptions) {
    const { service } = options;
    this.#connections = options.connections;
    this.#monotonicMs = options.monotonicMs;
    const adapter = pacedAdapter(options, () => this.#isClosed);
    this.#baseUrl = service.baseUrl;
    // axios merges its defaults with each request: a field that both have is cheaper by a microsecond.
    const defaults: BareConfig = { adapter, waybill: null };
    this.#client = bareAxios(defaults);
    this.#elsewhere = bareAxios(defaults);
    const { requestInterceptorId } = axiosRetry(this.#client, {
      retries: options.quickResends,
      // Each try has its own deadline inside the adapter.
      shouldResetTimeout: true,
      retryCondition: mayGoAgainAtOnce,
      retryDelay: (count) => doubledMs(count, quickBackoff) * (0.5 + Math.random()),
    });
    // It notes when each request began, for timeouts that are not reset, and costs every request that succeeds.
    this.#client.interceptors.request.eject(requestInterceptorId);
  }

  /** Sends one request and says what came of it. Never throws for anything that the wire or the service does. */
  exchange(request: TransportRequest, credential: Credential): Promise<ProvenExchange> {
    return this.#exchange(this.#client, new Journey(this.#baseUrl, request, credential));
  }

  /** Asks for a token: past the gate and within the limit like every request, but not the service, and with nothing of ours to show. */
  async askForToken(
    { url, ...request }: { url: string; headers: Record<string, string>; body: string },
    gate: Gate,
  ): Promise<WireExchange> {
    const passage = { priority: tokenPriority, gate: gate.beforeIt ?? gate };
    const asked = { ...request, ...passage, method: 'POST', path: url } as const;
    return (await this.#exchange(this.#elsewhere, new Journey(undefined, asked, null))).exchange;
  }

  async #exchange(client: AxiosInstance, journey: Journey): Promise<ProvenExchange> {
    const config: BareConfig = { waybill: journey };
    if (journey.request.isProbe) config['axios-retry'] = { retries: 0 };
    let exchange: WireExchange;
    try {
      await client.request(config);
      exchange = journey.answer as WireExchange;
    } catch (error) {
      if (!(error instanceof AxiosError)) throw error;
      exchange = journey.exchangeOf(error);
    }
    const { started, proof } = journey;
    const durationMs = started ? Math.round(this.#monotonicMs() - started.monotonicMs) : null;
    const requests = neverReached.has(exchange.kind) ? 0 : 1;
    return { exchange, startedAtMs: started?.atMs ?? null, durationMs, requests, proof };
  }

  /** Drops the connections; what still waits for its turn is not sent any more. */
  close(): void {
    this.#isClosed = true;
    this.#connections.close();
  }
}

/** The headers of every request to the service: about us, and about the answers that we read. */
const commonHeaders = {
  Accept: 'application/json, text/plain, */*',
  'Accept-Encoding': 'gzip, deflate, br',
  'User-Agent': 'waybill/0.1.0',
};

/**
 * An instance with these defaults and no others. Those of the library cost a request 20 µs, and do what must not happen: they turn
 * broken JSON into a string that looks like success, and follow redirects.
 */
function bareAxios(defaults: AxiosRequestConfig): AxiosInstance {
  const client = new Axios(defaults);
  const request = client.request.bind(client);
  return Object.assign(request, {
    request,
    defaults: client.defaults,
    interceptors: client.interceptors,
  }) as AxiosInstance;
}

const noHeaders = new AxiosHeaders();

function pacedAdapter(options: TransportOptions, isClosed: () => boolean): AxiosAdapter {
  const { rateLimiter, service, nowMs, monotonicMs, connections } = options;
  const send = options.adapter ?? undiciAdapter(connections, service);
  type Result = { error: AxiosError; held: boolean } | { response: AxiosResponse } | 'no proof';
  return async (config) => {
    const journey = config.waybill as Journey;
    const task = async ({ notNow, heed }: Turn): Promise<Result> => {
      journey.started = null;
      const shut = isClosed()
        ? ({ code: 'client_closed' } as const)
        : (notNow ?? (await askGate(journey.request.gate)));
      if (shut !== null) return { error: caused(new NotSent({ kind: 'not_sent', reason: shut }), config), held: true };
      // A request for a token brings all of its own.
      let { headers = {} } = journey.request;
      if (journey.credential) {
        const proof = journey.credential.proof();
        // It ran out, or was refused, while this one waited for its turn.
        if (proof === null) return 'no proof';
        headers = Object.assign({}, commonHeaders, journey.request.headers, proof.headers);
        journey.proof = proof.version;
      }
      // undici takes them as they are; any other adapter may ask for one by its name.
      journey.fill(config, options.adapter ? new AxiosHeaders(headers) : headers);
      journey.started = { atMs: nowMs(), monotonicMs: monotonicMs() };
      journey.neverConnected = false;
      // An answer from the source of tokens says nothing of the service's limits.
      const heedHead = ({ status, headers }: AxiosResponse) => {
        const plain = plainHeaders(headers);
        if (journey.credential) heed(status === 429, readRateLimit(plain, nowMs()));
        return plain;
      };
      try {
        const response = await send(config);
        const { status, data: body } = response as AxiosResponse<string>;
        journey.answer = { kind: 'answer', status, headers: heedHead(response), body };
        // axios would copy them into an object of its own.
        response.headers = noHeaders;
        return { response };
      } catch (error) {
        const shut = [error, (error as Error).cause].find((one) => one instanceof NotSent);
        if (shut) {
          journey.started = null;
          return { error: caused(shut as NotSent, config), held: true };
        }
        const wrapped = error instanceof AxiosError ? error : AxiosError.from(error as Error, undefined, config);
        if (wrapped.response) heedHead(wrapped.response);
        wrapped.config = config;
        return { error: wrapped, held: false };
      }
    };
    for (;;) {
      connections.look();
      const fault = await journey.credential?.ready(journey.request.gate);
      if (fault) throw caused(new NotSent(exchangeOfFault(fault)), config);
      const result = await rateLimiter.run(
        task,
        (r, windowMs) => {
          if (r === 'no proof' || ('held' in r && r.held)) return false;
          // A request that found no connection keeps the pace of short windows, and is nothing that the service counts
          // for a day.
          const isLong = windowMs > longestRestMs;
          return !('error' in r && isLong && neverReached.has(journey.exchangeOf(r.error).kind));
        },
        journey.request.priority,
        () => journey.request.gate.isShut?.() === true,
      );
      if (result === 'no proof') continue;
      if ('error' in result) throw result.error;
      return result.response;
    }
  };
}

/** A gate that can't be asked is shut. */
async function askGate(gate: Gate): Promise<Fact | null> {
  try {
    return await gate.ask();
  } catch (error) {
    return { code: 'gate_not_asked', message: outside(error instanceof Error ? error.message : String(error)) };
  }
}

function caused(cause: NotSent, config: InternalAxiosRequestConfig): AxiosError {
  const error = new AxiosError(cause.message, 'WAYBILL_NOT_SENT', config);
  error.cause = cause;
  return error;
}

/** The exchange of a request that had nothing to show. */
export function exchangeOfFault(fault: CredentialFault): NotSent['exchange'] {
  if (fault.kind === 'refused') return { kind: 'no_credential', reason: fault.reason };
  if (fault.kind === 'not_sent') return { kind: 'not_sent', reason: fault.reason };
  return { kind: 'unreachable', reason: fault.reason, tls: fault.tls };
}

/** Only what provably never left, and neither a certificate nor a silent address gets better within a second. */
function mayGoAgainAtOnce(error: AxiosError): boolean {
  if (error.cause instanceof NotSent || error.code === deadlineCode) return false;
  const exchange = exchangeOfError(error, error.config?.waybill?.neverConnected);
  return exchange.kind === 'unreachable' && !exchange.tls;
}
