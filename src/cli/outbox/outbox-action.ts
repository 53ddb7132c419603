import { type App, secretsOf } from '../../app.js';
import { appendAudit } from '../../audit/audit-log.js';
import type { Entity } from '../../model/record.js';
import type { MessageFilter } from '../../operator/list-messages.js';
import {
  decideForMessages,
  matchingIds,
  type Operated,
  writeOperatorDecisions,
} from '../../operator/operate-messages.js';
import type { OperatorAction } from '../../operator/operator-action.js';
import { killPoint } from '../../ops/kill-point.js';
import { exitCode, UsageError } from '../command.js';
import { confirm } from '../terminal/confirm.js';
import { Output, shorten } from '../terminal/output.js';
import type { ActionOptions } from './outbox-list.js';

const listedBeforeAction = 20;
const batchSize = 200;

/** Shows what the action would do to which messages, asks, and does it batch by batch. @returns the exit code */
export async function actOnOutbox(
  app: App,
  action: OperatorAction,
  filter: MessageFilter,
  options: ActionOptions,
): Promise<number> {
  const output = new Output(secretsOf(app.settings));
  const decided = await preview(app, action, filter, options);
  if (decided.matched === 0) {
    if (options.json) await output.printJson({ action, matched: 0, done: 0, left: [] });
    else await output.line('No message matches.');
    return exitCode.failed;
  }
  if (options.serviceId !== undefined && decided.ids.length > 1)
    throw new UsageError(
      `--service-id names one record, but ${decided.ids.length} messages match. Add --key and --entity.`,
    );

  if (!options.json) await showPreview(output, action, decided);
  if (decided.ids.length === 0) {
    if (options.json) await output.printJson({ action, matched: decided.matched, done: 0, left: decided.leftExamples });
    return exitCode.failed;
  }
  if (!(await confirm(`${questions[action]} ${plural(decided.ids.length)}?`, options.yes))) {
    await output.line('Nothing was done.');
    return exitCode.failed;
  }

  let done = 0;
  for (let start = 0; start < decided.ids.length; start += batchSize)
    done += await applyBatch(app, action, filter, options, decided.ids.slice(start, start + batchSize));
  const left = decided.matched - done;
  if (options.json) await output.printJson({ action, matched: decided.matched, done, left: decided.leftExamples });
  else {
    await output.line(`${outcomes[action]}: ${plural(done)}.`);
    if (done < decided.ids.length)
      await output.line(`${plural(decided.ids.length - done)} had moved on meanwhile and were left alone.`);
  }
  return left > 0 ? exitCode.waitsForPerson : exitCode.done;
}

const questions: Record<OperatorAction, string> = {
  retry: 'Try again now:',
  discard: 'Discard for good:',
  delivered: 'Record as delivered:',
  not_delivered: 'Record as not delivered, and send again:',
};

const outcomes: Record<OperatorAction, string> = {
  retry: 'Will be tried again now',
  discard: 'Discarded',
  delivered: 'Recorded as delivered',
  not_delivered: 'Recorded as not delivered; will be sent again now',
};

interface Preview {
  matched: number;
  /** Of the messages that the action can be done to: the promise that the person confirms. */
  ids: number[];
  examples: Operated[];
  /** What is left alone: how many for each reason, and a few of them. */
  leftByReason: Map<string, number>;
  leftExamples: { entity: Entity; key: string; number: string | null; why: string }[];
}

async function preview(
  app: App,
  action: OperatorAction,
  filter: MessageFilter,
  options: ActionOptions,
): Promise<Preview> {
  const result: Preview = { matched: 0, ids: [], examples: [], leftByReason: new Map(), leftExamples: [] };
  for (let afterId = 0; ; ) {
    const page = await app.store.read('look which messages match', async (tx) => {
      const ids = await matchingIds(tx, filter, afterId, batchSize);
      return { last: ids.at(-1), operated: await decideForMessages(tx, ids, filter, action, contextOf(app, options)) };
    });
    if (page.last === undefined) return result;
    afterId = page.last;
    for (const one of page.operated) {
      result.matched++;
      if (one.decision.to !== null) {
        result.ids.push(one.message.id);
        if (result.examples.length < listedBeforeAction) result.examples.push(one);
        continue;
      }
      const { why } = one.decision;
      result.leftByReason.set(why, (result.leftByReason.get(why) ?? 0) + 1);
      if (result.leftExamples.length < listedBeforeAction)
        result.leftExamples.push({
          entity: one.message.entity,
          key: one.message.sourceKey,
          number: one.message.number,
          why,
        });
    }
  }
}

async function showPreview(output: Output, action: OperatorAction, decided: Preview): Promise<void> {
  if (decided.ids.length > 0) {
    await output.table(
      ['entity', 'key', 'number', 'what', 'state', 'reason', 'becomes'],
      decided.examples.map(({ message, decision }) => [
        message.entity,
        message.sourceKey,
        message.number,
        message.operation,
        message.parkClass ? `${message.state} (${message.parkClass})` : message.state,
        shorten(message.reason ?? '', 60),
        decision.to === 'delivered'
          ? `delivered as ${decision.serviceId}`
          : `${decision.to}${'newKey' in decision && decision.newKey ? ', with a new key' : ''}`,
      ]),
    );
    if (decided.ids.length > decided.examples.length)
      await output.line(`… and ${decided.ids.length - decided.examples.length} more.`);
  }
  await output.line(`${plural(decided.matched)} match; ${questionless(action)} ${decided.ids.length} of them.`);
  for (const [why, count] of decided.leftByReason) {
    const example = decided.leftExamples.find((left) => left.why === why);
    const named = example ? ` (${count > 1 ? 'for one ' : ''}${example.entity} ${example.number ?? example.key})` : '';
    await output.line(`Left alone: ${count}${named}: ${why}.`);
  }
}

function questionless(action: OperatorAction): string {
  return {
    retry: 'can be tried again:',
    discard: 'can be discarded:',
    delivered: 'can be resolved:',
    not_delivered: 'can be resolved:',
  }[action];
}

/** One batch: decided again with the rows held, written, and on the audit, in one transaction. */
async function applyBatch(
  app: App,
  action: OperatorAction,
  filter: MessageFilter,
  options: ActionOptions,
  ids: readonly number[],
): Promise<number> {
  const { context, settings } = app;
  const applied = await app.store.transaction(`record the operator's ${action}`, async (tx) => {
    const decided = await decideForMessages(tx, ids, filter, action, contextOf(app, options), true);
    const possible = decided.filter(({ decision }) => decision.to !== null);
    const at = context.nowMs();
    await writeOperatorDecisions(tx, possible, settings.installation, options.reason, at);
    await appendAudit(
      tx,
      possible.map(({ message, decision }) => ({
        event: 'operator',
        outcome: action,
        entity: message.entity,
        sourceKey: message.sourceKey,
        messageId: message.id,
        actor: context.actor,
        detail: {
          reason: options.reason,
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
  return applied;
}

function contextOf(app: App, options: ActionOptions) {
  const { idempotency } = app.settings.service;
  return {
    nowMs: app.context.nowMs(),
    keyLifetimeMs: idempotency.lifetimeHours * 3_600_000,
    replaysRefusals: idempotency.replaysRefusals,
    serviceId: options.serviceId ?? null,
  };
}

function plural(count: number): string {
  return count === 1 ? '1 message' : `${count} messages`;
}
