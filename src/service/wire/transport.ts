import axios, {
  type AxiosAdapter,
  AxiosError,
  type AxiosInstance,
  type AxiosRequestConfig,
  type InternalAxiosRequestConfig,
} from 'axios';
import axiosRetry from 'axios-retry';
import type { ServiceSettings } from '../../config/sections/service.js';
import type { Credential, CredentialFault } from '../credential/credential.js';
import { readRateLimit } from '../rate-limit/rate-limit-headers.js';
import { longestRestMs, type RateLimiter, type Turn } from '../rate-limit/rate-limiter.js';
import type { Connections } from './connections.js';
import { deadlineCode, NotSent, readBody, watchedTransport } from './watched-transport.js';
import { exchangeOfError, type Gate, plainHeaders, type TimedExchange, type WireExchange } from './wire-exchange.js';

export interface TransportOptions {
  service: ServiceSettings;
  rateLimiter: RateLimiter;
  connections: Connections;
  /** Resends at once of what provably never left. */
  quickResends: number;
  nowMs: () => number;
  /** Durations go by it: the clock on the wall may be set while a request is under way. */
  monotonicMs: () => number;
  /** What puts a request on the wire and reads the head of its answer; absent: Node's own http. */
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

declare module 'axios' {
  interface InternalAxiosRequestConfig {
    waybillPriority?: number;
    waybillGate?: Gate;
    waybillStarted?: { atMs: number; monotonicMs: number };
    waybillNeverConnected?: boolean;
    /** What it shows; absent: a request for a token, which shows what it has to by itself. */
    waybillCredential?: Credential;
    waybillProof?: number;
  }
}

/** Nothing left for the service. */
const neverReached = new Set<WireExchange['kind']>(['unreachable', 'no_credential', 'not_sent']);

/** Before everything that waits for the token. */
const tokenPriority = 1_000_000;

/**
 * The one door to the wire: credential, slot, gate, send, bounded and timed body. The rate limiter sits inside the axios adapter, because
 * axios-retry re-enters the instance and its resends must wait for their slots as well.
 */
export class Transport {
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
    const common: AxiosRequestConfig = {
      adapter: pacedAdapter(options, () => this.#isClosed),
      // A redirect would turn a POST into a GET that reports 200, and an absolute URL would take the token elsewhere.
      maxRedirects: 0,
      proxy: false,
      maxContentLength: service.maxResponseBytes,
      maxBodyLength: 10_000_000,
      // Every status is judged by the verdict, and axios must not turn broken JSON into a string that looks like success.
      validateStatus: () => true,
      responseType: 'stream',
      transformRequest: [(data) => data],
      transformResponse: [(data) => data],
    };
    this.#client = axios.create({ ...common, baseURL: service.baseUrl, allowAbsoluteUrls: false });
    this.#elsewhere = axios.create(common);
    axiosRetry(this.#client, {
      retries: options.quickResends,
      // Each try has its own deadline inside the adapter.
      shouldResetTimeout: true,
      retryCondition: mayGoAgainAtOnce,
      retryDelay: (count) => 100 * 2 ** (count - 1) * (0.5 + Math.random()),
    });
  }

  /** Sends one request and says what came of it. Never throws for anything that the wire or the service does. */
  exchange(request: TransportRequest, credential: Credential): Promise<ProvenExchange> {
    return this.#exchange(this.#client, request, credential);
  }

  /** Asks for a token: past the gate and within the limit like every request, but not the service, and with nothing of ours to show. */
  async askForToken(
    { url, ...request }: { url: string; headers: Record<string, string>; body: string },
    gate: Gate,
  ): Promise<WireExchange> {
    const passage = { priority: tokenPriority, gate: gate.beforeIt ?? gate };
    const asked = { ...request, ...passage, method: 'POST', path: url } as const;
    return (await this.#exchange(this.#elsewhere, asked, null)).exchange;
  }

  async #exchange(
    client: AxiosInstance,
    request: TransportRequest,
    credential: Credential | null,
  ): Promise<ProvenExchange> {
    const config = {
      method: request.method,
      url: request.path,
      params: request.query,
      headers: request.headers ?? {},
      ...(request.body === undefined ? {} : { data: request.body }),
      waybillPriority: request.priority ?? 0,
      waybillGate: request.gate,
      ...(credential ? { waybillCredential: credential } : {}),
      ...(request.isProbe ? { 'axios-retry': { retries: 0 } } : {}),
    };
    let exchange: WireExchange;
    let sent: InternalAxiosRequestConfig | undefined;
    try {
      const response = await client.request(config);
      sent = response.config;
      exchange = {
        kind: 'answer',
        status: response.status,
        headers: plainHeaders(response.headers),
        body: response.data,
      };
    } catch (error) {
      if (!(error instanceof AxiosError)) throw error;
      sent = error.config;
      if (error.cause instanceof NotSent) exchange = error.cause.exchange;
      else exchange = exchangeOfError(error, sent?.waybillNeverConnected);
    }
    const started = sent?.waybillStarted;
    const startedAtMs = started?.atMs ?? null;
    const durationMs = started ? Math.round(this.#monotonicMs() - started.monotonicMs) : null;
    const requests = neverReached.has(exchange.kind) ? 0 : 1;
    return { exchange, startedAtMs, durationMs, requests, proof: sent?.waybillProof };
  }

  /** Drops the connections; what still waits for its turn is not sent any more. */
  close(): void {
    this.#isClosed = true;
    this.#connections.close();
  }
}

function pacedAdapter(options: TransportOptions, isClosed: () => boolean): AxiosAdapter {
  const { rateLimiter, service, nowMs, monotonicMs, connections } = options;
  const send = options.adapter ?? axios.getAdapter('http');
  return async (config) => {
    type Result = { error: AxiosError; held: boolean } | { response: Awaited<ReturnType<AxiosAdapter>> } | 'no proof';
    const task = async ({ notNow, heed }: Turn): Promise<Result> => {
      const shut = isClosed() ? 'the client is closed' : (notNow ?? (await askGate(config)));
      if (shut !== null) return { error: caused(new NotSent({ kind: 'not_sent', reason: shut }), config), held: true };
      if (config.waybillCredential) {
        const proof = config.waybillCredential.proof();
        // It ran out, or was refused, while this one waited for its turn.
        if (proof === null) return 'no proof';
        config.headers.set(proof.headers);
        config.waybillProof = proof.version;
      }
      config.waybillStarted = { atMs: nowMs(), monotonicMs: monotonicMs() };
      config.waybillNeverConnected = false;
      // axios' own timeout is no deadline: a trickled body outlives it. The signal covers connect, headers and body.
      // Not AbortSignal.timeout: its timer would outlive the request and hold it in memory until the deadline.
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), Math.ceil(service.deadlineSeconds * 1000));
      try {
        const { agents, isTunnelled } = connections;
        const transport = watchedTransport(config, isTunnelled, deadline.signal);
        const way = { httpAgent: agents.http, httpsAgent: agents.https, transport };
        const response = await send({ ...config, ...way, signal: deadline.signal });
        const headers = plainHeaders(response.headers);
        // What is said where tokens come from says nothing of the service's limits.
        if (config.waybillCredential) heed(response.status === 429, readRateLimit(headers, nowMs()));
        response.data = await readBody(response.data, service.maxResponseBytes, deadline.signal, response);
        response.config = config;
        return { response };
      } catch (error) {
        const shut = [error, (error as Error).cause].find((one) => one instanceof NotSent);
        if (shut) {
          delete config.waybillStarted;
          return { error: caused(shut as NotSent, config), held: true };
        }
        const wrapped = error instanceof AxiosError ? error : AxiosError.from(error as Error, undefined, config);
        wrapped.config = config;
        return { error: wrapped, held: false };
      } finally {
        clearTimeout(timer);
      }
    };
    for (;;) {
      connections.look();
      const fault = await config.waybillCredential?.ready(config.waybillGate ?? (async () => null));
      if (fault) throw caused(new NotSent(exchangeOfFault(fault)), config);
      const result = await rateLimiter.run(
        task,
        (r, windowMs) => {
          if (r === 'no proof' || ('held' in r && r.held)) return false;
          // What found no connection keeps the pace of short windows, and is nothing that the service counts for a day.
          const isLong = windowMs > longestRestMs;
          return !(
            'error' in r &&
            isLong &&
            neverReached.has(exchangeOfError(r.error, config.waybillNeverConnected).kind)
          );
        },
        config.waybillPriority ?? 0,
        () => config.waybillGate?.isShut?.() === true,
      );
      if (result === 'no proof') continue;
      if ('error' in result) throw result.error;
      return result.response;
    }
  };
}

/** A gate that can't be asked is shut. */
async function askGate(config: InternalAxiosRequestConfig): Promise<string | null> {
  try {
    return (await config.waybillGate?.()) ?? null;
  } catch (error) {
    return `could not ask whether it may go: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function caused(cause: NotSent, config: InternalAxiosRequestConfig): AxiosError {
  const error = new AxiosError(cause.message, 'WAYBILL_NOT_SENT', config);
  error.cause = cause;
  return error;
}

/** What a request came to that had nothing to show. */
export function exchangeOfFault(fault: CredentialFault): NotSent['exchange'] {
  if (fault.kind === 'refused') return { kind: 'no_credential', reason: fault.reason };
  if (fault.kind === 'not_sent') return { kind: 'not_sent', reason: fault.reason };
  return { kind: 'unreachable', reason: fault.reason, tls: fault.tls };
}

/** Only what provably never left, and neither a certificate nor a silent address gets better within a second. */
function mayGoAgainAtOnce(error: AxiosError): boolean {
  if (error.cause instanceof NotSent || error.code === deadlineCode) return false;
  const exchange = exchangeOfError(error, error.config?.waybillNeverConnected);
  return exchange.kind === 'unreachable' && !exchange.tls;
}
