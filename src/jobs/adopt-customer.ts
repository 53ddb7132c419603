import { type AuditEntry, appendAudit } from '../audit/audit-log.js';
import type { FoundRecord } from '../model/look-up-finding.js';
import { type AdoptOutcome, adoptFound, type ConflictingCreate } from '../outbox/adopt-found.js';
import type { AdoptedFrom } from '../outbox/adoptions.js';
import { heldAsAdopted } from '../outbox/held-as-adopted.js';
import type { Tx } from '../store/store.js';
import type { JobContext } from './job-context.js';

/** Names of fields that a line of the audit has room for. */
const maxNames = 30;

/** Adopts what was found for a customer whose create is parked as a conflict, and puts on the audit what became of it. */
export async function adoptCustomer(
  tx: Tx,
  { settings, actor }: JobContext,
  create: ConflictingCreate,
  found: FoundRecord,
  from: AdoptedFrom,
  nowMs: number,
): Promise<AdoptOutcome> {
  const { method } = settings.service.endpoints.updateCustomer;
  const outcome = await adoptFound(tx, create, found, { from, actor, method }, nowMs);
  const base = { entity: 'customer' as const, sourceKey: create.sourceKey, messageId: create.id, actor };
  const entries: AuditEntry[] = [];
  if (outcome.kind === 'adopted') {
    const { serviceId, differs, held } = outcome;
    const detail = { serviceId, differs: differs.slice(0, maxNames), differing: differs.length };
    entries.push(
      { ...base, event: 'adopted', outcome: from, detail },
      ...held.map(
        (messageId): AuditEntry => ({
          ...base,
          messageId,
          event: 'parked',
          outcome: 'held',
          detail: { reason: heldAsAdopted },
        }),
      ),
    );
  }
  if (outcome.kind === 'known')
    entries.push({ ...base, event: 'superseded', detail: { reason: 'The service has acknowledged it already.' } });
  if (outcome.kind === 'refused') {
    await tx.run('UPDATE outbox_message SET reason=? WHERE id=?', [outcome.reason.slice(0, 1000), create.id]);
    entries.push({ ...base, event: 'parked', outcome: 'conflict', detail: { reason: outcome.reason } });
  }
  await appendAudit(tx, entries, nowMs);
  return outcome;
}
