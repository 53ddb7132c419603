import type { EndpointNotice } from '../../../src/service/endpoint-lifecycle.js';
import type { Sent } from '../../../src/service/service-client.js';
import { created } from '../wire-client.js';

export interface HeaderRun {
  sent: Sent;
  usedUp: { waitMs: number } | null;
  notices: readonly EndpointNotice[];
}

export interface HeaderCase {
  header: string;
  form: string;
  status: number;
  headers: (nowMs: number) => Record<string, string>;
  /** Requests that are made. Absent: one. */
  times?: number;
  observe: (run: HeaderRun) => unknown;
  expected: unknown;
}

const inSeconds = (ms: number) => Math.round(ms / 5_000) * 5;
const waitOf = ({ sent: { verdict } }: HeaderRun) =>
  verdict.kind === 'throttled' ? verdict.retryAfterMs && inSeconds(verdict.retryAfterMs) : verdict.kind;
const usedUpFor = ({ usedUp }: HeaderRun) => usedUp && inSeconds(usedUp.waitMs);
const day = 86_400;

const retryAfter = (form: string, text: string | ((nowMs: number) => string) | null, expected: number | null) =>
  [429, 503].map(
    (status): HeaderCase => ({
      header: 'Retry-After',
      form,
      status,
      headers: (nowMs) =>
        text === null
          ? ({} as Record<string, string>)
          : { 'Retry-After': typeof text === 'string' ? text : text(nowMs) },
      observe: waitOf,
      // A 503 without it is no "slow down".
      expected: text === null && status === 503 ? 'in_doubt' : expected,
    }),
  );
const limit = (header: string, form: string, headers: HeaderCase['headers'], expected: unknown, times = 1) => ({
  header,
  form,
  status: 201,
  headers,
  times,
  observe: usedUpFor,
  expected,
});
const lifecycle = (header: string, form: string, text: string, expected: unknown): HeaderCase => ({
  header,
  form,
  status: 201,
  headers: () => ({ [header]: text }),
  observe: ({ notices }) => notices.map((one) => one.lifecycle),
  expected,
});
const end = 'Thu, 31 Dec 2026 23:59:59 GMT';
const endMs = Date.UTC(2026, 11, 31, 23, 59, 59);
const unixIn = (nowMs: number, seconds: number) => Math.floor(nowMs / 1000) + seconds;

/** Every header that is heeded, in every form that it comes in. */
export const headerCases: readonly HeaderCase[] = [
  ...retryAfter('seconds', '30', 30),
  ...retryAfter('date', (nowMs) => new Date(nowMs + 30_000).toUTCString(), 30),
  ...retryAfter('absent', null, null),
  ...retryAfter('past', (nowMs) => new Date(nowMs - 3_600_000).toUTCString(), 0),
  ...retryAfter('junk', 'soon 5', null),
  ...retryAfter('absurd', '999999999', day),
  limit('RateLimit', 'structured', () => ({ RateLimit: '"default";r=0;t=60' }), 60),
  limit('RateLimit', 'junk', () => ({ RateLimit: 'plenty' }), null),
  limit('RateLimit-Policy', 'structured', () => ({ 'RateLimit-Policy': '"burst";q=1;w=600' }), 600, 2),
  limit('RateLimit-Policy', 'junk', () => ({ 'RateLimit-Policy': 'q;w=;;=' }), null, 2),
  limit('X-RateLimit', 'delta', () => ({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '60' }), 60),
  limit(
    'X-RateLimit',
    'epoch',
    (nowMs) => ({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(unixIn(nowMs, 60)) }),
    60,
  ),
  limit(
    'X-RateLimit',
    'past',
    (nowMs) => ({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(unixIn(nowMs, -60)) }),
    null,
  ),
  limit('X-RateLimit', 'junk', () => ({ 'X-RateLimit-Remaining': '-1', 'X-RateLimit-Reset': 'soon' }), null),
  limit('X-RateLimit', 'absurd', () => ({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '99999999' }), day),
  lifecycle('Deprecation', 'structured date', `@${endMs / 1000}`, [{ deprecatedAt: endMs, sunsetAt: null }]),
  lifecycle('Deprecation', 'HTTP date', end, [{ deprecatedAt: endMs, sunsetAt: null }]),
  lifecycle('Deprecation', 'true', 'true', [{ deprecatedAt: true, sunsetAt: null }]),
  lifecycle('Deprecation', 'junk', 'soon', []),
  lifecycle('Sunset', 'HTTP date', end, [{ deprecatedAt: null, sunsetAt: endMs }]),
  lifecycle('Sunset', 'junk', 'some day', []),
];

export const answerTo = (one: HeaderCase, nowMs: number) => ({
  kind: 'answer' as const,
  status: one.status,
  headers: one.headers(nowMs),
  body: one.status === 201 ? created.body : '',
});
