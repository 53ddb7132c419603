import { z } from 'zod';

const days = (standard: number, meaning: string) => z.number().min(1).max(36_500).default(standard).describe(meaning);

export const retentionSettings = z
  .strictObject({
    messagesDays: days(
      365,
      'How long a closed message and its attempts are kept. What waits, is parked, or alone remembers a record, stays.',
    ),
    bodiesDays: days(90, 'How long the bodies and excerpts of closed messages, and webhooks, are kept.'),
    auditDays: days(730, 'How long audit lines, pulls and past alerts are kept.'),
    batchSize: z
      .number()
      .int()
      .min(10)
      .max(5_000)
      .default(500)
      .describe('Rows that one transaction looks at, so that nothing else waits long.')
      .meta({ unit: 'rows' }),
  })
  .describe('What is forgotten, and when. Bindings are never pruned.');

export type RetentionSettings = z.output<typeof retentionSettings>;
