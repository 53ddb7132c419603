import type { ServiceSettings } from '../../config/sections/service.js';

/**
 * Requests a second that the limit with the shortest window allows: how fast requests follow each other. What a longer window
 * allows on average (10,000 a day are 0.12/s) says nothing of that; its slots are counted. Null: no limit is known.
 */
export function shortestWindowRate(limits: readonly { requests: number; perSeconds: number }[]): number | null {
  if (limits.length === 0) return null;
  const shortest = Math.min(...limits.map(({ perSeconds }) => perSeconds));
  const rates = limits.filter(({ perSeconds }) => perSeconds === shortest).map(({ requests }) => requests / shortest);
  return Math.min(...rates);
}

const least = 16;
const most = 256;
/** With answers as slow as this a limit is still used: 200 requests a second are 100 under way. */
const answerSeconds = 0.5;

/** Requests under way at once: what is configured, else what the limits need. */
export function concurrencyOf({ concurrency, limits }: Pick<ServiceSettings, 'concurrency' | 'limits'>): number {
  if (concurrency !== undefined) return concurrency;
  const perSecond = shortestWindowRate(limits);
  if (perSecond === null) return least;
  return Math.min(most, Math.max(least, Math.ceil(perSecond * answerSeconds)));
}

/** How long we wait at first where a service that says "slow down" names no time: its shortest window, a second to a minute. */
export function ownWaitMs(limits: ServiceSettings['limits']): number {
  return Math.max(1_000, Math.min(...limits.map(({ perSeconds }) => perSeconds), 60) * 1000);
}
