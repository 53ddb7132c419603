import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
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

/** The signed parts besides the body: the id of the event, where the scheme has one. */
type Verified = { id: string | null } | { refused: 'forged' | 'stale' };

/** Says whether one of our secrets signed a request, and whether it is fresh. */
export type Verify = (request: WebhookRequest, secrets: readonly string[], nowMs: number) => Verified;

function isFresh(signedAtMs: number, toleranceSeconds: number, nowMs: number): boolean {
  return Math.abs(nowMs - signedAtMs) <= toleranceSeconds * 1000;
}

/** More signatures than these are no rotation of a secret, but an attempt to make us work. */
const mostSignatures = 8;
/** From here on a number is milliseconds since 1970: as seconds it would be the year 5138. */
const leastMs = 100_000_000_000;

const digestBytes = { sha256: 32, sha384: 48, sha512: 64 } as const;

/** A signature in a header, as many services have it: over the body, or over the body and the time. */
export function hmacVerify({ hmac, toleranceSeconds }: Pick<WebhookSettings, 'hmac' | 'toleranceSeconds'>): Verify {
  const { header, algorithm, encoding, prefix, timestampHeader, signedPayload } = hmac;
  const parts = signedPayload.split(/(\{body\}|\{timestamp\})/);
  return (request, secrets, nowMs) => {
    const given = headerOf(request, header);
    if (!given) return { refused: 'forged' };
    const timestamp = timestampHeader === undefined ? '' : headerOf(request, timestampHeader);
    if (timestamp === undefined || !/^\d{0,15}$/.test(timestamp)) return { refused: 'forged' };
    if (timestampHeader !== undefined) {
      if (timestamp === '') return { refused: 'forged' };
      const number = Number(timestamp);
      const signedAtMs = number < leastMs ? number * 1000 : number;
      if (!isFresh(signedAtMs, toleranceSeconds, nowMs)) return { refused: 'stale' };
    }
    const signatures = digestsIn(given, prefix, encoding, digestBytes[algorithm]);
    if (signatures.length === 0 || signatures.length > mostSignatures) return { refused: 'forged' };
    const signed = parts.map((part) =>
      part === '{body}' ? request.body : Buffer.from(part === '{timestamp}' ? timestamp : part),
    );
    let isOurs = false;
    for (const secret of secrets) isOurs = hasDigest(algorithm, secret, signed, signatures) || isOurs;
    return isOurs ? { id: null } : { refused: 'forged' };
  };
}

/** True if one of these is the keyed hash of the parts. Takes as long for every wrong one. */
function hasDigest(
  algorithm: string,
  key: string | Buffer,
  parts: readonly Buffer[],
  given: readonly Buffer[],
): boolean {
  const hash = createHmac(algorithm, key);
  for (const part of parts) hash.update(part);
  const expected = hash.digest();
  let isEqual = false;
  for (const one of given) isEqual = timingSafeEqual(one, expected) || isEqual;
  return isEqual;
}

/** The signatures of a header that have the length of a digest. Pure. */
export function digestsIn(header: string, prefix: string, encoding: 'hex' | 'base64', bytes: number): Buffer[] {
  return header
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(prefix))
    .map((part) => part.slice(prefix.length))
    .filter((text) => (encoding === 'hex' ? /^[0-9a-f]+$/i : /^[A-Za-z0-9+/]+={0,2}$/).test(text))
    .map((text) => Buffer.from(text, encoding))
    .filter((digest) => digest.length === bytes);
}

/** The identity of a signed request without an id of its own: its body and its time. */
export function contentId(body: Buffer, timestamp: string | undefined): string {
  return `sha256:${createHash('sha256')
    .update(`${timestamp ?? ''}\n`)
    .update(body)
    .digest('hex')}`;
}

const longestId = 255;

/**
 * Standard Webhooks: `webhook-id`, `webhook-timestamp` and the body, signed with HMAC-SHA256. Plainly wrong headers are refused
 * before anything is computed, and a signature that no secret of ours made is refused before the library is asked: the
 * library's hash and errors cost ten times as much, which matters in a flood of forged requests.
 */
export function standardVerify(toleranceSeconds: number): Verify {
  const made = new Map<string, { webhook: Webhook; key: Buffer }>();
  return (request, secrets, nowMs) => {
    const id = headerOf(request, 'webhook-id');
    const timestamp = headerOf(request, 'webhook-timestamp');
    const signature = headerOf(request, 'webhook-signature');
    if (!id || id.length > longestId || !signature || !timestamp || !/^\d{1,12}$/.test(timestamp))
      return { refused: 'forged' };
    if (!isFresh(Number(timestamp) * 1000, toleranceSeconds, nowMs)) return { refused: 'stale' };
    const signatures = signature.split(' ').filter((one) => /^v1,[A-Za-z0-9+/]{43}=$/.test(one));
    if (signatures.length === 0 || signatures.length > mostSignatures) return { refused: 'forged' };
    const digests = signatures.map((one) => Buffer.from(one.slice('v1,'.length), 'base64'));
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    };
    // A secret that is no longer ours is not kept.
    for (const secret of made.keys()) if (!secrets.includes(secret)) made.delete(secret);
    for (const secret of secrets) {
      const { webhook, key } = made.get(secret) ?? {
        webhook: new Webhook(secret),
        key: Buffer.from(secret.replace(/^whsec_/, ''), 'base64'),
      };
      made.set(secret, { webhook, key });
      const signed = [Buffer.from(`${id}.${Number(timestamp)}.`), request.body];
      if (!hasDigest('sha256', key, signed, digests)) continue;
      try {
        webhook.verify(request.body, headers, { jsonParse: false });
        return { id };
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error;
      }
    }
    return { refused: 'forged' };
  };
}
