import type { AuditEntry } from '../../audit/audit-log.js';
import type { SettledMessage } from './settle-messages.js';

/** What the audit says of one attempt and of what became of its message. */
export function auditOfOutcome(
  { message, transition, outcome }: SettledMessage,
  attemptId: number,
  actor: string,
): AuditEntry[] {
  const base = { entity: message.entity, sourceKey: message.sourceKey, messageId: message.id, actor };
  const attempt: AuditEntry = {
    ...base,
    event: 'attempt',
    outcome: outcome.verdict,
    attemptId,
    detail: {
      number: message.attemptNumber,
      operation: message.operation,
      idempotencyKey: message.idempotencyKey,
      bodyHash: message.bodyHash,
      startedAt: outcome.startedAt,
      durationMs: outcome.durationMs,
      status: outcome.status,
      ...(outcome.repeatedAfter401 ? { repeatedAfter401: true } : {}),
      requestId: outcome.requestId,
      reason: outcome.reason,
      excerptHash: outcome.excerptHash,
      nextAttemptAt:
        transition.state === 'pending' || transition.state === 'in_doubt' ? transition.nextAttemptAt : null,
    },
  };
  if (transition.state === 'delivered')
    return [
      attempt,
      {
        ...base,
        event: 'delivered',
        outcome: 'delivered',
        detail: {
          serviceId: transition.serviceId,
          flag: transition.flag,
          serviceState: outcome.serviceState ?? null,
          serviceTotal: outcome.serviceTotal ?? null,
        },
      },
    ];
  if (transition.state === 'parked')
    return [
      attempt,
      { ...base, event: 'parked', outcome: transition.parkClass, detail: { reason: transition.reason } },
    ];
  return [attempt];
}
