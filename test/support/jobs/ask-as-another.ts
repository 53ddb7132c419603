import { expect } from 'chai';
import type { Lab } from './job-lab.js';

/** Asks the service with our credential, as a store that was lost, or somebody else, would. @returns what it answers */
export async function askAsAnother(
  lab: Lab,
  method: string,
  path: string,
  key: string,
  body?: object,
): Promise<{ order_id?: string }> {
  const { baseUrl, token } = lab.context.settings.service;
  const headers = {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${token?.reveal()}`,
    'Idempotency-Key': key,
  };
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers,
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  expect(response.ok, text).to.equal(true);
  return JSON.parse(text || '{}');
}
