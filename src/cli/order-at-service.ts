import type { Settings } from '../config/settings.js';
import { currencyScale } from '../erp/currency-scale.js';
import type { OrderAtService } from '../outbox/tell-story.js';
import { formatAmount } from './format-amount.js';

/** What the service said of an order when it was read back, in words, a line each. Pure. */
export function orderAtService(
  { status, total, readAt, isFinal, goneAt, flag }: OrderAtService,
  time: (ms: number) => string,
  { currency, scale }: Pick<Settings['amounts'], 'currency' | 'scale'>,
): string[] {
  const amount =
    total === null ? '' : `, total ${formatAmount(total, scale ?? currencyScale(currency) ?? 0)} ${currency}`;
  const shown = status === null ? 'it was never shown' : `${JSON.stringify(status)}${amount}`;
  const last = status === null ? shown : `before that ${shown}`;
  return [
    goneAt === null
      ? `${shown}, read ${time(readAt)}${isFinal ? '; final, so it is not read any more' : ''}`
      : `not at the service any more since ${time(goneAt)}, looked for ${time(readAt)}; ${last}. Nothing is created again.`,
    ...(flag === null ? [] : [`to be looked at: ${flag}`]),
  ];
}
