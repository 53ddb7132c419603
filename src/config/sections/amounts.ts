import { z } from 'zod';
import { choice, currency, group, whole } from './value-types.js';

export const amountsSettings = group('How decimal columns become the integer amounts of the service, exactly.', {
  currency: currency.describe('Currency of every amount, as an ISO 4217 code. Never guessed.'),
  currencies: z
    .array(currency)
    .min(1)
    .optional()
    .describe('Further currencies that orders may have, by orders.currency. Absent: every order is in `currency`.')
    .meta({ allowed: 'a list of ISO 4217 codes, such as [JPY, KWD]' }),
  scale: whole(0, 6, 'decimal places')
    .optional()
    .describe(
      'Decimal places of the service’s integer amounts; 2 sends 19.99 as 1999. Default: the exponent of each currency.',
    ),
  rounding: choice(['refuse', 'half-up', 'half-even'], 'What to do with an amount that has more decimals than scale.'),
});
