import type { Answer } from './answer.js';
import type { Fault } from './fault.js';
import { Refusal } from './refusal.js';

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
