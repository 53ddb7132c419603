import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { type AxiosAdapter, AxiosError, type AxiosResponse, type InternalAxiosRequestConfig } from 'axios';
import type { Dispatcher } from 'undici';
import { deadlineCode, encodingCode, NotSent } from './wire-exchange.js';

/**
 * The axios adapter over undici: puts a request on a kept connection and reads its answer, bounded and within the deadline. An
 * answer that breaks off keeps its status (`response` on the error).
 */
export function undiciAdapter(
  connections: { take(origin: string): Place },
  { deadlineSeconds, maxResponseBytes }: { deadlineSeconds: number; maxResponseBytes: number },
): AxiosAdapter {
  const deadlines = new Deadlines(deadlineSeconds * 1000);
  const addressOf = addresses();
  return (config) =>
    new Promise((resolve, reject) => {
      const { waybill } = config;
      refuseIfShut(config);
      const url = addressOf(config);
      const body: unknown = config.data;
      const sent = {
        origin: url.origin,
        path: url.pathname + url.search,
        method: (config.method ?? 'get').toUpperCase() as Dispatcher.HttpMethod,
        headers: config.headers as Record<string, string>,
        body: typeof body === 'string' ? body : null,
      };
      if (waybill) waybill.neverConnected = true;
      const place = connections.take(url.origin);
      place.dispatcher.dispatch(sent, new Answer(config, place, deadlines, maxResponseBytes, { resolve, reject }));
    });
}

/** @throws NotSent once another process may have the right to send */
function refuseIfShut({ waybill }: InternalAxiosRequestConfig): void {
  if (waybill?.request.gate.stillOpen?.() === false)
    throw new NotSent({ kind: 'not_sent', reason: { code: 'right_to_send_lost' } });
}

/** One request on a connection, and what comes back. */
class Answer implements Dispatcher.DispatchHandler, Expiring {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #head: AxiosResponse<string> | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  index = 0;
  endsAtMs = 0;

  constructor(
    private readonly config: InternalAxiosRequestConfig,
    private readonly connection: Place,
    private readonly deadlines: Deadlines,
    private readonly maxBytes: number,
    private readonly promise: { resolve(response: AxiosResponse<string>): void; reject(error: Error): void },
  ) {
    deadlines.set(this);
  }

  /**
   * The connection is there and the bytes leave right after this, in the same turn: the last look whether they may. Before this
   * nothing can have left. Throwing keeps the request from the wire.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { waybill } = this.config;
    if (this.#isOver) throw new Error('given up');
    refuseIfShut(this.config);
    if (waybill?.request.gate.leaves?.() === false)
      throw new NotSent({ kind: 'not_sent', reason: { code: 'leave_not_noted' } });
    this.#controller = controller;
    if (waybill) waybill.neverConnected = false;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: object): void {
    // An interim answer: another one follows.
    if (status < 200) return;
    this.#head = {
      status,
      statusText: '',
      headers: headers as AxiosResponse['headers'],
      config: this.config,
      data: '',
    };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.maxBytes) controller.abort(tooLarge(this.maxBytes));
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.#end(true)) return;
    const body = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    const head = this.#head as AxiosResponse<string>;
    const encoding = String(head.headers['content-encoding'] ?? '').toLowerCase();
    const unpack = unpackers.get(encoding);
    if (!unpack || body.length === 0) {
      head.data = body.toString('utf8');
      this.promise.resolve(head);
      return;
    }
    unpack(body, { maxOutputLength: this.maxBytes }).then(
      (unpacked) => this.promise.resolve({ ...head, data: unpacked.toString('utf8') }),
      (error: NodeJS.ErrnoException) => this.#fail(whyNotUnpacked(error, encoding, this.maxBytes)),
    );
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#end(false)) this.#fail(error);
  }

  expire(): void {
    const error = new AxiosError('the deadline passed', deadlineCode);
    // Without a connection there is nothing to abort yet, and what comes later is not let out.
    if (this.#controller) this.#controller.abort(error);
    else this.onResponseError(undefined as never, error);
  }

  /** @returns whether it was not over before */
  #end(isWhole: boolean): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.deadlines.clear(this);
    this.connection.leave(isWhole);
    return true;
  }

  #fail(cause: Error): void {
    const error = AxiosError.from(cause, (cause as { code?: string }).code, this.config);
    if (this.#head) error.response = this.#head;
    this.promise.reject(error);
  }
}

type Unpack = (body: Buffer, options: zlib.ZlibOptions & zlib.BrotliOptions) => Promise<Buffer>;
const [gunzip, unbrotli] = [promisify(zlib.unzip), promisify(zlib.brotliDecompress)] as [Unpack, Unpack];
/** The decoder of each Content-Encoding. A body called `deflate` comes with the header of zlib, or without one. */
const unpackers: ReadonlyMap<string, Unpack> = new Map([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['br', unbrotli],
  ['deflate', (body, options) => gunzip(body, options).catch(() => promisify(zlib.inflateRaw)(body, options))],
]);

function tooLarge(maxBytes: number): AxiosError {
  return new AxiosError(`the body is larger than ${maxBytes} bytes`, 'WAYBILL_BODY_TOO_LARGE');
}

/** The reason that a whole body can't be unpacked. Only data of another form show that the header is wrong. */
function whyNotUnpacked(error: NodeJS.ErrnoException, encoding: string, maxBytes: number): Error {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') return tooLarge(maxBytes);
  return error.code === 'Z_DATA_ERROR' ? new AxiosError(encoding, encodingCode) : error;
}

/** A path never leaves the base address, whatever it begins with. Most creates go where the one before went. */
function addresses(): (config: InternalAxiosRequestConfig) => URL {
  let last: { baseURL: string | undefined; url: string; address: URL } | null = null;
  return ({ baseURL, url = '', params }) => {
    if (params === undefined && last?.url === url && last.baseURL === baseURL) return last.address;
    const address = new URL(baseURL === undefined ? url : `${baseURL.replace(/\/+$/, '')}/${url.replace(/^\/+/, '')}`);
    for (const [name, value] of Object.entries((params ?? {}) as Record<string, string>))
      address.searchParams.append(name, value);
    if (params === undefined) last = { baseURL, url, address };
    return address;
  };
}

/** A place among the connections, for one request. */
export interface Place {
  dispatcher: Dispatcher;
  /** Ends the request's use of it. @param isWhole whether its answer came to its end: only then is the connection kept */
  leave(isWhole: boolean): void;
}

/**
 * Connections of one make, to each origin as many as there are requests under way. The one that came free last is taken first, so
 * that those which are not needed any more fall idle and are closed.
 */
export class Pool {
  readonly #free = new Map<string, Dispatcher[]>();
  readonly open = new Set<Dispatcher>();
  #isRetired = false;

  constructor(private readonly make: (origin: string) => Dispatcher) {}

  take(origin: string): Place {
    const free = this.#free.get(origin) ?? [];
    this.#free.set(origin, free);
    const dispatcher = free.pop() ?? this.make(origin);
    this.open.add(dispatcher);
    const leave = (isWhole: boolean) => {
      if (isWhole && !this.#isRetired) free.push(dispatcher);
      else this.#close(dispatcher);
    };
    return { dispatcher, leave };
  }

  /** Requests under way end on the connections that they have. */
  retire(): void {
    this.#isRetired = true;
    for (const free of this.#free.values()) for (const dispatcher of free.splice(0)) this.#close(dispatcher);
  }

  #close(dispatcher: Dispatcher): void {
    this.open.delete(dispatcher);
    dispatcher.destroy().catch(() => undefined);
  }
}

interface Expiring {
  /** Its index among those that are under way. */
  index: number;
  endsAtMs: number;
  /** Called when the deadline has passed, unless it is cleared before. */
  expire(): void;
}

/**
 * Deadlines of many requests, all as long as each other, on one timer: most are over long before it. In a plain list, because a Map
 * reallocates its table as entries come and go, and the old table keeps them alive until a full collection, with their answers: half
 * of all that outlived a collection of new objects.
 */
class Deadlines {
  readonly #underWay: Expiring[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly ms: number) {}

  set(one: Expiring): void {
    one.endsAtMs = performance.now() + this.ms;
    one.index = this.#underWay.push(one) - 1;
    if (this.#timer === undefined) this.#arm(this.ms);
  }

  /** The last one takes its place. */
  clear(one: Expiring): void {
    const { index } = one;
    if (this.#underWay[index] !== one) return;
    const last = this.#underWay.pop() as Expiring;
    if (last === one) return;
    this.#underWay[index] = last;
    last.index = index;
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    // A request under way keeps the process alive by its socket; deadlines that are over must not.
    this.#timer = setTimeout(() => this.#look(), Math.ceil(ms)).unref();
  }

  #look(): void {
    this.#timer = undefined;
    const now = performance.now();
    const all = this.#underWay.splice(0);
    // A timer counts from the beginning of its turn of the event loop, so that it may be early.
    for (const one of all) if (one.endsAtMs > now) one.index = this.#underWay.push(one) - 1;
    for (const one of all) if (one.endsAtMs <= now) one.expire();
    const ends = this.#underWay.map(({ endsAtMs }) => endsAtMs);
    if (ends.length > 0) this.#arm(Math.min(...ends) - now);
  }
}
