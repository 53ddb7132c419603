import type { ServiceSettings } from '../config/service-settings.js';

const unknownLimitMs = 1_000;

/**
 * Time between the answer to one reading and the next reading, so that no more than this share of any limit is taken, evenly:
 * a limit of a day is not used up by noon. Pure.
 */
export function readBackSpacingMs(limits: ServiceSettings['limits'], maxShare: number): number {
  if (limits.length === 0) return unknownLimitMs;
  return Math.max(...limits.map(({ requests, perSeconds }) => (perSeconds * 1000) / (requests * maxShare)));
}
