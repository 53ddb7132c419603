import type { ServiceSettings } from '../config/service-settings.js';
import { shortestWindowRate } from './shortest-window-rate.js';

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
