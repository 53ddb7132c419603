import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { WebhookSettings } from '../config/webhook-settings.js';
import { isFresh, type Verify } from './verify.js';
import { headerOf } from './webhook-request.js';

/** More signatures than these are no rotation of a secret, but work for us. */
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
    for (const secret of secrets) {
      const hash = createHmac(algorithm, secret);
      for (const part of signed) hash.update(part);
      const expected = hash.digest();
      for (const one of signatures) isOurs = timingSafeEqual(one, expected) || isOurs;
    }
    return isOurs ? { id: null } : { refused: 'forged' };
  };
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

/** What a signed request without an id of its own is known by: its body and its time. */
export function contentId(body: Buffer, timestamp: string | undefined): string {
  return `sha256:${createHash('sha256')
    .update(`${timestamp ?? ''}\n`)
    .update(body)
    .digest('hex')}`;
}
