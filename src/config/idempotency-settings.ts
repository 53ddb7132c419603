import { z } from 'zod';
import { headerName } from './value-types.js';

export const idempotencySettings = z
  .strictObject({
    in: z
      .enum(['header', 'body'])
      .default('header')
      .describe(
        'Where the key travels. body: as a field of every JSON body, which belongs to the frozen bytes; a removal has no body and then carries no key.',
      ),
    header: headerName.default('Idempotency-Key').describe('Header that carries the key, where it travels in one.'),
    field: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/)
      .default('idempotency_key')
      .describe(
        'Field of the body that carries the key, where it travels in the body. No mapped field may have its name.',
      )
      .meta({ allowed: 'a name of at most 64 letters, digits and _ . -' }),
    quoted: z
      .boolean()
      .default(false)
      .describe('true sends the key of the header in double quotes, as the IETF draft has it.'),
    lifetimeHours: z
      .number()
      .positive()
      .default(24)
      .describe('How long the service remembers a key. Later nothing is resent blindly.'),
    replaysRefusals: z
      .boolean()
      .default(false)
      .describe(
        'true when the service answers a refused key with the same refusal for ever, so that a corrected record needs a new key.',
      ),
    comparesBodies: z
      .boolean()
      .default(true)
      .describe(
        'Whether the service notices a key that comes with another body. false: it answers as the first time, and no answer is taken for service.answers.keyReused.',
      ),
  })
  .prefault({})
  .describe('How the service recognises a request that it has seen before.');

export type IdempotencySettings = z.output<typeof idempotencySettings>;
