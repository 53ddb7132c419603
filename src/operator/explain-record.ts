import { readAuditPage, startOfLast } from '../audit/read-audit.js';
import type { Settings } from '../config/settings.js';
import type { ErpReader } from '../erp/erp-reader.js';
import { sentCurrency } from '../erp/mapping/money.js';
import type { Fact } from '../model/facts/fact.js';
import type { RecordFact } from '../model/facts/records.js';
import { firstFew } from '../model/facts/rows.js';
import { literalPattern } from '../model/literal-pattern.js';
import { outside } from '../model/outside.js';
import { type Entity, inSource, pluralOf } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { acknowledgedRecords } from '../outbound/capture/known-records.js';
import { goLiveProblem } from '../outbound/deliver/go-live.js';
import { QuietClock } from '../outbound/deliver/quiet-hours.js';
import { keyLifetimeMs } from '../outbound/outbox/idempotency-key.js';
import { readCursor } from '../store/job-runs.js';
import { activePauses, type LanePause, listPauses } from '../store/lane-pauses.js';
import type { OperatorContext } from './actions/decide-message-action.js';
import { type RecordStory, tellStory } from './tell-story.js';

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

/**
 * Why a record that the service has would not be sent today, as its row in the ERP says; null: it would be, or nothing is
 * known. What the settings name as cancelled or completed is no news.
 */
export async function standingInErp(
  reader: ErpReader,
  { orders, customers }: Pick<Settings, 'orders' | 'customers'>,
  { entity, sourceKey, messages }: Pick<RecordStory, 'entity' | 'sourceKey' | 'messages'>,
): Promise<RecordFact | null> {
  const newest = messages.at(-1);
  if (newest?.state !== 'delivered' || newest.operation === 'delete') return null;
  // A story is told without the ERP as well.
  const standing = await reader.standing(entity, [sourceKey]).catch(() => null);
  if (standing === null) return null;
  const [row] = standing;
  if (row === undefined) return { code: 'not_in_query_any_more', setting: `${pluralOf(entity)}.query` };
  if (row.unmet.length === 0) return null;
  const { cancelled } = entity === 'order' ? orders : customers;
  const marks = [cancelled, entity === 'order' ? orders.completed : undefined].flatMap((mark) => mark ?? []);
  const held = (column: string) =>
    Object.entries(row.row).find(([name]) => name.toLowerCase() === column.toLowerCase())?.[1] ?? null;
  if (marks.some(({ column, values }) => values.some((value) => `${value}` === (held(column) ?? '').trim())))
    return null;
  const named = row.unmet.map(({ demand }) => demand.toLowerCase()).join(' ');
  const columns = Object.entries(row.row)
    .filter(([column]) => new RegExp(`(?<!\\w)${literalPattern(column.toLowerCase())}(?!\\w)`).test(named))
    .map(([column, value]) => ({ column, value: value === null ? null : outside(value) }));
  return {
    code: 'not_pending_any_more',
    settings: row.unmet.map(({ setting }) => setting),
    columns: firstFew(columns),
  };
}

/** The extent of what capture has read so far; a record beyond it is not known yet. */
export async function readCaptured({ store, settings }: JobContext, entity: Entity) {
  return store.read('read the cursor', async (tx) => ({
    cursor: await readCursor(tx, inSource(entity, settings.source)),
    hasBegun: (await tx.value('SELECT id FROM outbox_message WHERE entity=? LIMIT 1', [entity])) !== undefined,
  }));
}
