import type { AuditLine } from '../../audit/read-audit.js';

/** The details that are there, in few words. Hashes and keys appear only in --json and --csv. */
export function detailInWords({ detail }: Pick<AuditLine, 'detail'>): string {
  const hidden = new Set(['idempotencyKey', 'bodyHash', 'excerptHash', 'startedAt', 'nextAttemptAt']);
  return Object.entries(detail)
    .filter(([name, value]) => value !== null && !hidden.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(' ');
}
