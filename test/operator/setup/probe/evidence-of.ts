import { legacy } from '../../../../src/model/facts/fact.js';
import type { Evidence } from '../../../../src/operator/setup/probe/evidence.js';

/** The answer to a request, as a probe keeps it. */
export function answered(
  status: number,
  body: unknown,
  what: Evidence['what'] = { code: 'probe_asks_first_read' },
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
  const what = { code: 'probe_asks_first_read' } as const;
  return { what, asked: { method: 'POST', path: '/v1/orders' }, answer: null, problem: legacy(problem) };
}
