import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { Answer } from './answer.js';
import type { Fault } from './fault.js';
import type { Timers } from './timers.js';

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
