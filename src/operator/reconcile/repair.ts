import { appendAudit } from '../../audit/audit-log.js';
import type { ErpReader } from '../../erp/erp-reader.js';
import type { LeftToPerson } from '../../model/facts/reconcile.js';
import type { Entity } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { capture } from '../../outbound/capture/capture.js';
import { type KnownRecord, knownRecords } from '../../outbound/capture/known-records.js';
import { closeBindings, doubtBoundContents } from '../../outbound/outbox/bindings.js';
import { canonicalJson, doubtContents, sha256 } from '../../outbound/outbox/content-hash.js';
import type { ServiceClient } from '../../service/service-client.js';
import { requestWakeUp, sweepAtNextPass } from '../../store/job-runs.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { type SyncOptions, type SyncResult, sync } from '../sync.js';
import { type Cause, openCause } from './name-finding.js';
import { countCauses, type Finding, listFindings, type Reconciliation } from './reconcile-rows.js';

const batchSize = 200;

export interface RepairPlan extends Repairs {
  /** Tells this list from any other: what a person agreed to is done, or nothing. */
  fingerprint: string;
}

interface Repairs {
  /** Records that are sent (again), changed, or removed at the service. */
  repairs: { cause: Cause; count: number }[];
  /** Findings that a person has to settle in another way, with the way. */
  left: { cause: Cause; count: number; why: LeftToPerson }[];
  /** In all that is repaired. */
  count: number;
}

/** The repairs for the findings of a comparison, and the findings without one. Writes nothing. */
export async function planRepair(context: Looks, run: Reconciliation): Promise<RepairPlan> {
  return { ...(await countRepairs(context, run)), fingerprint: await fingerprintOf(context.store, run.id) };
}

type Looks = Pick<JobContext, 'store' | 'settings'>;

/** The same without a look at each finding. */
export async function countRepairs({ store, settings }: Looks, run: Reconciliation): Promise<Repairs> {
  const counted = await store.read('count what was found', (tx) => countCauses(tx, run.id));
  const own = run.subject === 'customers' ? settings.customers : settings.orders;
  const about = {
    removes: own.onDeleted !== 'nothing',
    // More records than people remove by hand: more likely something happened to the service.
    mostGone: settings.capture.maxRemovals,
    // If the service showed no record at all, its address may be wrong rather than every record gone.
    nothingShown: run.tally.shown.length === 0,
  };
  const plan: Repairs = { repairs: [], left: [], count: 0 };
  for (const { cause, count } of counted) {
    if (isLeft(cause, count, about)) {
      const { mostGone, nothingShown } = about;
      const why: LeftToPerson = { code: 'left_to_person', cause, subject: run.subject, mostGone, nothingShown };
      plan.left.push({ cause, count, why });
    } else {
      plan.repairs.push({ cause, count });
      plan.count += count;
    }
  }
  return plan;
}

/** Causes that a repair settles, if nothing speaks against it. */
const repairable: readonly Cause[] = ['never_sent', 'withdrawn', 'changed', 'gone_at_service', 'deleted_in_erp'];

/** True if a repair leaves a finding to a person. Pure. */
function isLeft(
  cause: Cause,
  count: number,
  { removes, mostGone, nothingShown }: { removes: boolean; mostGone: number; nothingShown: boolean },
): boolean {
  if (cause === 'gone_at_service') return nothingShown || count > mostGone;
  if (cause === 'deleted_in_erp') return !removes;
  return !repairable.includes(cause);
}

/** One text for all that was found, in its order: another list has another one. */
async function fingerprintOf(store: JobContext['store'], runId: number): Promise<string> {
  let hash = '';
  for (let afterId = 0; ; ) {
    const page = await store.read('read what was found', (tx) => listFindings(tx, runId, { afterId, limit: 500 }));
    for (const { id, reason: _, number: __, ...finding } of page) {
      hash = sha256(`${hash}\n${canonicalJson({ ...finding, fields: finding.fields.map((one) => ({ ...one })) })}`);
      afterId = id;
    }
    if (page.length < 500) return hash.slice(0, 12);
  }
}

/** For so long a list that a person was shown can be repaired, without comparing anew. */
export const freshMs = 3_600_000;

interface Agreed {
  run: Reconciliation;
  plan: RepairPlan;
  reason: string;
}

interface Marked {
  /** Records of which what the service holds is doubted, or whose binding was closed. */
  marked: number;
  /** Had moved on since they were compared. */
  left: number;
}

/**
 * Has the outbox bring the service in line with the ERP. A record that the service lacks becomes a create under a key
 * of the next generation, one that differs an update of all fields; then a sweep captures them like anything else, past
 * all holds.
 */
export async function repair(
  context: JobContext,
  partners: { reader: ErpReader; client: () => Promise<ServiceClient> | ServiceClient },
  agreed: Agreed,
  options: Pick<SyncOptions, 'signal' | 'onProgress'> = {},
): Promise<Marked & { sync: SyncResult }> {
  const marked = await markFindings(context, agreed);
  // The first of the two sweeps that have to miss a record before it counts as deleted.
  if (agreed.plan.repairs.some(({ cause }) => cause === 'deleted_in_erp'))
    await capture(context, partners.reader, { sweep: true, ...options, onProgress: undefined });
  return { ...marked, sync: await sync(context, partners, { stages: ['capture', 'deliver'], ...options }) };
}

/** The same where a daemon runs: it is asked for the sweep, and delivers. */
export async function askForRepair(context: JobContext, agreed: Agreed): Promise<Marked> {
  const marked = await markFindings(context, agreed);
  await context.store.transaction('ask for a sweep', async (tx) => {
    await sweepAtNextPass(tx, agreed.run.subject === 'orders' ? 'order' : 'customer');
    await requestWakeUp(tx, 'capture', context.actor, context.nowMs());
  });
  return marked;
}

async function markFindings(context: JobContext, { run, plan, reason }: Agreed): Promise<Marked> {
  const { store, actor, nowMs } = context;
  const causes = plan.repairs.map(({ cause }) => cause);
  const marking = (['gone_at_service', 'changed'] as const).filter((cause) => causes.includes(cause));
  const detail = { reason, reconciliation: run.id, list: plan.fingerprint, count: plan.count };
  await store.transaction('begin a repair', (tx) =>
    appendAudit(tx, { event: 'operator', outcome: 'repair', actor, detail }, nowMs()),
  );
  let marked = 0;
  let met = 0;
  for (let afterId = 0; marking.length > 0; ) {
    const page = await store.read('read what was found', (tx) =>
      listFindings(tx, run.id, { afterId, limit: batchSize, causes: marking }),
    );
    const last = page.at(-1);
    if (!last) break;
    afterId = last.id;
    met += page.length;
    marked += await store.transaction('repair what was found', (tx) => markPage(context, tx, run, page, reason));
    killPoint('after-repair-commit');
  }
  return { marked, left: met - marked };
}

/** Only what stands as it was compared: whatever moved since is met by the next comparison. */
async function markPage(
  { actor, nowMs }: JobContext,
  tx: Tx,
  run: Reconciliation,
  page: readonly Finding[],
  reason: string,
): Promise<number> {
  const entity: Entity = run.subject === 'orders' ? 'order' : 'customer';
  const keys = page.map(({ sourceKey }) => sourceKey);
  const known = await knownRecords(tx, entity, keys, true);
  const ids = new Map(await boundIds(tx, entity, keys));
  const standing = page.filter(({ sourceKey, serviceId }) => {
    const { newest, binding } = known.get(sourceKey) as KnownRecord;
    return (
      binding !== null &&
      ids.get(sourceKey)?.id === serviceId &&
      openCause(newest) === null &&
      isOlder(ids.get(sourceKey), run)
    );
  });
  const gone = standing.filter(({ cause }) => cause === 'gone_at_service');
  const changed = standing.filter(({ cause }) => cause === 'changed');
  const at = nowMs();
  await closeBindings(
    tx,
    gone.map(({ sourceKey }) => {
      const { newest, binding } = known.get(sourceKey) as KnownRecord;
      return {
        entity,
        sourceKey,
        revision: Math.max(newest?.revision ?? 0, binding?.revision ?? 0),
        generation: Math.max(newest?.generation ?? 0, binding?.generation ?? 0),
      };
    }),
    at,
  );
  await doubtBoundContents(
    tx,
    entity,
    changed.map(({ sourceKey }) => sourceKey),
  );
  const newest = changed.flatMap(({ sourceKey }) => known.get(sourceKey)?.newest ?? []);
  await doubtContents(
    tx,
    newest.map(({ id }) => ({ id, entity })),
  );
  await appendAudit(
    tx,
    standing.map(({ sourceKey, cause, serviceId }) => ({
      event: 'operator',
      outcome: cause === 'changed' ? 'repair_changed' : 'repair_missing',
      entity,
      sourceKey,
      actor,
      detail: { reason, reconciliation: run.id, serviceId },
    })),
    at,
  );
  return standing.length;
}

interface BoundId {
  id: string;
  at: number;
}

async function boundIds(tx: Tx, entity: Entity, keys: readonly string[]): Promise<[string, BoundId][]> {
  const rows = await tx.rows<{ sourceKey: string; id: string; at: number }>(
    `SELECT source_key, service_id AS id, acknowledged_at AS at FROM binding WHERE entity=? AND source_key IN ${placeholders(keys.length)}`,
    [entity, ...keys],
  );
  return rows.map(({ sourceKey, id, at }) => [sourceKey, { id, at }]);
}

/** Nothing was acknowledged of it since the comparison ended. */
function isOlder(bound: BoundId | undefined, run: Reconciliation): boolean {
  return bound !== undefined && bound.at <= (run.endedAt ?? run.progressAt);
}
