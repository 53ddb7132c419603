import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonValue } from '../../model/record.js';
import { type Answer, inShape, Refusal } from './answer.js';
import type { JsonObject } from './body-rules.js';
import type { Fault } from './fault-plan.js';
import { idempotencyKey } from './idempotency.js';
import type { LedgerRequest } from './ledger.js';
import type { RetryAfterForm } from './options.js';
import { route } from './route.js';
import { faultyAnswer } from './send-answer.js';
import type { SandboxState } from './state.js';

/** Whether the request that meets this fault takes its effect. */
export function effectOf(fault: Fault): 'none' | 'done' {
  if ('effect' in fault) return fault.effect;
  return fault.kind === 'reset-before' || fault.kind === 'redirect' ? 'none' : 'done';
}

/** A byte order mark is left in, so that JSON.parse refuses it, as RFC 8259 allows. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads a body strictly: valid UTF-8, valid JSON, an object. Refuses with 400. */
export function readJsonObject(body: Buffer): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(utf8.decode(body)) as JsonValue;
  } catch {
    throw new Refusal(400, 'invalid_json', 'The body is not valid JSON in UTF-8');
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new Refusal(400, 'invalid_request', 'The body must be a JSON object');
  }
  return value;
}

/** The value of `Retry-After` for a wait of `waitMs`, or null for no header. Both true forms are rounded up to whole seconds (RFC 9110, 10.2.3). */
export function retryAfter(form: RetryAfterForm, waitMs: number, nowMs: number): string | null {
  switch (form) {
    case 'seconds':
      return String(Math.ceil(waitMs / 1000));
    case 'http-date':
      return new Date(Math.ceil((nowMs + waitMs) / 1000) * 1000).toUTCString();
    case 'past':
      return new Date(nowMs - 60 * 60 * 1000).toUTCString();
    case 'junk':
      return 'in a little while';
    case 'absurd':
      return String(100 * 365 * 24 * 60 * 60);
    case 'absent':
      return null;
  }
}

/** A request as it came in, its body whole. */
export interface Arrival {
  method: string;
  /** With its query, as sent. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** What was wrong already when it was read, e.g. a body too large. */
  problem: Refusal | null;
  receivedAtMs: number;
}

export interface Handled {
  entry: LedgerRequest;
  answer: Answer;
  fault: Fault | null;
  /** To be called once, just before the answer leaves: until then the request's key counts as in progress. */
  finish: () => void;
}

/**
 * Counts a request, lets it take its effect, and says what to answer. Runs without waiting, so that no two requests mix.
 * The order is that of real services: limit, credential, (fault), address, key, body, effect.
 */
export function handleRequest(state: SandboxState, arrival: Arrival): Handled {
  const handled = handle(state, arrival);
  const { errorShape, headersOf } = state.options;
  const shaped = inShape(handled.answer, errorShape);
  const more = headersOf[`${arrival.method} ${/^\/[^/?]*\/[^/?]*/.exec(arrival.path)?.[0] ?? ''}`];
  return { ...handled, answer: more ? { ...shaped, headers: { ...more, ...shaped.headers } } : shaped };
}

function handle(state: SandboxState, arrival: Arrival): Handled {
  const entry = record(state, arrival);
  const waitMs = state.limit.take(entry.monotonic_ms);
  if (waitMs > 0) {
    entry.throttled = true;
    state.throttledCount++;
    return { entry, answer: throttled(state, waitMs, entry.at_ms), fault: null, finish: nothingToFinish };
  }
  const unauthorised = checkCredential(state, arrival);
  if (unauthorised) return { entry, answer: unauthorised, fault: null, finish: nothingToFinish };

  const fault = state.faults.draw({
    method: arrival.method,
    path: arrival.path,
    key: entry.idempotency_key,
    body: () => arrival.body.toString('utf8'),
  });
  entry.fault = fault?.kind ?? null;
  if (fault?.kind === 'forget-keys') state.keys.forgetAll();
  if (fault && effectOf(fault) === 'none') {
    const made = { status: arrival.method === 'POST' ? 201 : 200 };
    return { entry, answer: faultyAnswer(made, fault), fault, finish: nothingToFinish };
  }
  const { answer, finish } = perform(state, arrival, entry);
  return { entry, answer: fault ? faultyAnswer(answer, fault) : answer, fault, finish };
}

/** Routes the request and sees that its effect happens once for its key. */
function perform(state: SandboxState, arrival: Arrival, entry: LedgerRequest): { answer: Answer; finish: () => void } {
  try {
    if (arrival.problem) throw arrival.problem;
    const { endpoint, id, query } = route(arrival.method, arrival.path);
    const readBody = (): JsonObject => readRecord(state, arrival);
    const call = { id, query, key: '', nowMs: entry.at_ms, readBody };
    const needsNoKey = arrival.method === 'GET' || (arrival.method === 'DELETE' && state.options.keyIn === 'body');
    if (arrival.method !== 'GET') checkContent(arrival);
    if (needsNoKey) return { answer: touch(endpoint(state, call), entry), finish: nothingToFinish };
    call.key = keyOf(state, arrival);
    const fingerprint = `${arrival.method} ${arrival.path} ${entry.body_sha256}`;
    const recall = state.keys.begin(call.key, fingerprint, entry.at_ms);
    if (recall.kind === 'in-progress') {
      throw new Refusal(409, 'request_in_progress', 'A request with this idempotency key is in progress');
    }
    if (recall.kind === 'reused') {
      throw new Refusal(422, 'idempotency_key_reused', 'This idempotency key was used for another request');
    }
    if (recall.kind === 'replay') {
      entry.replayed = true;
      state.replayedCount++;
      return { answer: touch(recall.answer, entry), finish: nothingToFinish };
    }
    const answer = answerOrRefusal(() => endpoint(state, call));
    return { answer: touch(answer, entry), finish: () => recall.settle(answer) };
  } catch (error) {
    return { answer: answerOf(error), finish: nothingToFinish };
  }
}

function answerOrRefusal(act: () => Answer): Answer {
  try {
    return act();
  } catch (error) {
    return answerOf(error);
  }
}

function answerOf(error: unknown): Answer {
  if (error instanceof Refusal) return error.toAnswer();
  // A mistake of the sandbox itself: said aloud, so that no test takes it for a fault that was asked for.
  return new Refusal(
    500,
    'sandbox_defect',
    error instanceof Error ? (error.stack ?? error.message) : String(error),
  ).toAnswer();
}

function record(state: SandboxState, arrival: Arrival): LedgerRequest {
  const entry: LedgerRequest = {
    request_id: state.requestIds.next(),
    received_at_ms: arrival.receivedAtMs,
    at_ms: state.options.nowMs(),
    monotonic_ms: state.options.monotonicMs(),
    answered_at_ms: null,
    method: arrival.method,
    path: arrival.path,
    idempotency_key: sentKey(state, arrival)?.replace(/^"(.*)"$/, '$1') ?? null,
    body_sha256: arrival.body.length === 0 ? null : createHash('sha256').update(arrival.body).digest('hex'),
    status: null,
    throttled: false,
    replayed: false,
    fault: null,
  };
  state.requests.push(entry);
  return entry;
}

/** The key in the form in which this flavour of the service wants it. Refuses with 400 what is missing or malformed. */
function keyOf(state: SandboxState, arrival: Arrival): string {
  // What is no JSON object is refused as such, before anybody asks for its key.
  if (state.options.keyIn === 'body') readJsonObject(arrival.body);
  return idempotencyKey(sentKey(state, arrival), state.options.keyIn === 'body' ? 'bare' : state.options.keyForm);
}

function sentKey({ options }: SandboxState, arrival: Arrival): string | undefined {
  if (options.keyIn === 'header') return header(arrival, options.keyHeader);
  try {
    const value = readJsonObject(arrival.body)[options.keyField];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The body without the key, which is no part of the record. */
function readRecord({ options }: SandboxState, arrival: Arrival): JsonObject {
  const body = readJsonObject(arrival.body);
  if (options.keyIn === 'header') return body;
  const { [options.keyField]: _, ...record } = body;
  return record;
}

function throttled(state: SandboxState, waitMs: number, nowMs: number): Answer {
  const value = retryAfter(state.options.retryAfter, waitMs, nowMs);
  return {
    ...new Refusal(429, 'too_many_requests', 'Too many requests').toAnswer(),
    headers: value === null ? {} : { 'retry-after': value },
  };
}

function checkCredential(state: SandboxState, arrival: Arrival): Answer | null {
  if (!isKnown(state, arrival)) {
    const refusal = new Refusal(401, 'unauthorized', `A valid credential is needed${echo(state, arrival)}`);
    return { ...refusal.toAnswer(), headers: { 'www-authenticate': 'Bearer' } };
  }
  if (state.options.forbidden)
    return new Refusal(403, 'forbidden', `This account may not do that${echo(state, arrival)}`).toAnswer();
  return null;
}

function echo({ options: { echoCredentials, apiKey } }: SandboxState, arrival: Arrival): string {
  if (!echoCredentials) return '';
  return `: ${[arrival.headers.authorization, apiKey && header(arrival, apiKey.header)].filter(Boolean).join(' and ')}`;
}

function isKnown(state: SandboxState, arrival: Arrival): boolean {
  const { token, apiKey, oauth, byCertificate, nowMs } = state.options;
  // Others did not get through the handshake.
  if (byCertificate) return true;
  // The scheme's name is case-insensitive (RFC 9110, 11.1), the token isn't.
  const credential = /^bearer +(\S+)$/i.exec(arrival.headers.authorization ?? '')?.[1];
  if (oauth) return credential !== undefined && state.tokens.isGood(credential, nowMs());
  if (!apiKey) return credential === token;
  const given = header(arrival, apiKey.header);
  return given === (apiKey.scheme === undefined ? token : `${apiKey.scheme} ${token}`);
}

function checkContent(arrival: Arrival): void {
  if (arrival.method === 'DELETE') {
    if (arrival.body.length > 0) throw new Refusal(400, 'invalid_request', 'DELETE takes no body');
    return;
  }
  if (!/^application\/json *(; *charset="?utf-8"?)?$/i.test(arrival.headers['content-type'] ?? '')) {
    throw new Refusal(400, 'unsupported_content_type', 'The content type must be application/json');
  }
}

function header(arrival: Arrival, name: string): string | undefined {
  const value = arrival.headers[name.toLowerCase()];
  return Array.isArray(value) ? value.join(', ') : value;
}

function touch(answer: Answer, entry: LedgerRequest): Answer {
  answer.touched?.requestIds.push(entry.request_id);
  return answer;
}

function nothingToFinish(): void {}
