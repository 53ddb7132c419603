import { legacy } from '../../../src/model/facts/fact.js';
import type { VerdictKind } from '../../../src/model/verdict.js';
import type { SendRequest } from '../../../src/service/compose-request.js';
import { created } from '../wire-client.js';
import type { Reply } from '../wire-lab.js';
import { json } from './wire-case.js';

export interface VerdictCase {
  /** The row's first cell in the table of docs/architecture.md. */
  row: string;
  title: string;
  replies: Reply[];
  service?: object | ((url: string) => object);
  send?: Partial<SendRequest>;
  verdict: VerdictKind;
  /** Requests that reach the service. Absent: one. */
  requests?: number;
}

const answer = (status: number, headers: Record<string, string> = {}): Reply => ({ kind: 'answer', status, headers });
const error = (status: number, code: string) => json(status, { error: { code, message: 'words' } });
const of = (row: string, verdict: VerdictKind, cases: Omit<VerdictCase, 'row' | 'verdict'>[]): VerdictCase[] =>
  cases.map((one) => ({ row, verdict, ...one }));
const oauth = (url: string) => ({
  token: undefined,
  credential: { kind: 'oauth', tokenUrl: `${url}/token`, clientId: 'us', clientSecret: 'canary' },
});
const unlisted = [408, 500, 502, 503, 504, 599];
const otherSuccesses = [200, 202, 204, 206, 299];
const refusals = [400, 402, 404, 405, 406, 409, 410, 413, 415, 422, 451];

export const verdictCases: readonly VerdictCase[] = [
  ...of("the endpoint's success status, body complete and valid", 'delivered', [{ title: '201', replies: [created] }]),
  ...of(
    'success status, body complete but not a valid acknowledgement; another 2xx, empty or with a JSON object',
    'invalid',
    [
      { title: '201 of another shape', replies: [json(201, {})] },
      { title: '200 of a record', replies: [json(200, { order_id: 'O-1' })] },
      ...otherSuccesses.map((status) => ({ title: `${status} without a body`, replies: [answer(status)] })),
    ],
  ),
  ...of('a 2xx that says that it failed', 'invalid', [
    {
      title: '201 with success: false',
      replies: [json(201, { success: false, error: { code: 'no', message: 'no' } })],
    },
    { title: '200 with an error', replies: [json(200, { error: { code: 'no', message: 'no' } })] },
  ]),
  ...of('in progress', 'busy', [{ title: '409', replies: [error(409, 'request_in_progress')] }]),
  ...of('key reused with another body; already exists', 'conflict', [
    { title: 'key reused', replies: [error(422, 'idempotency_key_reused')] },
    { title: 'already exists', replies: [error(409, 'already_exists')] },
  ]),
  ...of('unknown customer, though its binding exists', 'unknown_customer', [
    { title: '404 of an order', replies: [error(404, 'customer_not_found')] },
  ]),
  ...of('429, or 503 with Retry-After', 'throttled', [
    { title: '429', replies: [answer(429)] },
    { title: '503', replies: [answer(503, { 'Retry-After': '7' })] },
  ]),
  ...of('401', 'unauthorised', [
    { title: '401', replies: [answer(401)] },
    {
      title: '401 of whoever gives tokens',
      replies: [json(401, { error: 'invalid_client' })],
      service: oauth,
    },
  ]),
  ...of(
    '403, 407, 3xx',
    'misconfigured',
    [403, 407, 300, 301, 302, 303, 307, 308].map((status) => ({ title: `${status}`, replies: [answer(status)] })),
  ),
  ...of('timeout after sending, reset, body cut off, 408, 5xx, any unlisted status', 'in_doubt', [
    { title: 'timeout', replies: [{ kind: 'hang' }], service: { deadlineSeconds: 0.15 } },
    { title: 'reset', replies: [{ kind: 'reset' }] },
    { title: 'body longer than it may be', replies: [created], service: { maxResponseBytes: 10 } },
    ...unlisted.map((status) => ({ title: `${status}`, replies: [answer(status)] })),
  ]),
  ...of(
    'refused connection, DNS, TLS failure, no tunnel through the proxy, no access token to be had: provably nothing sent',
    'unavailable',
    [{ title: 'no access token', replies: [answer(503)], service: oauth }],
  ),
  ...of('held back by the gate', 'not_sent', [
    { title: 'paused', replies: [created], send: { gate: { ask: async () => legacy('paused') } }, requests: 0 },
  ]),
  ...of(
    'other 4xx',
    'refused',
    refusals.map((status) => ({ title: `${status}`, replies: [error(status, 'wrong')] })),
  ),
];
