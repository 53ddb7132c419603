import type { ServiceSettings } from '../config/service-settings.js';
import { matchesAnswer } from './matches-answer.js';
import { retryAfterMs } from './retry-after.js';

/**
 * For how long the service has shut us out, in milliseconds; null where an answer says nothing of the kind. A lack of permission
 * has no end: a 403 that names one is a block, as is whatever the profile calls so. Pure.
 */
export function blockedMs(
  profile: Pick<ServiceSettings, 'answers' | 'blockedSeconds'>,
  answer: { status: number; headers: Readonly<Record<string, string>>; code: string | null; body: string },
  nowMs: number,
): number | null {
  const { status, headers, code, body } = answer;
  // "Now" and a date in the past name no time.
  const named = retryAfterMs(headers['retry-after'], nowMs) || null;
  if (matchesAnswer(profile.answers.blocked, status, code, body)) return named ?? profile.blockedSeconds * 1000;
  return status === 403 ? named : null;
}
