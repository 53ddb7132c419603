import type { Refusal } from './refusal.js';
import type { WebhookRequest } from './webhook-request.js';

/** What the signature covers besides the body: the id of the event, where the scheme has one. */
export type Verified = { id: string | null } | { refused: Extract<Refusal, 'forged' | 'stale'> };

/** Says whether one of our secrets signed a request, and whether it is fresh. */
export type Verify = (request: WebhookRequest, secrets: readonly string[], nowMs: number) => Verified;

export function isFresh(signedAtMs: number, toleranceSeconds: number, nowMs: number): boolean {
  return Math.abs(nowMs - signedAtMs) <= toleranceSeconds * 1000;
}
