import { decimal, group, whole } from './value-types.js';

const keptDays = (standard: number, meaning: string) => decimal(1, 36_500).default(standard).describe(meaning);

export const retentionSettings = group(
  'Ages at which Waybill deletes rows: at most a twentieth of each table in a night, by time that surely passed. It never prunes bindings.',
  {
    messagesDays: keptDays(
      365,
      'How long a closed message and its attempts are kept. A message stays while it waits, is parked, or is the only trace of a record.',
    ),
    bodiesDays: keptDays(90, 'How long webhooks and the bodies and excerpts of closed messages are kept.'),
    auditDays: keptDays(730, 'How long audit lines, pulls and past alerts are kept.'),
    batchSize: whole(10, 5_000, 'rows')
      .default(100)
      .describe('Rows that one transaction handles; a small number keeps other work from waiting.'),
  },
);
