import { appendAudit } from '../audit/audit-log.js';
import type { ErpReader } from '../erp/erp-reader.js';
import type { Entity } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { killPoint } from '../ops/kill-point.js';
import { capture } from '../outbound/capture/capture.js';
import type { Operation } from '../outbound/outbox/message.js';
import { endAlert } from '../store/alerts.js';
import { clearBrake, readBrakes } from '../store/cursors.js';
import {
  type Confirmation,
  confirmMessages,
  type HeldFilter,
  type HeldMessage,
  heldMessages,
  isAnythingHeld,
} from './held-messages.js';

const batchSize = 500;
const firstRows = 20;

export interface HeldSummary {
  held: number;
  groups: { entity: Entity; operation: Operation; reason: string; count: number }[];
  /** How many updates would change a field. */
  fields: { entity: Entity; field: string; count: number }[];
  first: HeldMessage[];
  /** What is wrong with a source as a whole. */
  brakes: { entity: Entity; reason: string }[];
}

/** What a person was shown: whatever else is held by the time of the answer waits for another one. */
export interface ShownHeld {
  /** Of messages. A removal is written before the end of its pass says that it is held: no highest id would do. */
  ids: ReadonlySet<number>;
  brakes: HeldSummary['brakes'];
}

/** What waits for `waybill confirm`: counts by cause and by field, and the first rows. Writes nothing. */
export async function summariseHeld(
  { store }: JobContext,
  filter: HeldFilter,
): Promise<{ summary: HeldSummary; shown: ShownHeld }> {
  const groups = new Map<string, HeldSummary['groups'][number]>();
  const fields = new Map<string, HeldSummary['fields'][number]>();
  const summary: HeldSummary = { held: 0, groups: [], fields: [], first: [], brakes: [] };
  const ids = new Set<number>();
  for (let afterId = 0; ; ) {
    const page = await store.read('look at what is held', (tx) => heldMessages(tx, filter, afterId, batchSize));
    for (const message of page) {
      const { entity, operation, reason } = message;
      summary.held++;
      ids.add(message.id);
      afterId = message.id;
      if (summary.first.length < firstRows) summary.first.push(message);
      count(groups, `${entity} ${operation} ${reason}`, { entity, operation, reason });
      for (const field of message.fields) count(fields, `${entity} ${field}`, { entity, field });
    }
    if (page.length < batchSize) break;
  }
  const most = (a: { count: number }, b: { count: number }) => b.count - a.count;
  summary.groups = [...groups.values()].sort(most);
  summary.fields = [...fields.values()].sort(most);
  summary.brakes = (await store.read('read the brakes', readBrakes)).filter(
    ({ entity }) => filter.entity === undefined || entity === filter.entity,
  );
  return { summary, shown: { ids, brakes: summary.brakes } };
}

/** What `resync --plan` counts: the updates that the ERP and the mapping ask for now, and those that are held already. */
export async function planUpdates(
  context: JobContext,
  reader: ErpReader,
  entity: Entity,
): Promise<{ updates: number; creates: number; fields: { field: string; count: number }[] }> {
  const { summary: held } = await summariseHeld(context, { entity });
  const fields = new Map(held.fields.map(({ field, count: n }) => [field, { field, count: n }]));
  const plan = { updates: 0, creates: 0 };
  for (const group of held.groups) if (group.operation === 'update') plan.updates += group.count;
  await capture(context, reader, {
    filter: { entity },
    dryRun: true,
    onTouched: (records) => {
      for (const record of records) {
        if (record.entity !== entity) continue;
        plan[record.operation === 'create' ? 'creates' : 'updates']++;
        for (const field of record.fields) count(fields, field, { field });
      }
    },
  });
  return { ...plan, fields: [...fields.values()].sort((a, b) => b.count - a.count) };
}

/**
 * Does what the person said with everything that was shown, and nothing else. The brakes that were shown end with it, and marks are
 * taken anew.
 */
export async function confirmHeld(
  context: JobContext,
  filter: HeldFilter,
  confirmation: Confirmation,
  shown: ShownHeld,
  reason: string,
): Promise<number> {
  const { store, actor, nowMs } = context;
  let done = 0;
  const all = [...shown.ids];
  for (let from = 0; from < all.length; from += batchSize) {
    const ids = all.slice(from, from + batchSize);
    done += await store.transaction('record what was confirmed', async (tx) => {
      const messages = await confirmMessages(tx, ids, filter, confirmation, reason, nowMs());
      await appendAudit(
        tx,
        messages.map(({ id, entity, sourceKey }) => ({
          event: 'operator',
          outcome: `confirm_${confirmation}`,
          entity,
          sourceKey,
          messageId: id,
          actor,
          detail: { reason },
        })),
        nowMs(),
      );
      killPoint('before-confirm-commit');
      return messages.length;
    });
    killPoint('after-confirm-commit');
  }
  await store.transaction('end the brakes', async (tx) => {
    for (const entity of ['customer', 'order'] as const) {
      if (!(await isAnythingHeld(tx, entity))) await endAlert(tx, `held.${entity}`, nowMs());
      if (filter.keys !== undefined || (filter.entity !== undefined && filter.entity !== entity)) continue;
      const brake = shown.brakes.find((one) => one.entity === entity);
      if (brake && (await clearBrake(tx, entity, brake.reason))) {
        await endAlert(tx, `source.${entity}`, nowMs());
        await appendAudit(
          tx,
          [{ event: 'operator', outcome: 'end_brake', entity, actor, detail: { reason } }],
          nowMs(),
        );
      }
    }
  });
  return done;
}

function count<T extends object>(groups: Map<string, T & { count: number }>, name: string, group: T): void {
  const known = groups.get(name) ?? { ...group, count: 0 };
  known.count++;
  groups.set(name, known);
}
