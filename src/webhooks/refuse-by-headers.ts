import type { WebhookSettings } from '../config/webhook-settings.js';
import type { Refusal } from './refusal.js';
import { headerOf, type WebhookRequest } from './webhook-request.js';

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
