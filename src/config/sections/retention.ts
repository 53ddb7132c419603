import type { z } from 'zod';
import type { Partly, Report } from '../configuration-error.js';
import type { ServiceSettings } from './service.js';
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

/** The settings that are checked together. */
type Relevant = Partly<{ retention: z.output<typeof retentionSettings>; service: ServiceSettings }>;

export function checkRetention({ retention = {}, service = {} }: Relevant, report: Report): void {
  // Within the key's lifetime a message is what proves that a resend makes no second record.
  const hours = service.idempotency?.lifetimeHours;
  for (const name of ['messagesDays', 'bodiesDays', 'auditDays'] as const) {
    const kept = retention[name];
    if (hours === undefined || kept === undefined || kept * 24 >= hours) continue;
    report(`retention.${name}`, 'is shorter than the lifetime of a key', {
      found: `${kept} days, with a lifetime of ${hours} hours`,
      allowed: `at least ${Math.ceil(hours / 24)}, because service.idempotency.lifetimeHours is ${hours}`,
    });
  }
  // The rate limiter counts past requests from their attempts, which therefore have to outlive every window.
  for (const [index, limit] of (service.limits ?? []).entries()) {
    const seconds = (limit as Partial<typeof limit> | undefined)?.perSeconds;
    for (const name of ['messagesDays', 'auditDays'] as const) {
      const kept = retention[name];
      if (seconds === undefined || kept === undefined || kept * 86_400 >= seconds) continue;
      report(`service.limits.${index}.perSeconds`, 'is longer than past requests stay on record', {
        found: `${seconds}, with retention.${name}: ${kept}`,
        allowed: `at most ${kept * 86_400}, or a longer retention.${name}`,
      });
    }
  }
}
