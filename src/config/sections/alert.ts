import { z } from 'zod';

export const alertSettings = z
  .strictObject({
    command: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
      .transform((value) => (typeof value === 'string' ? [value] : value))
      .optional()
      .describe(
        'Program that is told what is wrong, and when it is over: JSON on its stdin. A path, or a list of program and arguments; no shell.',
      )
      .meta({ allowed: 'the path of a program, or a list of the program and its arguments' }),
    timeoutSeconds: z.number().positive().max(600).default(30).describe('How long the program may take.'),
    retrySeconds: z
      .number()
      .positive()
      .default(60)
      .describe('Wait after a failed try to tell; doubled with each further one, up to an hour.'),
    outageMinutes: z
      .number()
      .min(0)
      .default(5)
      .describe('How long the service may be out of reach, or may make us wait, before it is told.'),
    failuresInRow: z
      .number()
      .int()
      .min(1)
      .default(3)
      .describe('Failed captures, pulls, or write-backs to an ERP that is away, in a row before it is told.')
      .meta({ unit: 'runs' }),
    maxSilenceHours: z
      .number()
      .positive()
      .default(12)
      .describe('How long nothing at all (capture, delivery, pull) may succeed before it is told.'),
  })
  .describe('Who is told when something needs a person.');

export type AlertSettings = z.output<typeof alertSettings>;
