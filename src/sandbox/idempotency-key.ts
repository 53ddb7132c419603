import { Refusal } from './refusal.js';

/** Printable ASCII without space, quote, comma and backslash: what survives every header form unharmed. */
const bareKey = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,255}$/;

/** Reads the key header in the accepted form. Refuses with 400 what is missing or malformed. */
export function idempotencyKey(header: string | undefined, form: 'either' | 'quoted' | 'bare'): string {
  if (header === undefined || header === '') {
    throw new Refusal(400, 'idempotency_key_missing', 'This request needs an idempotency key');
  }
  const quoted = header.length >= 2 && header.startsWith('"') && header.endsWith('"');
  if (form === 'quoted' && !quoted)
    throw new Refusal(400, 'idempotency_key_invalid', 'The idempotency key must be quoted');
  if (form === 'bare' && quoted)
    throw new Refusal(400, 'idempotency_key_invalid', 'The idempotency key must not be quoted');
  const key = quoted ? header.slice(1, -1) : header;
  if (!bareKey.test(key)) {
    throw new Refusal(
      400,
      'idempotency_key_invalid',
      'The idempotency key must be 1 to 255 printable ASCII characters',
    );
  }
  return key;
}
