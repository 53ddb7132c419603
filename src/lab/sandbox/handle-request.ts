import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type Answer, faultyAnswer, inPlaces, inShape, Refusal } from './answer.js';
import { refuseCredential } from './credentials.js';
import { effectOf, type Fault } from './fault-plan.js';
import { requiredKey, sentKey } from './idempotency.js';
import type { LedgerRequest } from './ledger.js';
import { tooManyRequests } from './rate-limit.js';
import { checkContent, type JsonObject, readJsonObject } from './request-rules.js';
import type { SandboxState } from './state.js';

/** A request that has passed every check before its endpoint: authenticated, routed, its key unused. */
export interface Call {
  /** From the path, decoded; empty for a collection. */
  id: string;
  query: URLSearchParams;
  /** Empty for a request that needs none. */
  key: string;
  nowMs: number;
  /** The body as a JSON object, without the key; refuses with 400 what isn't one. */
  readBody: () => JsonObject;
}

/** Takes effect and answers, without waiting in between. Throws a Refusal. */
export type Endpoint = (state: SandboxState, call: Call) => Answer;

/** Endpoints by method and address, such as `GET /v1/orders/:id`. */
export type Endpoints = Record<string, Endpoint>;

/** A request as it came in, its body whole. */
interface Arrival {
  method: string;
  /** With its query, as sent. */
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
  id: string;
  query: URLSearchParams;
  /** The handler of this method and address; null for nothing. */
  endpoint: Endpoint | null;
  /** A fault that the HTTP server itself found, e.g. a body too large. */
  problem: Refusal | null;
  receivedAtMs: number;
}

/** The answer to a request so far. */
interface Response {
  answer: Answer;
  fault?: Fault | null;
  /** To be called once, just before the answer leaves: until then the request's key counts as in progress. */
  finish?: () => void;
}

/**
 * Counts a request, lets it take its effect, and says what to answer. Runs without waiting, so that no two requests mix.
 * The order is that of real services: limit, credential, (fault), address, key, body, effect.
 */
export function handleRequest(state: SandboxState, arrival: Arrival): Response & { entry: LedgerRequest } {
  const entry = record(state, arrival);
  const response = respond(state, arrival, entry);
  const { errorShape, headersOf, answerPlaces } = state.options;
  const answer = inPlaces(inShape(response.answer, errorShape), arrival.path, answerPlaces);
  const more = headersOf[`${arrival.method} ${/^\/[^/?]*\/[^/?]*/.exec(arrival.path)?.[0] ?? ''}`];
  return { ...response, entry, answer: more ? { ...answer, headers: { ...more, ...answer.headers } } : answer };
}

function record({ options, requests, nextRequestId }: SandboxState, arrival: Arrival): LedgerRequest {
  const { method, path, body, receivedAtMs } = arrival;
  const entry: LedgerRequest = {
    request_id: nextRequestId(),
    received_at_ms: receivedAtMs,
    at_ms: options.nowMs(),
    monotonic_ms: options.monotonicMs(),
    answered_at_ms: null,
    method,
    path,
    idempotency_key: sentKey(options, arrival)?.replace(/^"(.*)"$/, '$1') ?? null,
    body_sha256: body.length === 0 ? null : createHash('sha256').update(body).digest('hex'),
    status: null,
    throttled: false,
    replayed: false,
    fault: null,
  };
  requests.push(entry);
  return entry;
}

function respond(state: SandboxState, arrival: Arrival, entry: LedgerRequest): Response {
  const waitMs = state.limit.take(entry.monotonic_ms);
  if (waitMs > 0) {
    entry.throttled = true;
    state.throttledCount++;
    return { answer: tooManyRequests(state.options.retryAfter, waitMs, entry.at_ms) };
  }
  const refused = refuseCredential(state, arrival);
  if (refused) return { answer: refused };

  const { method, path, body } = arrival;
  const fault = state.faults.draw({ method, path, key: entry.idempotency_key, body });
  if (!fault) return perform(state, arrival, entry);
  entry.fault = fault.kind;
  if (fault.kind === 'forget-keys') state.keys.forgetAll();
  const response =
    effectOf(fault) === 'none' ? { answer: { status: method === 'POST' ? 201 : 200 } } : perform(state, arrival, entry);
  return { ...response, answer: faultyAnswer(response.answer, fault), fault };
}

/** Sees to it that the request takes its effect once for its key. */
function perform(state: SandboxState, arrival: Arrival, entry: LedgerRequest): Response {
  const { options, keys } = state;
  const { method, path, endpoint, problem, id, query } = arrival;
  try {
    if (problem) throw problem;
    if (options.refusedMethods.includes(method))
      throw new Refusal(405, 'method_not_allowed', `${method} is not possible`);
    if (!endpoint) throw new Refusal(404, 'not_found', 'There is nothing at this address');
    if (method !== 'GET') checkContent(arrival);
    const call = { id, query, key: '', nowMs: entry.at_ms, readBody: () => readRecord(state, arrival) };
    const mayCarryKey = method !== 'GET' && !(method === 'DELETE' && options.keyIn === 'body');
    if (!mayCarryKey || !(options.needsKey || sentKey(options, arrival)))
      return { answer: touch(endpoint(state, call), entry) };

    call.key = requiredKey(options, arrival);
    const begun = keys.begin(call.key, `${method} ${path} ${entry.body_sha256}`, entry.at_ms);
    if (begun.replay) {
      entry.replayed = true;
      state.replayedCount++;
      return { answer: touch(begun.replay, entry) };
    }
    let answer: Answer;
    try {
      answer = endpoint(state, call);
    } catch (error) {
      answer = errorAnswer(error);
    }
    return { answer: touch(answer, entry), finish: () => begun.settle(answer) };
  } catch (error) {
    return { answer: errorAnswer(error) };
  }
}

/** The body without the key, which is not part of the record. */
function readRecord({ options: { keyIn, keyField } }: SandboxState, { body }: Arrival): JsonObject {
  const record = readJsonObject(body);
  if (keyIn === 'body') delete record[keyField];
  return record;
}

function touch(answer: Answer, entry: LedgerRequest): Answer {
  answer.touched?.requests.push(entry.request_id);
  return answer;
}

function errorAnswer(error: unknown): Answer {
  if (error instanceof Refusal) return error.toAnswer();
  // A defect of the sandbox itself: say so, or a test would take it for a fault that it asked for.
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Refusal(500, 'sandbox_defect', message).toAnswer();
}
