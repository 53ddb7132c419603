import type { Answer } from './answer.js';
import type { JsonObject } from './body-rules.js';
import type { SandboxState } from './state.js';

/** A request that has passed the gate: authenticated, routed, its key unused. */
export interface Call {
  /** From the path, decoded; empty for a collection. */
  id: string;
  query: URLSearchParams;
  /** Empty for GET. */
  key: string;
  nowMs: number;
  /** The body as a JSON object; refuses with 400 what isn't one. */
  readBody: () => JsonObject;
}

/** Takes effect and answers, without waiting in between. Throws a Refusal. */
export type Endpoint = (state: SandboxState, call: Call) => Answer;
