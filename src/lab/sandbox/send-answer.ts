import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { type Answer, Refusal } from './answer.js';
import type { Fault } from './fault-plan.js';

const page =
  '<!doctype html><html><head><title>Service</title></head><body><h1>Please come back later</h1></body></html>\n';

/** What a fault makes of the true answer. Faults of the connection leave it as it is; see `sendAnswer`. */
export function faultyAnswer(answer: Answer, fault: Fault): Answer {
  switch (fault.kind) {
    case 'status':
      return statusAnswer(fault);
    case 'redirect':
      return { status: fault.status, headers: { location: fault.location } };
    case 'html':
      // A 204 has no room for a page.
      return {
        status: answer.status === 204 ? 200 : answer.status,
        headers: { 'content-type': 'text/html; charset=utf-8' },
        text: page,
      };
    case 'wrong-total':
      return { ...answer, body: withWrongTotal(answer.body, fault.by) };
    case 'empty-body':
      return { status: answer.status };
    case 'invalid-json-shape':
      return { status: answer.status, body: fault.body };
    case 'truncated-json': {
      const json = JSON.stringify(answer.body ?? {});
      const headers = { ...answer.headers, 'content-type': 'application/json; charset=utf-8' };
      return { status: answer.status, headers, text: json.slice(0, json.length >>> 1) };
    }
    default:
      return answer;
  }
}

function statusAnswer({ status, headers, body }: Extract<Fault, { kind: 'status' }>): Answer {
  if (typeof body === 'string') {
    return { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...lowerCased(headers) }, text: body };
  }
  const usual = status < 400 ? undefined : new Refusal(status, 'fault', 'A fault was asked for').toAnswer().body;
  return { status, headers: lowerCased(headers), body: body === undefined ? usual : body };
}

function withWrongTotal(body: unknown, by: number): unknown {
  if (body === null || typeof body !== 'object' || !('total' in body) || typeof body.total !== 'number') return body;
  return { ...body, total: body.total + by };
}

function lowerCased(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

const chunkBytes = 64 * 1024;

/** Puts an answer on the wire, or ill-treats the connection as the fault says. Returns the status that was sent, null for none. */
export function sendAnswer(
  response: ServerResponse,
  requestId: string,
  answer: Answer,
  fault: Fault | null,
  timers: Timers,
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
  // An answer without a body is whole with its first line: only before that it can be cut off.
  if (fault?.kind === 'cut-off' && payload.length === 0) {
    response.socket?.destroy();
    return null;
  }

  const isChunked = fault?.kind === 'oversize-body' || (fault?.kind === 'cut-off' && fault.chunked);
  if (!isChunked && answer.status !== 204) headers['content-length'] ??= String(payload.length);
  response.writeHead(answer.status, headers);

  if (fault?.kind === 'trickle') trickle(response, payload, fault.intervalMs, timers);
  else if (fault?.kind === 'cut-off') cutOff(response, payload);
  else if (fault?.kind === 'oversize-body') pour(response, answer.body, fault.bytes);
  else response.end(payload);
  return answer.status;
}

function trickle(response: ServerResponse, payload: Buffer, intervalMs: number, timers: Timers): void {
  response.flushHeaders();
  const next = (at: number): void => {
    if (response.destroyed) return;
    if (at >= payload.length) {
      response.end();
      return;
    }
    response.write(payload.subarray(at, at + 1));
    // At least a millisecond: without a pause the bytes would leave together, and the stack would grow.
    timers.after(Math.max(1, intervalMs), () => next(at + 1));
  };
  next(0);
}

function cutOff(response: ServerResponse, payload: Buffer): void {
  const { socket } = response;
  response.flushHeaders();
  // Destroyed only when the half has left, or the client would see a reset instead of a truncated answer.
  response.write(payload.subarray(0, payload.length >>> 1), () => socket?.destroy());
}

function pour(response: ServerResponse, body: unknown, bytes: number): void {
  pipeline(Readable.from(padded(body, bytes), { objectMode: false }), response, () => {
    // A client that hangs up in the middle is what this fault is for.
  });
}

function* padded(body: unknown, bytes: number): Iterable<Buffer> {
  const fields = body !== null && typeof body === 'object' && !Array.isArray(body) ? body : {};
  const start = JSON.stringify({ ...fields, padding: '' });
  yield Buffer.from(start.slice(0, -2), 'utf8');
  const chunk = Buffer.alloc(chunkBytes, 'x');
  for (let left = bytes; left > 0; left -= chunkBytes) yield chunk.subarray(0, Math.min(left, chunkBytes));
  yield Buffer.from('"}', 'utf8');
}

/** Timers that can all be stopped at once, so that closing never waits for a delayed answer. */
export class Timers {
  readonly #running = new Set<NodeJS.Timeout>();

  /** Acts after `ms`; at once where that is 0. */
  after(ms: number, act: () => void): void {
    if (ms <= 0) {
      act();
      return;
    }
    const timer = setTimeout(() => {
      this.#running.delete(timer);
      act();
    }, ms);
    this.#running.add(timer);
  }

  stopAll(): void {
    for (const timer of this.#running) clearTimeout(timer);
    this.#running.clear();
  }
}
