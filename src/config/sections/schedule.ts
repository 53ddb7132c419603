import { z } from 'zod';
import { cronExpression, timeZone } from './value-types.js';

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const timeOfDay = (pattern: RegExp, allowed: string) => z.string().regex(pattern, `not ${allowed}`).meta({ allowed });

const quietHours = z.strictObject({
  lanes: z
    .array(z.enum(['deliver', 'pull']))
    .min(1)
    .default(['deliver', 'pull'])
    .describe('What is quiet: deliver sends, resends, looks up and probes; pull reads invoices.'),
  from: timeOfDay(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time such as "22:00"').describe('When it begins.'),
  to: timeOfDay(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'a time such as "06:00", or "24:00"').describe(
    'When it ends; a time that is not after `from` is one of the next day.',
  ),
  days: z
    .array(z.enum(days))
    .min(1)
    .default([...days])
    .describe('Days of the week on which it begins.'),
});

export const scheduleSettings = z
  .strictObject({
    capture: cronExpression.default('*/30 * * * * *').describe('Cron expression, with seconds: when the ERP is read.'),
    pull: cronExpression
      .default('0 */15 * * * *')
      .describe('Cron expression, with seconds: when unpaid invoices are read.'),
    writeBack: cronExpression
      .default('15,45 * * * * *')
      .describe(
        'Cron expression, with seconds: when changes are written back, beside right after a pull. See writeBack.',
      ),
    prune: cronExpression
      .default('0 30 3 * * *')
      .describe('Cron expression, with seconds: when old messages and audit lines are pruned.'),
    timeZone: timeZone.default('UTC').describe('Time zone of the cron expressions and of the quiet hours.'),
    quietHours: z
      .array(quietHours)
      .max(20)
      .default([])
      .describe('When the service is not asked for anything. Capture goes on.')
      .meta({
        allowed: 'quietHours: [{from: "22:00", to: "06:00", days: [mon, tue], lanes: [deliver, pull]}]',
        unit: '',
      }),
  })
  .describe('When the jobs run.');

export type QuietHours = z.output<typeof quietHours>;

export type ScheduleSettings = z.output<typeof scheduleSettings>;
