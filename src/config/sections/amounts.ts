import { z } from 'zod';
import { currency } from './value-types.js';

export const amountsSettings = z
  .strictObject({
    currency: currency.describe('Currency of every amount, as an ISO 4217 code. Never guessed.'),
    scale: z
      .number()
      .int()
      .min(0)
      .max(6)
      .optional()
      .describe(
        'Decimal places of the service’s integer amounts; 2 sends 19.99 as 1999. Default: the exponent of the currency.',
      )
      .meta({ unit: 'decimal places' }),
    rounding: z
      .enum(['refuse', 'half-up', 'half-even'])
      .default('refuse')
      .describe('What happens to an amount with more decimals than scale.'),
  })
  .describe('How decimal columns become the integer amounts of the service, exactly.');

export type AmountsSettings = z.output<typeof amountsSettings>;
