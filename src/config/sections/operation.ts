import { z } from 'zod';
import { cronExpression, decimal, group, positive, text, textLike, timeZone, whole } from './value-types.js';

export const captureSettings = group('How the ERP is read.', {
  pageSize: whole(1, 5000, 'records').default(500).describe('Records read in one snapshot.'),
  overlapSeconds: decimal(0)
    .default(600)
    .describe('How far behind the cursor each pass starts, so that it finds late commits.'),
  sweepMinutes: positive().default(60).describe('How often everything eligible is read, whatever the cursor says.'),
  maxUpdates: whole(0)
    .meta({ unit: 'records' })
    .default(200)
    .describe('When one pass finds more changed records than this, they wait for `waybill confirm`.'),
  maxRemovals: whole(0)
    .meta({ unit: 'records' })
    .default(10)
    .describe('When one pass finds more cancelled or deleted records than this, they wait for `waybill confirm`.'),
});

export const deliverySettings = group('How messages are delivered.', {
  leaseSeconds: decimal(2, 600).default(30).describe('How long a deliverer that has gone silent keeps its place.'),
  drainSeconds: positive(300).default(20).describe('How long a stop waits for requests under way.'),
  backoffBaseSeconds: positive()
    .default(2)
    .describe('Longest wait before the second attempt; doubled with each further one.'),
  backoffMaxSeconds: positive().default(900).describe('Longest wait between two attempts of one record.'),
  quickResends: whole(0, 5, 'requests').default(2).describe('Immediate resends of a request that provably never left.'),
  outageAfterFailures: whole(1)
    .meta({ unit: 'requests' })
    .default(5)
    .describe('Failed requests in a row, of any messages, that open the breaker.'),
  probeSeconds: positive().default(5).describe('Time between two probes of a service that is down.'),
});

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const quietHours = z.strictObject({
  lanes: z
    .array(z.enum(['deliver', 'pull']))
    .min(1)
    .default(['deliver', 'pull'])
    .describe('What is quiet: deliver sends, resends, looks up and probes; pull reads invoices.'),
  from: textLike(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time such as "22:00"').describe('When it begins.'),
  to: textLike(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'a time such as "06:00", or "24:00"').describe(
    'When it ends. A time that is not after `from` is on the next day.',
  ),
  days: z
    .array(z.enum(days))
    .min(1)
    .default([...days])
    .describe('Days of the week on which it begins.'),
});

const cron = (standard: string, when: string) =>
  cronExpression.default(standard).describe(`Cron expression, with seconds: when ${when}`);

export const scheduleSettings = group('When the jobs run.', {
  capture: cron('*/30 * * * * *', 'the ERP is read.'),
  pull: cron('0 */15 * * * *', 'unpaid invoices are read.'),
  writeBack: cron('15,45 * * * * *', 'changes are written back, in addition to right after each pull. See writeBack.'),
  prune: cron('0 30 3 * * *', 'old messages and audit lines are pruned.'),
  timeZone: timeZone.default('UTC').describe('Time zone of the cron expressions and of the quiet hours.'),
  quietHours: z
    .array(quietHours)
    .max(20)
    .default([])
    .describe('When the service is left alone. Capture goes on.')
    .meta({
      allowed: 'quietHours: [{from: "22:00", to: "06:00", days: [mon, tue], lanes: [deliver, pull]}]',
      unit: '',
    }),
});
export type QuietHours = z.output<typeof quietHours>;

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

const keptDays = (standard: number, meaning: string) => decimal(1, 36_500).default(standard).describe(meaning);

export const retentionSettings = group('What is deleted, and when. Bindings are never pruned.', {
  messagesDays: keptDays(
    365,
    'How long a closed message and its attempts are kept. A message stays while it waits, is parked, or is the only trace of a record.',
  ),
  bodiesDays: keptDays(90, 'How long webhooks and the bodies and excerpts of closed messages are kept.'),
  auditDays: keptDays(730, 'How long audit lines, pulls and past alerts are kept.'),
  batchSize: whole(10, 5_000, 'rows')
    .default(500)
    .describe('Rows that one transaction handles; a small number keeps other work from waiting.'),
});
