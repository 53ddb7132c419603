import { createHmac, timingSafeEqual } from 'node:crypto';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { isFresh, type Verify } from './verify.js';
import { headerOf } from './webhook-request.js';

/** More signatures than these are no rotation of a secret, but work for us. */
const mostSignatures = 8;
const longestId = 255;

/**
 * Standard Webhooks: `webhook-id`, `webhook-timestamp` and the body, signed with HMAC-SHA256. What is plainly wrong is refused
 * before anything is computed, and what none of our secrets signed before the library is asked: its hash and its errors cost ten
 * times as much, and a flood of forged requests is when that matters.
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
      const signed = createHmac('sha256', key)
        .update(`${id}.${Number(timestamp)}.`)
        .update(request.body)
        .digest();
      let isLikely = false;
      for (const digest of digests) isLikely = timingSafeEqual(digest, signed) || isLikely;
      if (!isLikely) continue;
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
