import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { TLSSocket } from 'node:tls';
import axios, { type AxiosAdapter, AxiosError, type AxiosInstance, type InternalAxiosRequestConfig } from 'axios';
import axiosRetry from 'axios-retry';
import type { ServiceSettings } from '../config/service-settings.js';
import { concurrencyOf } from './concurrency-of.js';
import type { Exchange, TimedExchange } from './exchange.js';
import { exchangeOfError, plainHeaders } from './exchange-of-error.js';
import type { Pacer, Turn } from './pacer.js';
import { readRateLimit } from './rate-limit-headers.js';

export interface TransportOptions {
  service: ServiceSettings;
  pacer: Pacer;
  /** Resends at once of what provably never left. */
  quickResends: number;
  nowMs: () => number;
  /** What puts a request on the wire and reads the head of its answer; absent: Node's own http. */
  adapter?: AxiosAdapter;
}

/** Asked when the slot is taken, right before the first byte: null lets it go, a text says why not. */
export type Gate = (() => Promise<string | null>) & {
  /**
   * Asked once more, without waiting, in the very moment in which the bytes leave: a process that was frozen between the
   * gate and the wire must not send when it wakes up and somebody else has its place.
   */
  stillOpen?: () => boolean;
  /** Whether it has been shut for good, so that waiting for a slot is no use. */
  isShut?: () => boolean;
};

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

declare module 'axios' {
  interface InternalAxiosRequestConfig {
    waybillPriority?: number;
    waybillGate?: Gate;
    waybillStartedAtMs?: number;
    waybillNeverConnected?: boolean;
  }
}

/** Thrown inside the adapter when the gate is shut, so that axios-retry leaves it alone. */
class NotSent extends Error {}

const shutMeanwhile = 'the right to send was lost before the bytes could leave';

const deadlineCode = 'ERR_CANCELED';

/**
 * The one door to the wire: slot, gate, send, bounded and timed body. The pacer sits inside the axios adapter, because
 * axios-retry re-enters the instance and its resends must be paced as well.
 */
export class Transport {
  readonly #client: AxiosInstance;
  readonly #agents: { http: http.Agent; https: https.Agent };
  readonly #nowMs: () => number;
  #isClosed = false;

  constructor(options: TransportOptions) {
    const { service } = options;
    const agentOptions = { keepAlive: true, maxSockets: concurrencyOf(service) };
    this.#agents = { http: new http.Agent(agentOptions), https: new https.Agent(agentOptions) };
    this.#nowMs = options.nowMs;
    this.#client = axios.create({
      baseURL: service.baseUrl,
      adapter: pacedAdapter(options, () => this.#isClosed),
      httpAgent: this.#agents.http,
      httpsAgent: this.#agents.https,
      // A redirect would turn a POST into a GET that reports 200, and an absolute URL would take the token elsewhere.
      maxRedirects: 0,
      allowAbsoluteUrls: false,
      proxy: false,
      maxContentLength: service.maxResponseBytes,
      maxBodyLength: 10_000_000,
      // Every status is judged by the verdict, and axios must not turn broken JSON into a string that looks like success.
      validateStatus: () => true,
      responseType: 'stream',
      transformRequest: [(data) => data],
      transformResponse: [(data) => data],
    });
    axiosRetry(this.#client, {
      retries: options.quickResends,
      // Each try has its own deadline inside the adapter.
      shouldResetTimeout: true,
      retryCondition: mayGoAgainAtOnce,
      retryDelay: (count) => 100 * 2 ** (count - 1) * (0.5 + Math.random()),
    });
  }

  /** Sends one request and says what came of it. Never throws for anything that the wire or the service does. */
  async exchange(request: TransportRequest): Promise<TimedExchange> {
    const config = {
      method: request.method,
      url: request.path,
      params: request.query,
      headers: request.headers ?? {},
      ...(request.body === undefined ? {} : { data: request.body }),
      waybillPriority: request.priority ?? 0,
      waybillGate: request.gate,
      ...(request.isProbe ? { 'axios-retry': { retries: 0 } } : {}),
    };
    let exchange: Exchange;
    let sent: InternalAxiosRequestConfig | undefined;
    try {
      const response = await this.#client.request(config);
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
      exchange =
        error.cause instanceof NotSent
          ? { kind: 'not_sent', reason: error.cause.message }
          : exchangeOfError(error, sent?.waybillNeverConnected);
    }
    const startedAtMs = sent?.waybillStartedAtMs ?? null;
    return { exchange, startedAtMs, durationMs: startedAtMs === null ? null : this.#nowMs() - startedAtMs };
  }

  /** Drops the connections; what still waits for its turn is not sent any more. */
  close(): void {
    this.#isClosed = true;
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }
}

function pacedAdapter(options: TransportOptions, isClosed: () => boolean): AxiosAdapter {
  const { pacer, service, nowMs } = options;
  const send = options.adapter ?? axios.getAdapter('http');
  return async (config) => {
    type Result = { error: AxiosError; held: boolean } | { response: Awaited<ReturnType<AxiosAdapter>> };
    const task = async ({ notNow, heed }: Turn): Promise<Result> => {
      const shut = isClosed() ? 'the client is closed' : (notNow ?? (await askGate(config)));
      if (shut !== null) return { error: notSent(shut, config), held: true };
      config.waybillStartedAtMs = nowMs();
      config.waybillNeverConnected = false;
      // axios' own timeout is no deadline: a trickled body outlives it. The signal covers connect, headers and body.
      // Not AbortSignal.timeout: its timer would outlive the request and hold it in memory until the deadline.
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), Math.ceil(service.deadlineSeconds * 1000));
      try {
        const response = await send({ ...config, signal: deadline.signal, transport: watchedTransport(config) });
        const headers = plainHeaders(response.headers);
        heed(response.status === 429, readRateLimit(headers, nowMs()));
        response.data = await readBody(response.data, service.maxResponseBytes, deadline.signal, response);
        response.config = config;
        return { response };
      } catch (error) {
        const shut = [error, (error as Error).cause].find((one) => one instanceof NotSent);
        if (shut) {
          delete config.waybillStartedAtMs;
          return { error: notSent((shut as NotSent).message, config), held: true };
        }
        const wrapped = error instanceof AxiosError ? error : AxiosError.from(error as Error, undefined, config);
        wrapped.config = config;
        return { error: wrapped, held: false };
      } finally {
        clearTimeout(timer);
      }
    };
    const result = await pacer.run(
      task,
      (r) => !('held' in r && r.held),
      config.waybillPriority ?? 0,
      () => config.waybillGate?.isShut?.() === true,
    );
    if ('error' in result) throw result.error;
    return result.response;
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

/**
 * Node's own request, and a note of whether its connection came about. It is the only proof that nothing left when a
 * deadline passes or a connection breaks: a socket writes nothing before `connect`, and with TLS before `secureConnect`.
 */
function watchedTransport(config: InternalAxiosRequestConfig) {
  return {
    request(options: RequestOptions, onResponse: (response: IncomingMessage) => void): ClientRequest {
      const isSecure = options.protocol === 'https:';
      const isShut = () => config.waybillGate?.stillOpen?.() === false;
      if (isShut()) throw new NotSent(shutMeanwhile);
      const request = (isSecure ? https : http).request(options, onResponse);
      request.once('socket', (socket) => {
        // A socket of another make (a mock's, a tunnel's) may not keep Node's promises: it proves nothing.
        const isNodes = socket.constructor === Socket || socket.constructor === TLSSocket;
        if (!isNodes || !socket.connecting) return;
        config.waybillNeverConnected = true;
        socket.once(isSecure ? 'secureConnect' : 'connect', () => {
          // Still before the first byte: Node writes what waits for the connection after this.
          if (isShut()) socket.destroy(new NotSent(shutMeanwhile));
          else config.waybillNeverConnected = false;
        });
      });
      return request;
    },
  };
}

function notSent(reason: string, config: InternalAxiosRequestConfig): AxiosError {
  const error = new AxiosError(reason, 'WAYBILL_NOT_SENT', config);
  error.cause = new NotSent(reason);
  return error;
}

/** Reads a body as UTF-8 text, bounded and within the deadline. What breaks off keeps its status (`response` on the error). */
async function readBody(
  stream: Readable,
  maxBytes: number,
  deadline: AbortSignal,
  response: Awaited<ReturnType<AxiosAdapter>>,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const abort = () => stream.destroy(new AxiosError('the deadline passed while the body was coming in', deadlineCode));
  deadline.addEventListener('abort', abort, { once: true });
  if (deadline.aborted) abort();
  try {
    for await (const chunk of stream) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw new AxiosError(`the body is larger than ${maxBytes} bytes`, 'WAYBILL_BODY_TOO_LARGE');
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks).toString('utf8');
  } catch (cause) {
    const error = AxiosError.from(cause as Error, (cause as { code?: string }).code, response.config);
    error.response = response;
    throw error;
  } finally {
    deadline.removeEventListener('abort', abort);
    stream.destroy();
  }
}

/** Only what provably never left, and neither a certificate nor a silent address gets better within a second. */
function mayGoAgainAtOnce(error: AxiosError): boolean {
  if (error.cause instanceof NotSent || error.code === deadlineCode) return false;
  const exchange = exchangeOfError(error, error.config?.waybillNeverConnected);
  return exchange.kind === 'unreachable' && !exchange.tls;
}
