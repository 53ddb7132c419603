import type { ServiceSettings } from '../config/service-settings.js';

/** How long we wait at first where a service that says "slow down" names no time: its shortest window, a second to a minute. */
export function ownWaitMs(limits: ServiceSettings['limits']): number {
  return Math.max(1_000, Math.min(...limits.map(({ perSeconds }) => perSeconds), 60) * 1000);
}
