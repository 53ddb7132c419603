import { createHash } from 'node:crypto';
import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { ClaimCheck, RefusalFact } from '../../model/facts/actions.js';
import type { Fact } from '../../model/facts/fact.js';
import { type Entity, entities, idIsOurs, sourceNames } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { lookUpEntities } from '../../outbound/deliver/look-up.js';
import { keyLifetimeMs } from '../../outbound/outbox/idempotency-key.js';
import { readClock } from '../../store/clock.js';
import { lockLease } from '../../store/lease.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { checkClaims, type SaidClaim, unasked } from '../check-claims.js';
import { idsOfCause, sumOrders } from '../figures/group-parked.js';
import { actedOn, type NamedRecord as FoundName, onlyRecord, recordName } from '../find-records.js';
import type { MessageFilter } from '../list-messages.js';
import {
  type Action,
  type ActionContext,
  action,
  type Inputs,
  type LeftAlone,
  type NamedRecord,
  type NamedRecords,
  type Offer,
  type Preview,
  type PreviewRow,
  type Skipped,
  type Subjects,
  WrongAction,
} from './action.js';
import type { OperatorAction, OperatorContext } from './decide-message-action.js';
import { decideForMessages, matchingIds, type Operated, writeOperatorDecisions } from './operated-messages.js';

/** An operator's request. */
export interface ActionRequest {
  action: OperatorAction;
  filter: MessageFilter;
  /** The id at the service of the one record that is said to be delivered. */
  serviceId: string | null;
  list?: NamedRecords;
  /** Says that records are at the service although it shows others under their ids, or could not be asked. */
  unchecked?: boolean;
  /** Just these messages, as far as they match the filter. */
  ids?: readonly number[];
  reason: string;
}

export interface Acted {
  done: number;
  /** The plan that was shown, and is not done. */
  left: LeftAlone[];
}

export interface ActionPlan {
  /** The number of matching messages; of a list, the number of its lines. */
  matched: number;
  /** The messages that the action is possible for: what the operator confirms. */
  ids: number[];
  /** Asks the service about each id that a person names: ids that it does not show are left alone, unless `unchecked`. */
  checks: Map<number, ClaimCheck>;
  /** The state of each that was shown: one that changes before the operator answers is left alone. */
  shown: Map<number, string>;
  examples: Operated[];
  /** The counts by reason. */
  skipped: Map<string, Skipped>;
  /** False where more than the asked number match: the plan is of the oldest. */
  isAll: boolean;
}

const maxExamples = 20;
const batchSize = 200;

/** Decides the action for the messages that match, at most for so many. Writes nothing. */
export async function planAction(
  context: JobContext,
  request: ActionRequest,
  { most = Number.POSITIVE_INFINITY, ask = async () => new Map() }: PlanOptions = {},
): Promise<ActionPlan> {
  const plan = await planDecisions(context, request, most);
  const claims = plan.examples.flatMap(claimOf);
  if (claims.length > 0) plan.checks = await ask(claims);
  const left = new Set<number>();
  for (const { messageId, entity, key, number, serviceId } of claims) {
    const check = plan.checks.get(messageId) ?? unasked;
    plan.checks.set(messageId, check);
    if (check.kind === 'same' || request.unchecked) continue;
    left.add(messageId);
    plan.shown.delete(messageId);
    leave(plan, { entity, key, number, why: { code: 'unproven_claim', serviceId, check } }, request.list !== undefined);
  }
  plan.ids = plan.ids.filter((id) => !left.has(id));
  plan.examples = plan.examples.filter(({ message }) => !left.has(message.id)).slice(0, maxExamples);
  return plan;
}

interface PlanOptions {
  /** Plans for at most so many messages. */
  most?: number;
  /** Asks the service what it has under the ids that a person names; absent: it is not asked. */
  ask?: (claims: readonly SaidClaim[]) => Promise<Map<number, ClaimCheck>>;
}

/** The id that a person gives to a record which the service has not acknowledged: nothing but that word leads to it. */
function claimOf({ message, decision }: Operated): (SaidClaim & { key: string; number: string | null })[] {
  const { id: messageId, entity, sourceKey: key, number, operation, boundServiceId } = message;
  if (decision.to !== 'delivered' || operation !== 'create' || boundServiceId === decision.serviceId) return [];
  return [{ messageId, entity, key, number, serviceId: decision.serviceId }];
}

async function planDecisions(context: JobContext, request: ActionRequest, most: number): Promise<ActionPlan> {
  const { filter, list } = request;
  const plan: ActionPlan = {
    matched: 0,
    ids: [],
    checks: new Map(),
    shown: new Map(),
    examples: [],
    skipped: new Map(),
    isAll: true,
  };
  if (list) {
    for (const { key, problem } of list.unusable)
      leave(plan, { entity: filter.entity ?? null, key, number: null, why: problem }, true);
    plan.matched += list.unusable.length;
    await planLines(context, request, await readList(context, list, filter), plan);
    return plan;
  }
  for (let afterId = 0; ; ) {
    const page = await decidePage(context, request, filter, afterId);
    if (page.last === undefined) return plan;
    afterId = page.last;
    for (const one of page.operated) {
      if (plan.matched === most) return { ...plan, isAll: false };
      plan.matched++;
      note(plan, one);
    }
  }
}

/** Claims of a list, by record. */
interface ListedRecords {
  /** The line that names the record, and the id at the service that stands there. */
  lines: ReadonlyMap<string, { record: FoundName; key: string; serviceId: string | null }>;
  /** Lines that name no record alone, and why. */
  left: readonly { key: string; why: RefusalFact; entity: Entity | null }[];
}

/** A line of a list names one record, and a record stands in one line. */
async function readList(context: JobContext, { idByKey }: NamedRecords, filter: MessageFilter): Promise<ListedRecords> {
  const { entity, source } = filter;
  const naming = { by: 'any', entity, source, sources: sourceNames(context.settings) } as const;
  const names = [...idByKey.keys()];
  const left: ListedRecords['left'][number][] = [];
  const linesOf = new Map<string, { record: FoundName; key: string; serviceId: string | null }[]>();
  for (let start = 0; start < names.length; start += batchSize) {
    const batch = names.slice(start, start + batchSize);
    const named = await context.store.read('look for listed records', (tx) => actedOn(tx, batch, naming));
    for (const [key, records] of named) {
      const record = onlyRecord(key, records, naming);
      const at = { key, entity: records[0]?.entity ?? null };
      if (record === 'ambiguous') left.push({ ...at, why: { code: 'ambiguous_name', records: records.length } });
      else if (record === null) left.push({ ...at, why: { code: 'no_message' } });
      else {
        const line = { record, key, serviceId: idByKey.get(key) ?? null };
        linesOf.set(recordName(record), [...(linesOf.get(recordName(record)) ?? []), line]);
      }
    }
  }
  const lines = new Map<string, { record: FoundName; key: string; serviceId: string | null }>();
  for (const [name, own] of linesOf) {
    const [line, another] = own;
    if (line !== undefined && another === undefined) lines.set(name, line);
    else
      left.push(
        ...own.map(({ key, record }) => ({
          key,
          entity: record.entity,
          why: { code: 'listed_twice' } as const,
        })),
      );
  }
  return { lines, left };
}

/** Those messages of a listed record that have come to their end need no word. */
async function planLines(context: JobContext, request: ActionRequest, listed: ListedRecords, plan: ActionPlan) {
  const { lines, left } = listed;
  plan.matched += left.length;
  for (const one of left) leave(plan, { ...one, number: null }, true);
  const all = [...lines];
  for (let start = 0; start < all.length; start += batchSize) {
    const batch = all.slice(start, start + batchSize);
    const found = new Map<string, Operated[]>(batch.map(([name]) => [name, []]));
    const records = batch.map(([, { record }]) => record);
    for (let afterId = 0; ; ) {
      const page = await decidePage(context, request, { ...request.filter, records }, afterId, listed);
      if (page.last === undefined) break;
      afterId = page.last;
      for (const one of page.operated) found.get(recordName(one.message))?.push(one);
    }
    for (const [name, { record, key }] of batch) {
      plan.matched++;
      const operated = found.get(name) ?? [];
      const possible = operated.filter(({ decision }) => decision.to !== null);
      for (const one of possible) note(plan, one);
      const last = operated.at(-1)?.decision;
      const why: Fact = last?.to === null ? last.why : { code: 'no_message' };
      if (possible.length === 0) leave(plan, { entity: record.entity, key, number: null, why }, true);
    }
  }
}

async function decidePage(
  context: JobContext,
  request: ActionRequest,
  filter: MessageFilter,
  afterId: number,
  listed: ListedRecords | null = null,
) {
  return context.store.read('look which messages match', async (tx) => {
    const ids = request.ids
      ? request.ids.filter((id) => id > afterId).slice(0, batchSize)
      : await matchingIds(tx, filter, afterId, batchSize);
    const operated = await decideForMessages(tx, ids, {
      action: request.action,
      filter,
      context: operatorContext(context, request),
      namedId: idNamedBy(listed),
      rows: 'read',
    });
    return { last: ids.at(-1), operated };
  });
}

/**
 * Does the action to these messages, batch by batch, where it is still possible.
 * @param shown what a person was shown of them: one that has changed since is left alone
 * @param checks what the service said of ids that the person names
 */
export async function actOnMessages(
  context: JobContext,
  request: ActionRequest,
  ids: readonly number[],
  shown?: ReadonlyMap<number, string>,
  checks: ReadonlyMap<number, ClaimCheck> = new Map(),
): Promise<Acted> {
  const { store, settings, actor } = context;
  const { action, filter, reason, list } = request;
  const listed = list ? await readList(context, list, filter) : null;
  // Decides again with the rows locked, and writes the decisions and the audit in the same transaction.
  const actOnBatch = async (tx: Tx, batch: readonly number[]) => {
    // All who bind a record stand in line here: two who name one id at the same time would both find it free.
    if (action === 'delivered') await lockLease(tx, 'service');
    const decided = await decideForMessages(tx, batch, {
      action,
      filter,
      context: operatorContext(context, request),
      namedId: idNamedBy(listed),
      rows: 'lock',
    });
    const isAsShown = ({ message }: Operated) => shown === undefined || shown.get(message.id) === printOf(message);
    const checkOf = (id: number) => checks.get(id) ?? unasked;
    const isSaid = (one: Operated) =>
      request.unchecked === true || claimOf(one).every(({ messageId }) => checkOf(messageId).kind === 'same');
    const possible = decided.filter((one) => one.decision.to !== null && isAsShown(one) && isSaid(one));
    const at = context.nowMs();
    const saidOf = (id: number) => ({ by: actor, check: checkOf(id).kind });
    await writeOperatorDecisions(tx, possible, { installation: settings.installation, reason, saidOf }, at);
    await appendAudit(
      tx,
      possible.map(
        ({ message, decision }): AuditEntry => ({
          event: 'operator',
          outcome: action,
          entity: message.entity,
          sourceKey: message.sourceKey,
          messageId: message.id,
          actor,
          detail: {
            reason,
            from: message.state,
            parkClass: message.parkClass,
            to: decision.to,
            ...(decision.to === 'delivered' ? { serviceId: decision.serviceId } : {}),
            ...saidInAudit({ message, decision }, checkOf(message.id)),
            ...('newKey' in decision && decision.newKey ? { generation: decision.generation } : {}),
          },
        }),
      ),
      at,
    );
    const done = new Set(possible.map(({ message }) => message.id));
    const whyLeft = new Map(
      decided.map((one) => {
        const { message, decision } = one;
        const [claim] = claimOf(one);
        const unsaid: Fact =
          claim && !isSaid(one)
            ? { code: 'unproven_claim', serviceId: claim.serviceId, check: checkOf(message.id) }
            : { code: 'changed_since_shown', state: null };
        return [message.id, decision.to === null ? decision.why : unsaid];
      }),
    );
    const left = await nameLeft(
      tx,
      batch.filter((id) => !done.has(id)),
      whyLeft,
    );
    killPoint('before-resolve-commit');
    return { done: done.size, left };
  };
  const acted: Acted = { done: 0, left: [] };
  for (let start = 0; start < ids.length; start += batchSize) {
    const batch = ids.slice(start, start + batchSize);
    const { done, left } = await store.transaction(`record the operator's ${action}`, (tx) => actOnBatch(tx, batch));
    acted.done += done;
    acted.left.push(...left);
    killPoint('after-resolve-commit');
  }
  return acted;
}

/** Marks it as a person's word, with the service's answer. */
function saidInAudit(one: Operated, { kind, reason, sides }: ClaimCheck): NonNullable<AuditEntry['detail']> {
  if (claimOf(one).length === 0) return {};
  return {
    said: true,
    check: kind,
    ...(reason !== null && { checkReason: reason as Fact }),
    ...(sides.length > 0 && { shown: sides.map((one) => ({ ...one })) }),
  };
}

/** The facts by which a person decides, and on which the decision depends; not the time of the next try. */
function printOf({ nextAttemptAt: _, ...message }: Operated['message']): string {
  return createHash('sha1').update(JSON.stringify(message)).digest('base64');
}

/** The names of messages that were not acted on. One that no longer matches what was asked for is in another state now. */
export async function nameLeft(
  tx: Tx,
  ids: readonly number[],
  why: ReadonlyMap<number, Fact> = new Map(),
): Promise<LeftAlone[]> {
  if (ids.length === 0) return [];
  const rows = await tx.rows<{ id: number; entity: Entity; sourceKey: string; number: string | null; state: string }>(
    `SELECT id, entity, source_key, number, state FROM outbox_message WHERE id IN ${placeholders(ids.length)} ORDER BY id`,
    [...ids],
  );
  return rows.map(({ id, entity, sourceKey: key, number, state }) => ({
    entity,
    key,
    number,
    why: why.get(id) ?? { code: 'changed_since_shown', state },
  }));
}

function note(plan: ActionPlan, one: Operated): void {
  const { message, decision } = one;
  if (decision.to === null) {
    const { entity, sourceKey: key, number } = message;
    leave(plan, { entity, key, number, why: decision.why }, false);
    return;
  }
  plan.ids.push(message.id);
  plan.shown.set(message.id, printOf(message));
  // All of those whose ids the service is asked for.
  if (plan.examples.length < maxExamples || decision.to === 'delivered') plan.examples.push(one);
}

function leave(plan: ActionPlan, left: LeftAlone, isListed: boolean): void {
  const reason = JSON.stringify(left.why);
  const skipped = plan.skipped.get(reason) ?? { why: left.why, count: 0, examples: [] };
  // The last one stands last.
  plan.skipped.delete(reason);
  plan.skipped.set(reason, skipped);
  skipped.count++;
  if (isListed || skipped.examples.length < maxExamples) skipped.examples.push(left);
}

function idNamedBy(listed: ListedRecords | null) {
  if (listed === null) return undefined;
  return (message: Operated['message']) => listed.lines.get(recordName(message))?.serviceId ?? null;
}

function operatorContext(context: JobContext, { serviceId }: ActionRequest): OperatorContext {
  const { settings } = context;
  const { replaysRefusals } = settings.service.idempotency;
  return {
    now: readClock(context),
    maxProcessingMs: settings.service.maxProcessingSeconds * 1000,
    keyLifetimeMs: keyLifetimeMs(settings.service),
    replaysRefusals,
    serviceId,
    canLookUp: lookUpEntities(context),
    ownIds: entities.filter((entity) => idIsOurs(settings.service.acknowledgement, entity)),
  };
}

/** A person waits for the answers. */
const mostAsked = 20;
/** Stands for the id that a person has not named yet. */
const anyId = '?';

/** One of the actions on messages, as the table has it. */
function messageAction<const I extends Inputs>(
  name: OperatorAction,
  more: Pick<Action<'messages', I>, 'inputs' | 'command' | 'causes' | 'onList'>,
) {
  return action({ ...more, role: 'act', subject: 'messages', preview, offer });

  async function preview(
    context: ActionContext,
    { filter, cause, list }: Subjects['messages'],
    { serviceId = null, unchecked = false }: { serviceId?: string | null; unchecked?: boolean },
  ): Promise<Preview> {
    const { store, settings, most, client, asksToInsist } = context;
    const ids = cause && (await store.read('find what has this cause', (tx) => idsOfCause(tx, cause, most)));
    const request = { action: name, filter, serviceId, reason: '', ...(list && { list }), ...(ids && { ids }) };
    const ask = async (claims: readonly SaidClaim[]) =>
      asksToInsist && claims.length > mostAsked ? new Map<number, ClaimCheck>() : checkClaims(context, client, claims);
    const plan = await planAction(
      context,
      { ...request, unchecked: unchecked || asksToInsist },
      { most, ...(!unchecked && { ask }) },
    );
    const named = Math.max(plan.ids.length, plan.checks.size);
    if (serviceId !== null && named > 1) throw new WrongAction({ code: 'id_names_one', records: named });
    return {
      matched: plan.matched,
      count: plan.ids.length,
      isAll: plan.isAll && (ids === undefined || ids.length < most),
      rows: plan.examples.map(rowOf),
      skipped: [...plan.skipped.values()],
      claims: plan.examples.flatMap(({ message, decision }) => {
        const check = plan.checks.get(message.id);
        return check && decision.to === 'delivered' ? [{ serviceId: decision.serviceId, check }] : [];
      }),
      isListed: list !== undefined,
      totals: () => sumOrders(store, settings, plan.ids),
      act: async (acting, { reason, insists }) => {
        const said = { ...request, reason, unchecked: unchecked || insists };
        const acted = await actOnMessages(acting, said, plan.ids, plan.shown, plan.checks);
        return { ...acted, ...(name === 'look_up' && acted.done > 0 && { notes: [{ code: 'look_up_follows' }] }) };
      },
    };
  }

  async function offer(context: ActionContext, record: NamedRecord): Promise<Offer> {
    const plan = (serviceId: string | null) =>
      planAction(context, { action: name, filter: { records: [record] }, serviceId, unchecked: true, reason: '' });
    const { ids, skipped } = await plan(null);
    if (ids.length > 0) return { needs: [] };
    if ('serviceId' in more.inputs && (await plan(anyId)).ids.length > 0) return { needs: ['serviceId'] };
    return { why: [...skipped.values()].at(-1)?.why ?? { code: 'no_message' } };
  }
}

function rowOf({ message, decision }: Operated): PreviewRow {
  const { entity, sourceKey, number, operation, state, parkClass, reason } = message;
  return {
    ...{ entity, sourceKey, number },
    what: operation,
    state: parkClass ? `${state} (${parkClass})` : state,
    why: reason,
    becomes:
      decision.to === 'delivered'
        ? { code: 'is_delivered_as', serviceId: decision.serviceId }
        : { code: 'goes_to', state: decision.to ?? state, newKey: 'newKey' in decision && decision.newKey },
  };
}

export const retry = messageAction('retry', {
  inputs: {},
  command: { path: ['outbox', 'retry'] },
  causes: ['refused', 'unproven'],
  onList: true,
});

export const discard = messageAction('discard', {
  inputs: {},
  command: { path: ['outbox', 'discard'] },
  causes: ['refused', 'conflict', 'unmapped'],
  onList: true,
});

export const lookUp = messageAction('look_up', {
  inputs: {},
  command: { path: ['outbox', 'resolve'], choice: 'look-up' },
  causes: ['unproven'],
  onList: true,
});

export const delivered = messageAction('delivered', {
  inputs: { serviceId: { kind: 'text', placeholder: 'id' }, unchecked: { kind: 'insist' } },
  command: { path: ['outbox', 'resolve'], choice: 'delivered' },
});

export const notDelivered = messageAction('not_delivered', {
  inputs: {},
  command: { path: ['outbox', 'resolve'], choice: 'not-delivered' },
  causes: ['unproven', 'conflict'],
  onList: true,
});
