import { z } from 'zod';
import type { Partly, Report } from '../configuration-error.js';
import { cronExpression, group, textLike, timeZone } from './value-types.js';

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

/** The settings that are checked together. */
type Relevant = Partly<{ schedule: z.output<typeof scheduleSettings> }>;

export function checkSchedule({ schedule }: Relevant, report: Report): void {
  for (const [index, entry] of (schedule?.quietHours ?? []).entries()) {
    const { from, to } = (entry ?? {}) as Partial<QuietHours>;
    if (from !== undefined && from === to)
      report(`schedule.quietHours.${index}.to`, 'is when it begins', {
        found: to,
        allowed: 'another time; a whole day is from "00:00" to "24:00"',
      });
  }
}
