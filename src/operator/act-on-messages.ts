import { appendAudit } from '../audit/audit-log.js';
import type { Entity } from '../model/record.js';
import type { JobContext } from '../ops/job-context.js';
import { killPoint } from '../ops/kill-point.js';
import type { MessageFilter } from './list-messages.js';
import { decideForMessages, matchingIds, type Operated, writeOperatorDecisions } from './operate-messages.js';
import type { OperatorAction, OperatorContext } from './operator-action.js';

/** What an operator asks for. */
export interface ActionRequest {
  action: OperatorAction;
  filter: MessageFilter;
  /** The id at the service of the one record that is said to be delivered. */
  serviceId: string | null;
  reason: string;
}

export interface ActionPlan {
  matched: number;
  /** The messages that the action is possible for: what the operator confirms. */
  ids: number[];
  examples: Operated[];
  /** How many messages the action is not possible for, by the reason why, and some of them. */
  leftByReason: Map<string, number>;
  leftExamples: { entity: Entity; key: string; number: string | null; why: string }[];
}

const maxExamples = 20;
const batchSize = 200;

/** Decides the action for every message that matches. Writes nothing. */
export async function planAction(context: JobContext, request: ActionRequest): Promise<ActionPlan> {
  const { action, filter } = request;
  const plan: ActionPlan = { matched: 0, ids: [], examples: [], leftByReason: new Map(), leftExamples: [] };
  for (let afterId = 0; ; ) {
    const page = await context.store.read('look which messages match', async (tx) => {
      const ids = await matchingIds(tx, filter, afterId, batchSize);
      const operated = await decideForMessages(tx, ids, filter, action, operatorContext(context, request));
      return { last: ids.at(-1), operated };
    });
    if (page.last === undefined) return plan;
    afterId = page.last;
    for (const one of page.operated) {
      plan.matched++;
      const { message, decision } = one;
      if (decision.to !== null) {
        plan.ids.push(message.id);
        if (plan.examples.length < maxExamples) plan.examples.push(one);
        continue;
      }
      const { why } = decision;
      plan.leftByReason.set(why, (plan.leftByReason.get(why) ?? 0) + 1);
      if (plan.leftExamples.length < maxExamples)
        plan.leftExamples.push({ entity: message.entity, key: message.sourceKey, number: message.number, why });
    }
  }
}

/** Does the action to the planned messages, batch by batch. @returns how many it was still possible for */
export async function actOnMessages(
  context: JobContext,
  request: ActionRequest,
  ids: readonly number[],
): Promise<number> {
  let done = 0;
  for (let start = 0; start < ids.length; start += batchSize)
    done += await actOnBatch(context, request, ids.slice(start, start + batchSize));
  return done;
}

/** Decides again with the rows locked, and writes the decisions and the audit in the same transaction. */
async function actOnBatch(context: JobContext, request: ActionRequest, ids: readonly number[]): Promise<number> {
  const { store, settings, actor } = context;
  const { action, filter, reason } = request;
  const done = await store.transaction(`record the operator's ${action}`, async (tx) => {
    const decided = await decideForMessages(tx, ids, filter, action, operatorContext(context, request), true);
    const possible = decided.filter(({ decision }) => decision.to !== null);
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
    killPoint('before-resolve-commit');
    return possible.length;
  });
  killPoint('after-resolve-commit');
  return done;
}

function operatorContext({ settings, nowMs }: JobContext, { serviceId }: ActionRequest): OperatorContext {
  const { lifetimeHours, replaysRefusals } = settings.service.idempotency;
  return { nowMs: nowMs(), keyLifetimeMs: lifetimeHours * 3_600_000, replaysRefusals, serviceId };
}
