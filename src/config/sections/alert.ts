import { z } from 'zod';
import { decimal, group, positive, text, whole } from './value-types.js';

export const alertSettings = group('How people are told that something needs them.', {
  command: z
    .union([text, z.array(text).min(1)])
    .transform((value) => (typeof value === 'string' ? [value] : value))
    .optional()
    .describe(
      'Program that is told what is wrong, and when it is over, as JSON on its stdin. A path, or a list of program and arguments; there is no shell.',
    )
    .meta({ allowed: 'the path of a program, or a list of the program and its arguments' }),
  timeoutSeconds: positive(600).default(30).describe('How long the program may take.'),
  retrySeconds: positive()
    .default(60)
    .describe('Wait after the program has failed; doubled with each further failure, up to an hour.'),
  outageMinutes: decimal(0)
    .default(5)
    .describe('How long the service may be out of reach, or make Waybill wait, before an alert is raised.'),
  failuresInRow: whole(1)
    .meta({ unit: 'runs' })
    .default(3)
    .describe(
      'Captures, pulls, or write-backs to an ERP out of reach that may fail in a row before an alert is raised.',
    ),
  maxSilenceHours: positive()
    .default(12)
    .describe('How long capture, delivery and pull may all go without a success before an alert is raised.'),
});
