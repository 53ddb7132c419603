import { type ActionPlan, type ActionRequest, actOnMessages, planAction } from '../operator/act-on-messages.js';
import type { OperatorAction } from '../operator/operator-action.js';
import { type CommandApp, confirm, exitCode, UsageError } from './command.js';
import { type Output, shorten } from './terminal/output.js';

/** Shows what the action would do to which messages, asks, and does it. @returns the exit code */
export async function actOnOutbox(
  { context, output }: CommandApp,
  request: ActionRequest,
  yes: boolean | undefined,
): Promise<number> {
  const { action } = request;
  const plan = await planAction(context, request);
  const { matched, ids, leftExamples: left } = plan;
  if (matched === 0) {
    output.json({ action, matched, done: 0, left });
    output.line('No message matches.');
    return exitCode.failed;
  }
  if (request.serviceId !== null && ids.length > 1)
    throw new UsageError(`--service-id names one record, but ${ids.length} messages match. Add --key and --entity.`);
  showPlan(output, action, plan);
  if (ids.length === 0) {
    output.json({ action, matched, done: 0, left });
    return exitCode.failed;
  }
  if (!(await confirm(`${words[action].question} ${plural(ids.length)}?`, yes))) {
    output.line('Nothing was done.');
    return exitCode.failed;
  }
  const done = await actOnMessages(context, request, ids);
  output.json({ action, matched, done, left });
  output.line(`${words[action].outcome}: ${plural(done)}.`);
  if (done < ids.length) output.line(`${plural(ids.length - done)} had moved on meanwhile and were left alone.`);
  return matched > done ? exitCode.waitsForPerson : exitCode.done;
}

function showPlan(output: Output, action: OperatorAction, plan: ActionPlan): void {
  const { matched, ids, examples, leftByReason, leftExamples } = plan;
  if (ids.length > 0)
    output.table(
      ['entity', 'key', 'number', 'what', 'state', 'reason', 'becomes'],
      examples.map(({ message, decision }) => [
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
  if (ids.length > examples.length) output.line(`… and ${ids.length - examples.length} more.`);
  output.line(`${plural(matched)} match; ${words[action].possible} ${ids.length} of them.`);
  for (const [why, count] of leftByReason) {
    const example = leftExamples.find((left) => left.why === why);
    const named = example ? ` (${count > 1 ? 'for one ' : ''}${example.entity} ${example.number ?? example.key})` : '';
    output.line(`Left alone: ${count}${named}: ${why}.`);
  }
}

const words: Record<OperatorAction, { question: string; possible: string; outcome: string }> = {
  retry: { question: 'Try again now:', possible: 'can be tried again:', outcome: 'Will be tried again now' },
  discard: { question: 'Discard for good:', possible: 'can be discarded:', outcome: 'Discarded' },
  delivered: {
    question: 'Record as delivered:',
    possible: 'can be resolved:',
    outcome: 'Recorded as delivered',
  },
  not_delivered: {
    question: 'Record as not delivered, and send again:',
    possible: 'can be resolved:',
    outcome: 'Recorded as not delivered; will be sent again now',
  },
};

function plural(count: number): string {
  return count === 1 ? '1 message' : `${count} messages`;
}
