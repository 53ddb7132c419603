import type { Socket } from 'node:net';
import type { AxiosError } from 'axios';
import type { buildConnector } from 'undici';
import type { Fact } from '../../model/facts/fact.js';
import type { ServiceFacts } from '../../model/facts/service.js';
import { outside } from '../../model/outside.js';

/** The outcome of one request, before it is judged. */
export type WireExchange =
  | {
      kind: 'answer';
      status: number;
      /** Lower-case names. */
      headers: Readonly<Record<string, string>>;
      body: string;
      /** The body without our credentials, for a reason that quotes it; absent: `body` is without them already. */
      quotable?: () => string;
    }
  /** Status and headers came, the body broke off. */
  | { kind: 'cut_off'; status: number; headers: Readonly<Record<string, string>>; reason: Fact }
  /** The deadline passed after the request may have left. */
  | { kind: 'timeout'; reason: Fact }
  /** The connection broke after the request may have left. */
  | { kind: 'broken'; reason: Fact }
  /** Provably nothing left: the connection was never made. */
  | { kind: 'unreachable'; reason: Fact; tls: boolean }
  /** The proxy, or the token endpoint, does not know us: nothing left for the service. */
  | { kind: 'no_credential'; reason: Fact }
  /** We did not let it go. */
  | { kind: 'not_sent'; reason: Fact };

/** Thrown inside the adapter for a request that was never sent, so that axios-retry leaves it alone. */
export class NotSent extends Error {
  constructor(readonly exchange: Exclude<WireExchange, { kind: 'answer' }>) {
    super(exchange.reason.code);
  }
}

/** The code of axios for a request that was given up, as at its deadline. */
export const deadlineCode = 'ERR_CANCELED';
/** The code of an answer whose body is not packed in the way that it says. */
export const encodingCode = 'WAYBILL_BODY_ENCODING';

/** One request's exchange with its times. */
export interface TimedExchange {
  exchange: WireExchange;
  /** Wall clock when it left the rate limiter, in milliseconds; null when it never did. */
  startedAtMs: number | null;
  durationMs: number | null;
  /** The number of its requests that may have reached the service. */
  requests: number;
  /** It was answered 401 before, and went again with another credential. */
  repeatedAfter401?: true;
}

/** Errors before the request could leave: no address, no listener. */
const unreachableCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);
/** No way there. A connection that was made may lose its way too, and the request may have left by then. */
const noRouteCodes = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN']);

/** Node looks at the service's certificate before it writes the request. */
const certificateCode = /^(ERR_TLS_CERT_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA)/;
/** These come with a failed handshake, but also later: an alert may arrive after the request has left. */
const tlsCode = /^(ERR_TLS_|ERR_SSL_|EPROTO)/;

/**
 * The proof of a failed request. In doubt is the safe answer: only errors known to come before the first byte are
 * called `unreachable`, because only then may the request go out again at once.
 * @param neverConnected whether the request was seen to wait for a connection that did not come about
 */
export function exchangeOfError(error: AxiosError, neverConnected = false): WireExchange {
  const cause = error.cause as (Error & { code?: string; syscall?: string }) | undefined;
  const code = error.code ?? cause?.code ?? '';
  const said = { errno: code, message: outside(error.message || code || 'unknown error', maxMessage) };
  if (error.response) {
    const { status, headers } = error.response;
    const because = whyCutOff(error, code);
    const message = because === 'broken' || because === 'encoding' ? said.message : null;
    return {
      kind: 'cut_off',
      status,
      headers: plainHeaders(headers),
      reason: { code: 'answer_cut_off', status, because, message },
    };
  }
  const unreachable = (reason: Fact, tls = false): WireExchange => ({ kind: 'unreachable', reason, tls });
  // Before the tunnel was open.
  if (code === 'WAYBILL_PROXY_REFUSAL') {
    const { status = 0 } = (error.cause ?? error) as { status?: number };
    const reason = { code: 'proxy_refused', status } as const;
    return status === 407 ? { kind: 'no_credential', reason } : unreachable(reason);
  }
  if (certificateCode.test(code) || (neverConnected && tlsCode.test(code)))
    return unreachable({ code: 'no_secure_connection', ...said }, true);
  const wasConnecting = neverConnected || cause?.syscall === 'connect';
  if (neverConnected && code === deadlineCode) return unreachable({ code: 'connection_timed_out' });
  const isUnreachable =
    unreachableCodes.has(code) || (wasConnecting && (noRouteCodes.has(code) || code === 'ETIMEDOUT'));
  if (isUnreachable || neverConnected) return unreachable({ code: 'no_connection', ...said });
  if (code === deadlineCode || code === 'ECONNABORTED' || code === 'ETIMEDOUT')
    return { kind: 'timeout', reason: { code: 'timed_out' } };
  return { kind: 'broken', reason: { code: 'connection_broken', ...said } };
}

/** Longest words of a driver. They never hold the request, whose headers hold the token. */
const maxMessage = 200;

function whyCutOff({ message }: AxiosError, code: string): ServiceFacts['answer_cut_off']['because'] {
  if (code === deadlineCode) return 'deadline';
  if (code === encodingCode) return 'encoding';
  return code === 'WAYBILL_BODY_TOO_LARGE' || message.startsWith('maxContentLength') ? 'too_large' : 'broken';
}

/** If a header may stand once only, the first one counts. */
const singleHeaders = new Set(['content-length', 'content-type', 'date', 'etag', 'location', 'retry-after', 'server']);

/** Headers with lower-case names and text values. */
export function plainHeaders(headers: unknown): Record<string, string> {
  const plain: Record<string, string> = {};
  for (const name in headers as Record<string, unknown>) {
    const value = (headers as Record<string, unknown>)[name];
    if (value === undefined || value === null) continue;
    const key = name.toLowerCase();
    if (!Array.isArray(value)) plain[key] = String(value);
    else plain[key] = singleHeaders.has(key) ? String(value[0]) : value.join(', ');
  }
  return plain;
}

/** The gates that a request passes on its way. */
export interface Gate {
  /** Asked when the slot is taken, right before the first byte: null lets it go, a fact says why not. */
  ask(): Promise<Fact | null>;
  /**
   * Asked once more, without waiting, in the very moment in which the bytes leave: a process that was frozen between the
   * gate and the wire must not send when it wakes up and another process has its place.
   */
  stillOpen?(): boolean;
  /** Told that the bytes leave right after this. @returns whether they may: what leaves has to be noted first */
  leaves?(): boolean;
  /** True if it has been shut for good, so that waiting for a slot is no use. */
  isShut?(): boolean;
  /** The gate of a request for a token, which goes before the request that needs it. Absent: the same. */
  readonly beforeIt?: Gate;
}

/** Not 101: after it the connection would speak another protocol, which undici refuses. */
const status = 'HTTP/1\\.\\d 1(?!01)\\d\\d';
const beginning = new RegExp(`^${status}`);
const whole = new RegExp(`^${status}[^\\r\\n]*\\r?\\n(?:[^\\r\\n]+\\r?\\n)*\\r?\\n`);
const protocol = 'HTTP/1.';
const statusBytes = 'HTTP/1.1 100'.length;
const digitOne = '1'.charCodeAt(0);
/** A longer one is handed on as it is, and undici refuses it. */
const maxHeadBytes = 16_384;

/**
 * Connections on which interim answers are passed over. A service or gateway may send them unasked (RFC 9110, 15.2), but undici
 * breaks the connection at `100 Continue`, after the request has left. A connection carries one request at a time, so they can
 * only stand first in what comes after a write.
 */
export function passingInterimAnswers(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...made) => {
      if (made[1]) passInterimAnswers(made[1]);
      callback(...made);
    });
}

function passInterimAnswers(socket: Socket): void {
  const [read, write] = [socket.read.bind(socket), socket.write.bind(socket)];
  let isBeginning = true;
  let kept = '';
  socket.write = ((...written: Parameters<Socket['write']>) => {
    isBeginning = true;
    return write(...written);
  }) as Socket['write'];
  socket.read = () => {
    for (;;) {
      const chunk: Buffer | null = read();
      if (!isBeginning || chunk === null) return chunk;
      // Almost all answers are final, and come in one piece.
      isBeginning = kept !== '' || chunk.length < statusBytes || chunk[statusBytes - 3] === digitOne;
      if (!isBeginning) return chunk;
      kept += chunk.toString('latin1');
      for (let found = whole.exec(kept); found; found = whole.exec(kept)) kept = kept.slice(found[0].length);
      const mayBegin =
        kept.length < statusBytes ? protocol.startsWith(kept.slice(0, protocol.length)) : beginning.test(kept);
      if (mayBegin && kept.length <= maxHeadBytes) continue;
      const rest = Buffer.from(kept, 'latin1');
      isBeginning = false;
      kept = '';
      return rest;
    }
  };
}
