import type { ErpReader, RowFilter } from '../../erp/erp-reader.js';
import type { HeldFact } from '../../model/facts/alerts.js';
import type { Fact } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { capture } from '../../outbound/capture/capture.js';
import type { CaptureOptions } from '../../outbound/capture/capture-result.js';
import type { JudgedRow } from '../../outbound/capture/judged-rows.js';
import { changedFields } from '../../outbound/outbox/compose-update.js';
import { canonicalJson } from '../../outbound/outbox/content-hash.js';
import { countOpen } from '../sync.js';

/** The effect of a resync on one record. */
export type Fate = 'new' | 'changed' | 'identical' | 'inDoubt' | 'underWay' | 'waiting' | 'parked' | 'held';

export interface ResyncPlan extends Record<Fate, number> {
  /** Creates and updates, held ones among them. */
  creates: number;
  updates: number;
  /** The number of updates that change a field. */
  fields: { field: string; count: number }[];
  /** Customers that come along with orders. */
  customers: { new: number; changed: number };
  /** The reasons for which the pass as a whole would be on hold. */
  holds: HeldFact[];
  /** Requests that this makes, and those of what waits already. */
  requests: number;
  /** The time that they take at the configured limits; null: none is configured. */
  seconds: number | null;
  stopped: Fact | null;
}

/** The fate of a judged row. Pure. */
function fateOf({ outcome, waits, newest }: Pick<JudgedRow, 'outcome' | 'waits' | 'newest'>): Fate {
  if (waits !== null) return 'waiting';
  if (outcome !== 'unchanged' && 'message' in outcome) {
    const { operation, parked } = outcome.message;
    if (parked !== null) return parked.parkClass === 'held' ? 'held' : 'parked';
    return operation === 'create' ? 'new' : 'changed';
  }
  switch (newest?.state) {
    case 'in_doubt':
      return 'inDoubt';
    case 'pending':
    case 'sending':
      return 'underWay';
    case 'parked':
      return newest.parkClass === 'held' ? 'held' : 'parked';
    default:
      return 'identical';
  }
}

/** The time that so many requests take when each limit is used up. Pure. */
export function secondsAtLimits(
  requests: number,
  limits: readonly { requests: number; perSeconds: number }[],
): number | null {
  if (limits.length === 0) return null;
  return Math.max(...limits.map((limit) => (requests * limit.perSeconds) / limit.requests));
}

/** The plan of `waybill resync`, and its duration: capture's own dry run. Writes nothing and sends nothing. */
export async function planResync(
  context: JobContext,
  reader: ErpReader,
  filter: { entity: Entity } & RowFilter,
  options: Pick<CaptureOptions, 'signal' | 'onProgress'> = {},
): Promise<ResyncPlan> {
  const fates = { new: 0, changed: 0, identical: 0, inDoubt: 0, underWay: 0, waiting: 0, parked: 0, held: 0 };
  const plan = { ...fates, creates: 0, updates: 0, customers: { new: 0, changed: 0 } };
  const fields = new Map<string, number>();
  const { holds, stopped } = await capture(context, reader, {
    ...options,
    filter,
    dryRun: true,
    onTouched: (records) => {
      for (const { entity, operation, parked } of records)
        if (entity !== filter.entity && parked === null) plan.customers[operation === 'create' ? 'new' : 'changed']++;
    },
    onJudged: ({ rows }) => {
      for (const one of rows) {
        const fate = fateOf(one);
        plan[fate]++;
        const operation = operationOf(one);
        if (fate === 'new' || (fate === 'held' && operation === 'create')) plan.creates++;
        if (fate !== 'changed' && !(fate === 'held' && operation === 'update')) continue;
        plan.updates++;
        const { content } = one.row;
        const json = content.mapped ? canonicalJson(content.record) : null;
        for (const field of changedFields(one.acknowledged, json)) fields.set(field, (fields.get(field) ?? 0) + 1);
      }
    },
  });
  const waiting = await countOpen(context.store, null);
  const requests = plan.new + plan.changed + plan.customers.new + plan.customers.changed + waiting;
  return {
    ...plan,
    fields: [...fields].map(([field, count]) => ({ field, count })).sort((a, b) => b.count - a.count),
    holds,
    requests,
    seconds: secondsAtLimits(requests, context.settings.service.limits),
    stopped: stopped?.reason ?? null,
  };
}

function operationOf({ outcome, newest }: JudgedRow): string | null {
  return outcome !== 'unchanged' && 'message' in outcome ? outcome.message.operation : (newest?.operation ?? null);
}
