import type { Evidence } from '../../../../src/operator/setup/probe/evidence.js';

/** The answer to a request, as a probe keeps it. */
export function answered(
  status: number,
  body: unknown,
  what = 'a request',
  headers: Record<string, string> = {},
): Evidence {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return {
    what,
    asked: { method: 'POST', path: '/v1/orders' },
    answer: { status, headers, body: text },
    problem: null,
  };
}

export function unanswered(problem: string): Evidence {
  return { what: 'a request', asked: { method: 'POST', path: '/v1/orders' }, answer: null, problem };
}
