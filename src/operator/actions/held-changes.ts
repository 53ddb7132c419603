import { appendAudit } from '../../audit/audit-log.js';
import type { ChangeFact } from '../../model/facts/actions.js';
import type { Fact } from '../../model/facts/fact.js';
import type { SourceFact } from '../../model/facts/records.js';
import { outside } from '../../model/outside.js';
import { defaultSource, type Entity, entities, inSource, sourceNames } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { reviewAdoptions } from '../../outbound/outbox/adoptions.js';
import { advanceBindings, type Binding, refreshBindings } from '../../outbound/outbox/bindings.js';
import { changedFields } from '../../outbound/outbox/compose-update.js';
import type { Operation, ParkClass } from '../../outbound/outbox/message.js';
import { discardMessages, releaseHeld } from '../../outbound/outbox/transitions.js';
import { endAlert } from '../../store/alerts.js';
import { factOf } from '../../store/fact-columns.js';
import { clearHold, readHolds } from '../../store/job-runs.js';
import { joinConditions, ofRecords, placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { isAnythingHeld } from '../figures/bounded-counts.js';
import { sumOrders } from '../figures/group-parked.js';
import { type FieldPair, sideBySide } from '../values/side-by-side.js';
import { action, type LeftAlone, type NamedRecord, type Preview, type Subjects } from './action.js';
import { nameLeft } from './message-actions.js';

interface HeldMessage {
  id: number;
  entity: Entity;
  sourceKey: string;
  number: string | null;
  operation: Operation;
  reason: Fact | null;
  /** Names of the fields that an update would change at the service. */
  fields: string[];
}

/** A held message with what it would change, value by value. */
interface HeldSample extends HeldMessage {
  /** The fields that an update changes at the service; otherwise empty. */
  changes: FieldPair[];
}

/** The decisions of a person about held messages. */
export type Confirmation = 'send' | 'adopt' | 'discard';

/** Which changes; those of records that are named also where their key belongs to another record now. */
type HeldFilter = Subjects['held'];

const mostChanges = 10;

/** Messages that wait for `waybill confirm`, oldest first. */
async function heldMessages(tx: Tx, filter: HeldFilter, afterId: number, limit: number): Promise<HeldSample[]> {
  const { where, parameters } = heldSql(filter);
  const rows = await tx.rows(
    `SELECT m.id, m.entity, m.source_key, m.number, m.operation, m.reason_code, m.reason_data, b.record, w.acknowledged
       FROM outbox_message m
       LEFT JOIN message_body b ON b.message_id=m.id
       LEFT JOIN binding w ON w.entity=m.entity AND w.source_key=m.source_key
      WHERE ${where} AND m.id>? ORDER BY m.id LIMIT ${Math.trunc(limit)}`,
    [...parameters, afterId],
  );
  return rows.map(({ record, acknowledged, reasonCode, reasonData, ...row }) => ({
    ...row,
    reason: factOf<Fact>(reasonCode, reasonData),
    fields: row.operation === 'update' ? changedFields(acknowledged, record) : [],
    get changes() {
      if (row.operation !== 'update' || acknowledged === null || record === null) return [];
      const { fields } = sideBySide(JSON.parse(record), JSON.parse(acknowledged));
      return fields.filter(({ differs }) => differs).slice(0, mostChanges);
    },
  }));
}

/** True if something of this record waits for `waybill confirm`. */
async function isHeld(tx: Tx, { entity, sourceKey }: NamedRecord): Promise<boolean> {
  // Searched by the record, not by the state: thousands may be parked.
  const sql = `SELECT id FROM outbox_message m WHERE m.source_key=? AND m.entity=? AND COALESCE(m.state,'')='parked'
      AND (m.park_class='held' OR (${namedByKey})) LIMIT 1`;
  return (await tx.value(sql, [sourceKey, entity])) !== undefined;
}

/** An update of a never sent identity conflict is sendable; a create of one has no key. */
const namedByKey = "m.park_class='conflict' AND m.operation='update' AND m.was_sent=0";

function heldSql({ entity, source, records }: HeldFilter) {
  return joinConditions('AND', [
    ["m.state='parked'"],
    [records === undefined ? "m.park_class='held'" : `m.park_class='held' OR (${namedByKey})`],
    ['m.entity=?', entity],
    ['m.source=?', source],
    ofRecords(records, 'm.'),
  ]);
}

interface ConfirmedRow
  extends Pick<Binding, 'entity' | 'sourceKey' | 'revision' | 'contentHash' | 'mappingFingerprint'> {
  id: number;
  operation: Operation;
  parkClass: ParkClass;
}

/**
 * Does what the person decided with those of the messages that are still held. `adopt` makes what the ERP says the baseline
 * without sending it: the service keeps what it has until the record changes again. Returns what was done; the caller audits.
 */
export async function confirmMessages(
  tx: Tx,
  ids: readonly number[],
  filter: HeldFilter,
  { confirmation, reason }: { confirmation: Confirmation; reason: string },
  nowMs: number,
): Promise<{ id: number; entity: Entity; sourceKey: string }[]> {
  if (ids.length === 0) return [];
  const { where, parameters } = heldSql(filter);
  const found = await tx.rows<ConfirmedRow>(
    `SELECT m.id, m.entity, m.source_key, m.operation, m.park_class, m.revision, m.content_hash, m.mapping_fingerprint
       FROM outbox_message m WHERE m.id IN ${placeholders(ids.length)} AND ${where}
      ORDER BY m.id${tx.forUpdate}`,
    [...ids, ...parameters],
  );
  // A record that the service never had has no baseline: a create stays held until it is sent or discarded.
  const rows = found.filter((row) => confirmation !== 'adopt' || row.operation !== 'create');
  if (rows.length === 0) return [];
  const confirmed = rows.map(({ id }) => id);
  for (const entity of entities) {
    const keys = rows.filter((row) => row.entity === entity).map((row) => row.sourceKey);
    await reviewAdoptions(tx, entity, keys, nowMs);
  }
  // The next sweep learns the record's identity anew.
  const renamed = confirmation === 'discard' ? [] : rows.filter((row) => row.parkClass === 'conflict');
  for (const { id } of renamed) await tx.run('UPDATE outbox_message SET identity=NULL WHERE id=?', [id]);
  const bindings = renamed.map(({ entity, sourceKey }) => ({ entity, sourceKey, identity: null }));
  await refreshBindings(tx, bindings);
  if (confirmation === 'send') await releaseHeld(tx, confirmed, nowMs);
  else {
    const code = confirmation === 'adopt' ? 'person_adopted' : 'person_said';
    await discardMessages(tx, 'parked', confirmed, { code, text: outside(reason) }, nowMs);
  }
  if (confirmation === 'adopt')
    await advanceBindings(
      tx,
      rows.filter((row) => row.operation === 'update'),
    );
  return rows.map(({ id, entity, sourceKey }) => ({ id, entity, sourceKey }));
}

const batchSize = 500;
const firstRows = 20;

export interface HeldSummary {
  held: number;
  groups: { entity: Entity; operation: Operation; reason: Fact | null; count: number }[];
  /** The number of updates that would change each field. */
  fields: { entity: Entity; field: string; count: number }[];
  first: HeldSample[];
  /** The fault of a source as a whole. */
  holds: { entity: Entity; source?: string; reason: SourceFact }[];
}

/** The messages that a person was shown: any other that is held by the time of the answer waits for another one. */
export interface ShownHeld {
  /** The number of messages. A removal is written before the end of its pass says that it is held: no highest id would do. */
  ids: ReadonlySet<number>;
  holds: HeldSummary['holds'];
}

/** Records that cannot be adopted: the service never had them. */
type Creates = (LeftAlone & { id: number })[];

/** The changes that wait for `waybill confirm`: counts by cause and by field, and the first rows. Writes nothing. */
export async function summariseHeld(
  { store }: JobContext,
  filter: HeldFilter,
): Promise<{ summary: HeldSummary; shown: ShownHeld; creates: Creates }> {
  const groups = new Map<string, HeldSummary['groups'][number]>();
  const fields = new Map<string, HeldSummary['fields'][number]>();
  const summary: HeldSummary = { held: 0, groups: [], fields: [], first: [], holds: [] };
  const ids = new Set<number>();
  const creates: Creates = [];
  for (let afterId = 0; ; ) {
    const page = await store.read('look at what is held', (tx) => heldMessages(tx, filter, afterId, batchSize));
    for (const message of page) {
      const { id, entity, sourceKey: key, number, operation, reason } = message;
      if (operation === 'create') creates.push({ id, entity, key, number, why: { code: 'no_baseline' } });
      summary.held++;
      ids.add(message.id);
      afterId = message.id;
      if (summary.first.length < firstRows) summary.first.push({ ...message });
      count(groups, `${entity} ${operation} ${JSON.stringify(reason)}`, { entity, operation, reason });
      for (const field of message.fields) count(fields, `${entity} ${field}`, { entity, field });
    }
    if (page.length < batchSize) break;
  }
  const most = (a: { count: number }, b: { count: number }) => b.count - a.count;
  summary.groups = [...groups.values()].sort(most);
  summary.fields = [...fields.values()].sort(most);
  // A hold is about all records of a source, and an answer about some of them does not end it.
  summary.holds = (await store.read('read the holds', readHolds)).filter(
    ({ entity, source = defaultSource }) =>
      filter.records === undefined && (filter.entity ?? entity) === entity && (filter.source ?? source) === source,
  );
  return { summary, shown: { ids, holds: summary.holds }, creates };
}

/**
 * Does what the person said with everything that was shown, and nothing else. The holds that were shown end with it, and marks are
 * taken anew.
 * @returns how many were done, and which were shown and are not held any more
 */
export async function confirmHeld(
  context: JobContext,
  filter: HeldFilter,
  confirmation: Confirmation,
  shown: ShownHeld,
  reason: string,
): Promise<{ done: number; leftIds: number[] }> {
  const { store, actor, nowMs, settings } = context;
  let done = 0;
  const leftIds: number[] = [];
  const all = [...shown.ids];
  for (let from = 0; from < all.length; from += batchSize) {
    const ids = all.slice(from, from + batchSize);
    const confirmed = await store.transaction('record what was confirmed', async (tx) => {
      const messages = await confirmMessages(tx, ids, filter, { confirmation, reason }, nowMs());
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
      return new Set(messages.map(({ id }) => id));
    });
    done += confirmed.size;
    leftIds.push(...ids.filter((id) => !confirmed.has(id)));
    killPoint('after-confirm-commit');
  }
  await store.transaction('end the holds', async (tx) => {
    for (const source of sourceNames(settings))
      for (const entity of entities)
        if (!(await isAnythingHeld(tx, entity, source)))
          await endAlert(tx, `held.${inSource(entity, source)}`, nowMs());
    for (const { entity, source, reason: hold } of shown.holds) {
      if (filter.records !== undefined || (filter.entity !== undefined && filter.entity !== entity)) continue;
      const name = inSource(entity, source);
      if (await clearHold(tx, name, hold)) {
        await endAlert(tx, `source.${name}`, nowMs());
        await appendAudit(tx, { event: 'operator', outcome: 'end_hold', entity, actor, detail: { reason } }, nowMs());
      }
    }
  });
  return { done, leftIds };
}

function count<T extends object>(groups: Map<string, T & { count: number }>, name: string, group: T): void {
  const known = groups.get(name) ?? { ...group, count: 0 };
  known.count++;
  groups.set(name, known);
}

/** A few of the changes on hold are sent first, to see that all is well. */
const fewFirst = 10;
const mostNamed = 10_000;

function heldAction(confirmation: Confirmation) {
  return action({
    role: 'act',
    subject: 'held',
    inputs: { first: { kind: 'flag' } },
    causes: ['held'],
    preview: async (context, filter, { first }): Promise<Preview> => {
      const { summary, shown: all, creates } = await summariseHeld(context, filter);
      const left = confirmation === 'adopt' ? creates : [];
      const without = new Set(left.map(({ id }) => id));
      const ids = [...all.ids].filter((id) => !without.has(id));
      const few = first && ids.length > fewFirst;
      // With a few of them alone, the hold stays on for the others.
      const shown = few ? { ids: new Set(ids.slice(0, fewFirst)), holds: [] } : { ...all, ids: new Set(ids) };
      return {
        matched: summary.held,
        count: shown.ids.size,
        isMore: shown.holds.length > 0,
        isAll: true,
        rows: summary.first
          .filter(({ id }) => shown.ids.has(id))
          .map(({ reason: why, operation, fields, changes, ...record }) => ({
            ...record,
            what: operation,
            state: 'held',
            why,
            becomes: becomesOf(operation, fields, changes),
          })),
        skipped:
          left.length > 0 ? [{ why: { code: 'no_baseline' }, count: left.length, examples: left.slice(0, 1) }] : [],
        totals: () => sumOrders(context.store, context.settings, [...shown.ids]),
        spread: few ? [] : spreadOf(summary),
        data: summary,
        act: async (acting, { reason }) => {
          const { done, leftIds } = await confirmHeld(acting, filter, confirmation, shown, reason);
          const named = leftIds.slice(0, mostNamed);
          return { done, left: await acting.store.read('name what was left alone', (tx) => nameLeft(tx, named)) };
        },
      };
    },
    offer: async ({ store }, record) =>
      (await store.read('look whether it is held', (tx) => isHeld(tx, record))) ? { needs: [] } : null,
  });
}

function spreadOf({ holds, groups, fields }: HeldSummary): NonNullable<Preview['spread']> {
  return [
    ...holds.map(({ entity, source = null, reason }) => ({
      what: { code: 'would_end_hold', entity, source, reason } as const,
      count: 1,
    })),
    ...groups.map(({ entity, operation, reason, count: held }) => ({
      what: { code: 'held_for', entity, operation, reason } as const,
      count: held,
    })),
    ...fields.map(({ entity, field, count: changed }) => ({
      what: { code: 'would_change_field', entity, field } as const,
      count: changed,
    })),
  ];
}

function becomesOf(operation: Operation, fields: readonly string[], changes: readonly FieldPair[]): ChangeFact {
  if (operation !== 'update') return { code: 'goes_out', as: operation === 'create' ? 'create' : 'removal' };
  return {
    code: 'changes_fields',
    fields,
    changes: changes.map(({ field, acknowledged: from, erp: to }) => ({ field, from, to })),
  };
}

export const heldSend = heldAction('send');
export const heldAdopt = heldAction('adopt');
export const heldDiscard = heldAction('discard');
