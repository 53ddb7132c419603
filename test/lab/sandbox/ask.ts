import type { Sandbox } from '../../../src/lab/sandbox/start-sandbox.js';

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  // Tests look into answers of every shape; each asserts what it finds.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  json: any;
}

export interface Question {
  body?: unknown;
  key?: string;
  token?: string | null;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Asks the sandbox over a real socket, as a well-behaved client would unless told otherwise. */
export async function ask(sandbox: Sandbox, method: string, path: string, question: Question = {}): Promise<Reply> {
  const { body, key, token = 'sandbox-token', headers = {}, signal } = question;
  const response = await fetch(sandbox.url + path, {
    method,
    redirect: 'manual',
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal ? { signal } : {}),
  });
  const text = await response.text();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { status: response.status, headers: response.headers, text, json };
}

export const anOrder = (note: string, changes: Record<string, unknown> = {}) => ({
  customer_code: 'C1',
  items: [
    { sku: 'A-1', qty: 2, price: 150 },
    { sku: 'B-2', qty: 1, price: 1000 },
  ],
  note,
  ...changes,
});

/** Makes the customer that `anOrder` names. */
export async function addCustomer(sandbox: Sandbox, customerCode = 'C1'): Promise<void> {
  const reply = await ask(sandbox, 'POST', '/v1/customers', {
    key: `customer-${customerCode}`,
    body: { customer_code: customerCode, name: `Name of ${customerCode}` },
  });
  if (reply.status !== 201) throw new Error(`The customer was answered ${reply.status}: ${reply.text}`);
}
