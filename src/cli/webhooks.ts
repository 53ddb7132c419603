import type { Command } from 'commander';
import { listEvents } from '../inbound/webhooks/webhook-rows.js';
import { readWebhookStatus } from '../inbound/webhooks/webhook-status.js';
import { shorten } from '../operator/format.js';
import { tallyInWords } from '../telling/lists.js';
import { tellWhole } from '../words/words.js';
import { type CommandApp, inApp, jsonCommand, limitOption } from './command.js';

export function webhooksCommand(): Command {
  return jsonCommand(
    'webhooks',
    'List the events that the service pushed, what came of each, and which requests were refused.',
    'waybill webhooks --limit 20',
  )
    .addOption(limitOption('how many events at most', 50))
    .action(inApp(showWebhooks, { readOnly: true }));
}

async function showWebhooks({ store, settings, output }: CommandApp, { limit }: { limit: number }): Promise<void> {
  const { events, status } = await store.read('list events', async (tx) => ({
    events: await listEvents(tx, limit),
    status: await readWebhookStatus(tx),
  }));
  const { enabled } = settings.webhooks;
  output.jsonWithTimes({ enabled, ...status, events });
  if (!enabled) output.line('Waybill does not listen for webhooks (webhooks.enabled).');
  if (status.stopped !== null && enabled) output.line(`Note: ${tellWhole(status.stopped, output)}`);
  if (status.tally.length > 0)
    output.table(
      ['what came to the door', 'requests', 'last'],
      status.tally.map(({ name, number, lastAt }) => [tallyInWords[name] ?? name, number, output.time(lastAt)]),
    );
  if (events.length === 0) return output.line('No event is kept.');
  output.table(
    ['received', 'type', 'about', 'state', 'what came of it', 'id'],
    events.map((event) => [
      output.time(event.receivedAt),
      shorten(event.type, 30),
      `${event.about} ${shorten(event.subject ?? '(none named)', 30)}`,
      event.state,
      shorten(event.outcome ? output.tell(event.outcome) : '', 60),
      shorten(event.id, 40),
    ]),
  );
  if (events.length === limit) output.line(`At most ${limit} are shown (--limit).`);
}
