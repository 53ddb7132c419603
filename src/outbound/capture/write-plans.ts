import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { JobContext } from '../../ops/job-context.js';
import type { Tx } from '../../store/store.js';
import { insertMessages } from '../outbox/new-messages.js';
import { supersedeUnsent } from '../outbox/transitions.js';
import type { Plan } from './plan-row.js';

/** Puts planned messages into the outbox and on the audit, and closes the unsent ones that they replace. */
export async function writePlans(context: JobContext, tx: Tx, plans: readonly Plan[], nowMs: number): Promise<void> {
  const supersedes = plans.flatMap((plan) => (plan.supersedes === null ? [] : [plan.supersedes]));
  await supersedeUnsent(tx, supersedes, null, nowMs);
  const ids = await insertMessages(
    tx,
    plans.map((plan) => plan.message),
    nowMs,
  );
  const entries = plans.flatMap(({ message, row, supersedes: older }, i): AuditEntry[] => {
    const base = {
      entity: message.entity,
      sourceKey: message.sourceKey,
      messageId: ids[i] as number,
      actor: context.actor,
    };
    const captured: AuditEntry = {
      ...base,
      event: 'captured',
      outcome: message.operation,
      detail: {
        number: message.number,
        revision: message.revision,
        changedAt: row.changedAt,
        idempotencyKey: message.idempotencyKey,
        bodyHash: message.idempotencyKey === null ? null : message.contentHash,
        supersedes: older,
      },
    };
    return message.parked
      ? [
          captured,
          { ...base, event: 'parked', outcome: message.parked.parkClass, detail: { reason: message.parked.reason } },
        ]
      : [captured];
  });
  await appendAudit(tx, entries, nowMs);
}
