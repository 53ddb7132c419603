import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Fault } from './fault-plan.js';
import type { AnswerPlaces, ErrorShape } from './options.js';

/** The service's answer, before it is put on the wire. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** Sent as JSON. Undefined together with `text`: an empty body. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  text?: string;
  /** The record that the request concerned, so that the ledger can say which requests touched it. */
  touched?: { requests: string[] };
}

/** Thrown by every check that a request fails; becomes the answer `{error:{code,message}}`. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** Further fields of the error. */
    readonly more: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = 'Refusal';
  }

  toAnswer(): Answer {
    return { status: this.status, body: { error: { code: this.code, message: this.message, ...this.more } } };
  }
}

/** The value, or a refusal with 404 where there is none. */
export function orNotFound<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new Refusal(404, 'not_found', message);
  return value;
}

/** The same answer with its error in another shape. An answer without `{error:{code,message}}` stays as it is. */
export function inShape(answer: Answer, shape: ErrorShape): Answer {
  const error = (answer.body as { error?: { code: string; message: string } } | undefined)?.error;
  if (shape === 'nested' || answer.status < 400 || typeof error?.code !== 'string') return answer;
  const { code, message, ...more } = error;
  const { body: _, ...rest } = answer;
  const typed = (type: string, content: { body: unknown } | { text: string }): Answer => ({
    ...rest,
    headers: { ...answer.headers, 'content-type': type },
    ...content,
  });
  switch (shape) {
    case 'problem': {
      const body = { type: 'about:blank', title: message, status: answer.status, detail: message, code, ...more };
      return typed('application/problem+json', { body });
    }
    case 'message':
      return { ...rest, body: { message, ...more } };
    case 'errors':
      return { ...rest, body: { errors: [{ code, message }], ...more } };
    case 'fault':
      return { ...rest, body: { fault: { no: code, text: message }, ...more } };
    case 'text':
      return typed('text/plain; charset=utf-8', { text: `${message}\r\n` });
    case 'html': {
      const escaped = message.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
      return typed('text/html; charset=utf-8', {
        text: `<!doctype html><html><head><style>p{}</style></head><body><h1>${answer.status}</h1><p>${escaped}</p></body></html>`,
      });
    }
  }
}

const kinds = { '/v1/orders': 'order', '/v1/customers': 'customer', '/v2/invoices': 'invoices' } as const;

/** The same success with the fields of its body in other places. */
export function inPlaces(answer: Answer, path: string, places: AnswerPlaces): Answer {
  const address = /^\/[^/?]*\/[^/?]*/.exec(path)?.[0] as keyof typeof kinds;
  const moved = places[kinds[address]];
  if (!moved || answer.status >= 300 || typeof answer.body !== 'object' || answer.body === null) return answer;
  const body: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(answer.body)) {
    const names = (moved[name] ?? name).split('.');
    const last = names.pop() as string;
    let at = body;
    for (const one of names) {
      at[one] ??= {};
      at = at[one] as Record<string, unknown>;
    }
    at[last] = value;
  }
  return { ...answer, body };
}

const page =
  '<!doctype html><html><head><title>Service</title></head><body><h1>Please come back later</h1></body></html>\n';

/** Applies a fault to the true answer. Faults of the connection leave it as it is; see `sendAnswer`. */
export function faultyAnswer(answer: Answer, fault: Fault): Answer {
  const { status, headers, body } = answer;
  switch (fault.kind) {
    case 'status':
      return statusAnswer(fault);
    case 'redirect':
      return { status: fault.status, headers: { location: fault.location } };
    case 'html':
      // A 204 has no room for a page.
      return {
        status: status === 204 ? 200 : status,
        headers: { 'content-type': 'text/html; charset=utf-8' },
        text: page,
      };
    case 'wrong-total': {
      const total = (body as { total?: unknown } | null | undefined)?.total;
      return typeof total === 'number' ? { ...answer, body: { ...(body as object), total: total + fault.by } } : answer;
    }
    case 'empty-body':
      return { status };
    case 'invalid-json-shape':
      return { status, body: fault.body };
    case 'truncated-json': {
      const json = JSON.stringify(body ?? {});
      const typed = { ...headers, 'content-type': 'application/json; charset=utf-8' };
      return { status, headers: typed, text: json.slice(0, json.length >>> 1) };
    }
    default:
      return answer;
  }
}

function statusAnswer({ status, headers: given, body }: Extract<Fault, { kind: 'status' }>): Answer {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
  if (typeof body === 'string') {
    return { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers }, text: body };
  }
  if (body !== undefined || status < 400) return { status, headers, body };
  return { ...new Refusal(status, 'fault', 'A fault was asked for').toAnswer(), headers };
}

/**
 * Puts an answer on the wire, or breaks the connection as the fault says.
 *
 * @returns the status that was sent, null for none
 */
export function sendAnswer(
  response: ServerResponse,
  requestId: string,
  answer: Answer,
  fault: Fault | null = null,
): number | null {
  // A client that has gone can't be told anything.
  if (fault?.kind === 'hang' || response.destroyed) return null;
  if (fault?.kind === 'reset-before' || fault?.kind === 'reset-after-commit') {
    response.socket?.resetAndDestroy();
    return null;
  }
  const headers: Record<string, string> = { 'x-request-id': requestId };
  const text = answer.text ?? (answer.body === undefined ? '' : JSON.stringify(answer.body));
  if (answer.text === undefined && text !== '') headers['content-type'] = 'application/json; charset=utf-8';
  Object.assign(headers, answer.headers);
  const payload = Buffer.from(text, 'utf8');
  // An answer without a body is complete with its head, so it can only be cut off before that.
  if (fault?.kind === 'cut-off' && payload.length === 0) {
    response.socket?.destroy();
    return null;
  }

  const isChunked = fault?.kind === 'oversize-body' || (fault?.kind === 'cut-off' && fault.chunked);
  if (!isChunked && answer.status !== 204) headers['content-length'] ??= String(payload.length);
  response.writeHead(answer.status, headers);

  if (fault?.kind === 'trickle') stream(response, slowly(payload, fault.intervalMs));
  else if (fault?.kind === 'oversize-body') stream(response, padded(answer.body, fault.bytes));
  else if (fault?.kind === 'cut-off') {
    const { socket } = response;
    response.flushHeaders();
    // Destroyed only when the half has left, or the client would see a reset instead of a truncated answer.
    response.write(payload.subarray(0, payload.length >>> 1), () => socket?.destroy());
  } else response.end(payload);
  return answer.status;
}

function stream(response: ServerResponse, chunks: Iterable<Buffer> | AsyncIterable<Buffer>): void {
  response.flushHeaders();
  pipeline(Readable.from(chunks, { objectMode: false }), response, () => {
    // A client that hangs up in the middle is what these faults are for.
  });
}

async function* slowly(payload: Buffer, intervalMs: number): AsyncIterable<Buffer> {
  for (let at = 0; at < payload.length; at++) {
    yield payload.subarray(at, at + 1);
    // At least a millisecond: without a pause the bytes would leave together.
    await delay(Math.max(1, intervalMs), undefined, { ref: false });
  }
}

const chunkBytes = 64 * 1024;

function* padded(body: unknown, bytes: number): Iterable<Buffer> {
  const fields = body !== null && typeof body === 'object' && !Array.isArray(body) ? body : {};
  const start = JSON.stringify({ ...fields, padding: '' });
  yield Buffer.from(start.slice(0, -2), 'utf8');
  const chunk = Buffer.alloc(chunkBytes, 'x');
  for (let left = bytes; left > 0; left -= chunkBytes) yield chunk.subarray(0, Math.min(left, chunkBytes));
  yield Buffer.from('"}', 'utf8');
}
