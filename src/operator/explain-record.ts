import { readAuditPage, startOfLast } from '../audit/read-audit.js';
import { sentCurrency } from '../erp/mapping/money.js';
import type { Fact } from '../model/facts/fact.js';
import { type Entity, inSource } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { acknowledgedRecords } from '../outbound/capture/known-records.js';
import { goLiveProblem } from '../outbound/deliver/go-live.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import { keyLifetimeMs } from '../outbound/outbox/idempotency-key.js';
import { readCursor } from '../store/job-runs.js';
import { activePauses, type LanePause, listPauses } from '../store/lane-pauses.js';
import type { OperatorContext } from './actions/decide-message-action.js';
import { tellStory } from './tell-story.js';

/** The facts outside a record that decide what becomes of it. */
export interface Circumstances extends Pick<OperatorContext, 'keyLifetimeMs' | 'maxProcessingMs'> {
  /** The service can be asked for an order. */
  canLookUpOrders: boolean;
  nowMs: number;
  /** The pauses that hold delivery now. */
  pauses: readonly LanePause[];
  /** Why nothing may be delivered to this service yet, or null. */
  notLive: Fact | null;
}

export type Explanation = Awaited<ReturnType<typeof explainRecord>>;

/** The newest audit lines of a record are shown; `waybill audit` prints the older ones. */
const maxAuditLines = 500;

/** Everything that the store knows about one record, and what follows from it. */
export async function explainRecord(
  { store, settings, nowMs }: JobContext,
  { entity, sourceKey, erpIdentity }: { entity: Entity; sourceKey: string; erpIdentity: string },
) {
  const now = nowMs();
  return store.read('tell the story of a record', async (tx) => {
    const filter = { records: [{ entity, sourceKey }] };
    const start = await startOfLast(tx, filter, maxAuditLines);
    const pauses = [...(await listPauses(tx)), ...new QuietClock(settings.schedule).pauses(now)];
    const story = await tellStory(tx, entity, sourceKey);
    const circumstances: Circumstances = {
      nowMs: now,
      keyLifetimeMs: keyLifetimeMs(settings.service),
      maxProcessingMs: settings.service.maxProcessingSeconds * 1000,
      canLookUpOrders: settings.service.endpoints.lookUpOrder !== undefined,
      pauses: activePauses(pauses, 'deliver', now),
      notLive: await goLiveProblem(tx, settings, erpIdentity),
    };
    const audit = await readAuditPage(tx, filter, start.afterId, maxAuditLines);
    const acknowledged = await acknowledgedRecords(tx, entity, [sourceKey]);
    const currency = sentCurrency(settings, acknowledged.get(sourceKey) ?? null);
    // `currency`: of the order's amounts, null where nothing tells. `olderAudit`: the audit holds older lines of the record than these.
    return { story, circumstances, audit, currency, olderAudit: start.older };
  });
}

/** The extent of what capture has read so far; a record beyond it is not known yet. */
export async function readCaptured({ store, settings }: JobContext, entity: Entity) {
  return store.read('read the cursor', async (tx) => ({
    cursor: await readCursor(tx, inSource(entity, settings.source)),
    hasBegun: (await tx.value('SELECT id FROM outbox_message WHERE entity=? LIMIT 1', [entity])) !== undefined,
  }));
}
