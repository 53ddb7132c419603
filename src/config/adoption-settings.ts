import { z } from 'zod';

/** What follows when the service says that a customer is there already. */
export const adoptionSettings = z
  .strictObject({
    customers: z
      .enum(['exact', 'off'])
      .default('exact')
      .describe(
        'exact: a customer that is there already is adopted when its code is exactly ours; what differs is held for review. off: a person decides about each. Names and e-mail addresses never match by themselves.',
      ),
    codeField: z
      .string()
      .min(1)
      .default('customer_code')
      .describe(
        'Where the code stands, in the answer to a single read and in a record that an answer carries, such as data.customer_code. The id stands there too, unless the service gives ids: then at service.acknowledgement.customerId.',
      ),
    answerRecord: z
      .string()
      .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'not the names of fields with dots between them')
      .optional()
      .describe(
        'Where the answer "already exists" carries the customer that is there, such as error.customer. Absent: it is asked for.',
      )
      .meta({ allowed: 'names of fields with dots between them' }),
  })
  .prefault({})
  .describe('Customers that somebody else made at the service before us.');

export type AdoptionSettings = z.output<typeof adoptionSettings>;
