import type { ServiceSettings } from '../config/sections/service.js';
import { errorBody } from './error-body.js';
import type { Exchange } from './exchange.js';
import { blockedMs } from './judge.js';
import { ownWaitMs } from './rate-limit/concurrency.js';
import { retryAfterMs } from './rate-limit/retry-after.js';

/** What the answer to a question of a pull means: what was asked for, or whether to ask again, and who waits meanwhile. */
export type PullAnswer<T> =
  | { kind: 'answer'; value: T }
  | {
      kind: 'again' | 'stop';
      verdict: string;
      reason: string;
      waitMs?: number;
      namesTime?: boolean;
      pause?: {
        lane: 'service' | 'pull';
        cause: 'throttled' | 'credential' | 'misconfigured';
        until_at: number | null;
      };
    };

/** Longer waits are left to the pause. */
const longestWaitMs = 60_000;

/**
 * Judges an answer. Pure.
 * @param answers the statuses that answer the question
 * @param of what was asked for: a list, or one record; what is forbidden of one record may be allowed of all others
 * @param read makes of status and body what was asked for, or a text that says why it is none
 */
export function judgePullAnswer<T>(
  exchange: Exchange,
  of: 'list' | 'record',
  answers: readonly number[],
  read: (status: number, body: string) => T | string,
  service: Pick<ServiceSettings, 'limits' | 'errorBody' | 'answers' | 'blockedSeconds'>,
  nowMs: number,
): PullAnswer<T> {
  if (exchange.kind === 'not_sent') return { kind: 'stop', verdict: 'not_sent', reason: exchange.reason };
  if (exchange.kind === 'no_credential') return refusedCredential(exchange.reason);
  if (exchange.kind === 'unreachable') return { kind: 'again', verdict: 'unavailable', reason: exchange.reason };
  if (exchange.kind !== 'answer') return { kind: 'again', verdict: 'in_doubt', reason: exchange.reason };
  const { status } = exchange;
  if (answers.includes(status)) {
    const value = read(status, exchange.body);
    if (typeof value !== 'string') return { kind: 'answer', value };
    return { kind: 'again', verdict: 'invalid', reason: `HTTP ${status}, but not what was asked for: ${value}` };
  }
  const error = errorBody(exchange.body, service.errorBody);
  const reason = `HTTP ${status}${error.code ? ` ${error.code}` : ''}: ${error.message || 'no reason given'}`;
  const blockMs = blockedMs(service, { ...exchange, code: error.code }, nowMs);
  if (blockMs !== null || status === 429 || (status === 503 && exchange.headers['retry-after'] !== undefined)) {
    // "Now" and a date in the past name no time.
    const named = blockMs ?? (retryAfterMs(exchange.headers['retry-after'], nowMs) || null);
    const wait = named ?? ownWaitMs(service.limits);
    return {
      kind: wait > longestWaitMs ? 'stop' : 'again',
      verdict: 'throttled',
      reason,
      waitMs: wait,
      namesTime: named !== null,
      pause: { lane: 'service', cause: 'throttled', until_at: nowMs + wait },
    };
  }
  if (status === 401) return refusedCredential(reason);
  if (status === 403 || status === 407 || (status >= 300 && status < 400)) {
    if (of === 'record') return { kind: 'stop', verdict: 'misconfigured', reason };
    const pause = { lane: 'pull', cause: 'misconfigured', until_at: null } as const;
    return { kind: 'stop', verdict: 'misconfigured', reason, pause };
  }
  if (status >= 400 && status < 500 && status !== 408) return { kind: 'stop', verdict: 'refused', reason };
  return { kind: 'again', verdict: 'in_doubt', reason };
}

function refusedCredential(reason: string) {
  const pause = { lane: 'service', cause: 'credential', until_at: null } as const;
  return { kind: 'stop', verdict: 'unauthorised', reason, pause } as const;
}
