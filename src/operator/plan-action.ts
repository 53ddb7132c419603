import { createHash } from 'node:crypto';
import { appendAudit } from '../audit/audit-log.js';
import type { Entity } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { killPoint } from '../ops/kill-point.js';
import { lookUpEntities } from '../outbound/deliver/look-up.js';
import { keyLifetimeMs } from '../outbound/outbox/idempotency-key.js';
import { readClock } from '../store/clock.js';
import { lockLease } from '../store/lease.js';
import { placeholders } from '../store/rows.js';
import type { Tx } from '../store/store.js';
import { decideForMessages, matchingIds, type Operated, writeOperatorDecisions } from './act-on-messages.js';
import { timeFormatter } from './format.js';
import type { MessageFilter } from './list-messages.js';
import type { OperatorAction, OperatorContext } from './operator-action.js';

/** Records that a person lists, with what the list says of them. */
export interface NamedRecords {
  /** Ids at the service by the key in the ERP, or by the number; null where the list names no ids. */
  idByKey: ReadonlyMap<string, string | null>;
  /** Lines that are no use, and why. */
  unusable: readonly { key: string; why: string }[];
}

/** What an operator asks for. */
export interface ActionRequest {
  action: OperatorAction;
  filter: MessageFilter;
  /** The id at the service of the one record that is said to be delivered. */
  serviceId: string | null;
  list?: NamedRecords;
  /** Just these messages, as far as they match the filter. */
  ids?: readonly number[];
  reason: string;
}

/** A message, or a line of a list, that is left alone. */
export interface LeftAlone {
  entity: Entity | null;
  key: string;
  number: string | null;
  why: string;
}

export interface Acted {
  done: number;
  /** What was shown, and is not done. */
  left: LeftAlone[];
}

export interface ActionPlan {
  /** How many messages match; of a list, how many lines there are. */
  matched: number;
  /** The messages that the action is possible for: what the operator confirms. */
  ids: number[];
  /** What was shown of each of them: one that changes before the operator answers is left alone. */
  shown: Map<number, string>;
  examples: Operated[];
  /** How many messages (or lines) the action is not possible for, by the reason why, and some of them; of a list all of them. */
  leftByReason: Map<string, number>;
  leftExamples: LeftAlone[];
  /** False where more than the asked number match: the plan is of the oldest. */
  isAll: boolean;
}

const maxExamples = 20;
const batchSize = 200;

/** Decides the action for the messages that match, at most for so many. Writes nothing. */
export async function planAction(
  context: JobContext,
  request: ActionRequest,
  most = Number.POSITIVE_INFINITY,
): Promise<ActionPlan> {
  const { filter, list } = request;
  const plan: ActionPlan = {
    matched: 0,
    ids: [],
    shown: new Map(),
    examples: [],
    leftByReason: new Map(),
    leftExamples: [],
    isAll: true,
  };
  if (list) {
    for (const { key, why } of list.unusable)
      leave(plan, { entity: filter.entity ?? null, key, number: null, why }, true);
    plan.matched += list.unusable.length;
    const keys = [...list.idByKey.keys()];
    for (let start = 0; start < keys.length; start += batchSize)
      await planLines(context, request, keys.slice(start, start + batchSize), plan);
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

/** A line of a list names one record. Those of its messages that have come to their end need no word. */
async function planLines(context: JobContext, request: ActionRequest, keys: string[], plan: ActionPlan): Promise<void> {
  const found = new Map<string, Operated[]>(keys.map((key) => [key, []]));
  for (let afterId = 0; ; ) {
    const page = await decidePage(context, request, { ...request.filter, keys }, afterId);
    if (page.last === undefined) break;
    afterId = page.last;
    for (const one of page.operated) for (const name of namesOf(one.message)) found.get(name)?.push(one);
  }
  for (const [key, operated] of found) {
    plan.matched++;
    const left = (why: string) =>
      leave(plan, { entity: operated[0]?.message.entity ?? null, key, number: null, why }, true);
    const records = new Set(operated.map(({ message }) => `${message.entity} ${message.sourceKey}`));
    const listed = operated.filter(({ message }) =>
      namesOf(message).some((name) => name !== key && request.list?.idByKey.has(name)),
    );
    if (records.size > 1) left(`it names ${records.size} records: write a key or a number for each that no other has`);
    else if (listed.length > 0) left('another line of the list names the same record');
    else {
      const possible = operated.filter(({ decision }) => decision.to !== null);
      for (const one of possible) note(plan, one);
      const last = operated.at(-1)?.decision;
      if (possible.length === 0) left(last?.to === null ? last.why : 'no message matches');
    }
  }
}

function namesOf({ sourceKey, number }: Operated['message']): string[] {
  return number === null || number === sourceKey ? [sourceKey] : [sourceKey, number];
}

async function decidePage(context: JobContext, request: ActionRequest, filter: MessageFilter, afterId: number) {
  return context.store.read('look which messages match', async (tx) => {
    const ids = request.ids
      ? request.ids.filter((id) => id > afterId).slice(0, batchSize)
      : await matchingIds(tx, filter, afterId, batchSize);
    const operated = await decideForMessages(
      tx,
      ids,
      filter,
      request.action,
      operatorContext(context, request),
      false,
      idNamedBy(request),
    );
    return { last: ids.at(-1), operated };
  });
}

/**
 * Does the action to these messages, batch by batch, where it is still possible.
 * @param shown what a person was shown of them: one that has changed since is left alone
 */
export async function actOnMessages(
  context: JobContext,
  request: ActionRequest,
  ids: readonly number[],
  shown?: ReadonlyMap<number, string>,
): Promise<Acted> {
  const { store, settings, actor } = context;
  const { action, filter, reason } = request;
  // Decides again with the rows locked, and writes the decisions and the audit in the same transaction.
  const actOnBatch = async (tx: Tx, batch: readonly number[]) => {
    // All who bind a record stand in line here: two who name one id at the same time would both find it free.
    if (action === 'delivered') await lockLease(tx, 'service');
    const decided = await decideForMessages(
      tx,
      batch,
      filter,
      action,
      operatorContext(context, request),
      true,
      idNamedBy(request),
    );
    const isAsShown = ({ message }: Operated) => shown === undefined || shown.get(message.id) === printOf(message);
    const possible = decided.filter((one) => one.decision.to !== null && isAsShown(one));
    const at = context.nowMs();
    await writeOperatorDecisions(tx, possible, settings.installation, reason, at);
    await appendAudit(
      tx,
      possible.map(({ message, decision }) => ({
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
          ...('newKey' in decision && decision.newKey ? { generation: decision.generation } : {}),
        },
      })),
      at,
    );
    const done = new Set(possible.map(({ message }) => message.id));
    const whyLeft = new Map(
      decided.map(({ message, decision }) => [message.id, decision.to === null ? decision.why : changedSince]),
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

const changedSince = 'it has changed since it was shown';

/** What a person decides by, and what the decision goes by; not when it is due next. */
function printOf({ nextAttemptAt: _, ...message }: Operated['message']): string {
  return createHash('sha1').update(JSON.stringify(message)).digest('base64');
}

/** The names of messages that were not acted on. One that no longer matches what was asked for is in another state now. */
export async function nameLeft(
  tx: Tx,
  ids: readonly number[],
  why: ReadonlyMap<number, string> = new Map(),
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
    why: why.get(id) ?? `${changedSince}, and is \`${state}\` now`,
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
  if (plan.examples.length < maxExamples) plan.examples.push(one);
}

function leave(plan: ActionPlan, left: LeftAlone, isListed: boolean): void {
  plan.leftByReason.set(left.why, (plan.leftByReason.get(left.why) ?? 0) + 1);
  if (isListed || plan.leftExamples.length < maxExamples) plan.leftExamples.push(left);
}

function idNamedBy({ list }: ActionRequest) {
  if (!list) return undefined;
  return ({ sourceKey, number }: { sourceKey: string; number: string | null }) =>
    list.idByKey.get(sourceKey) ?? (number === null ? null : (list.idByKey.get(number) ?? null));
}

function operatorContext(context: JobContext, { serviceId }: ActionRequest): OperatorContext {
  const { settings } = context;
  const { replaysRefusals } = settings.service.idempotency;
  return {
    now: readClock(context),
    maxProcessingMs: settings.service.maxProcessingSeconds * 1000,
    time: timeFormatter(settings.erp.timeZone),
    keyLifetimeMs: keyLifetimeMs(settings.service),
    replaysRefusals,
    serviceId,
    canLookUp: lookUpEntities(context),
  };
}
