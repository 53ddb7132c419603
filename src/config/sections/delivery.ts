import { z } from 'zod';

export const deliverySettings = z
  .strictObject({
    leaseSeconds: z
      .number()
      .min(2)
      .max(600)
      .default(30)
      .describe('How long a deliverer that fell silent keeps its place.'),
    drainSeconds: z.number().positive().max(300).default(20).describe('How long a stop waits for requests under way.'),
    backoffBaseSeconds: z
      .number()
      .positive()
      .default(2)
      .describe('Longest wait before the second attempt; doubled with each further one.'),
    backoffMaxSeconds: z.number().positive().default(900).describe('Longest wait between two attempts of one record.'),
    quickResends: z
      .number()
      .int()
      .min(0)
      .max(5)
      .default(2)
      .describe('Resends at once of what provably never left.')
      .meta({ unit: 'requests' }),
    outageAfterFailures: z
      .number()
      .int()
      .min(1)
      .default(5)
      .describe('Failed requests in a row, of whichever messages, that open the breaker.')
      .meta({ unit: 'requests' }),
    probeSeconds: z.number().positive().default(5).describe('Time between two probes of a service that is down.'),
  })
  .describe('How messages are delivered.');

export type DeliverySettings = z.output<typeof deliverySettings>;
