import type { WebhookSettings } from '../../config/sections/webhooks.js';

/** A request as it came: header names in small letters, the body before anything was made of it. */
export interface WebhookRequest {
  method: string;
  url: string;
  headers: { readonly [name: string]: string | string[] | undefined };
  body: Buffer;
}

/** One header's text; one that came twice is none. */
export function headerOf({ headers }: Pick<WebhookRequest, 'headers'>, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' ? value : undefined;
}

/** Why a request was turned away, as it is counted, with the status of the answer. */
export const refusalStatus = {
  other_path: 404,
  other_method: 405,
  too_large: 413,
  compressed: 415,
  other_type: 415,
  forged: 401,
  stale: 401,
  no_event: 400,
  busy: 503,
  store_away: 503,
} as const;

export type Refusal = keyof typeof refusalStatus;

/** What can be refused before a byte of the body was read, or null. Pure. */
export function refuseByHeaders(
  request: Pick<WebhookRequest, 'method' | 'url' | 'headers'>,
  { path, maxBodyBytes }: Pick<WebhookSettings, 'path' | 'maxBodyBytes'>,
): Refusal | null {
  const query = request.url.indexOf('?');
  if ((query < 0 ? request.url : request.url.slice(0, query)) !== path) return 'other_path';
  if (request.method !== 'POST') return 'other_method';
  // Unpacking is work that a stranger could ask for, and the signature is over what was sent.
  const encoding = headerOf(request, 'content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return 'compressed';
  const type = headerOf(request, 'content-type') ?? '';
  if (!/^application\/([a-z0-9.+-]+\+)?json\s*(;|$)/i.test(type)) return 'other_type';
  if (Number(headerOf(request, 'content-length') ?? 0) > maxBodyBytes) return 'too_large';
  return null;
}
