import type { Command } from 'commander';
import { type App, secretsOf } from '../app.js';
import { listEvents } from '../inbound/webhooks/webhook-rows.js';
import { readWebhookStatus } from '../inbound/webhooks/webhook-status.js';
import { type CommonOptions, describeCommand, exitCode, positiveInteger, withApp } from './command.js';
import { timeFormatter, withIsoTimes } from './terminal/format.js';
import { Output, shorten } from './terminal/output.js';

interface WebhooksOptions extends CommonOptions {
  limit: number;
}

const defaultLimit = 50;

export function webhooksCommand(): Command {
  return describeCommand({
    name: 'webhooks',
    summary: 'Events that the service pushed to us, what came of each, and what was refused at the door.',
    example: 'waybill webhooks --limit 20',
    json: true,
  })
    .option('--limit <n>', 'how many events at most', positiveInteger, defaultLimit)
    .action((options: WebhooksOptions) =>
      withApp('webhooks', options, (app) => showWebhooks(app, options), { readOnly: true }),
    );
}

async function showWebhooks(app: App, { limit, json }: WebhooksOptions): Promise<number> {
  const output = new Output(secretsOf(app.settings));
  const { events, status } = await app.store.read('list events', async (tx) => ({
    events: await listEvents(tx, limit),
    status: await readWebhookStatus(tx),
  }));
  const { enabled } = app.settings.webhooks;
  const { timeZone } = app.settings.erp;
  if (json) {
    await output.printJson(withIsoTimes({ enabled, ...status, events }, timeZone));
    return exitCode.done;
  }
  const time = timeFormatter(timeZone);
  if (!enabled) await output.line('Webhooks are not listened for (webhooks.enabled).');
  if (status.stopped !== null && enabled) await output.line(`Note: ${status.stopped}.`);
  if (status.tally.length > 0)
    await output.table(
      ['what came to the door', 'requests', 'last'],
      status.tally.map(({ name, number, lastAt }) => [tallyInWords[name] ?? name, number, time(lastAt)]),
    );
  if (events.length === 0) {
    await output.line('No event is kept.');
    return exitCode.done;
  }
  await output.table(
    ['received', 'type', 'about', 'state', 'what came of it', 'id'],
    events.map((event) => [
      time(event.receivedAt),
      shorten(event.type, 30),
      event.about === null ? '' : `${event.about} ${shorten(event.subject ?? '(none named)', 30)}`,
      event.state,
      shorten(event.outcome ?? '', 60),
      shorten(event.id, 40),
    ]),
  );
  if (events.length === limit) await output.line(`At most ${limit} are shown (--limit).`);
  return exitCode.done;
}

const tallyInWords: Record<string, string> = {
  stored: 'stored',
  repeated: 'stored already: nothing done',
  forged: 'refused: not signed by one of our secrets',
  stale: 'refused: signed too long ago, or too far ahead',
  other_path: 'refused: another path',
  other_method: 'refused: no POST',
  too_large: 'refused: too large',
  compressed: 'refused: compressed',
  other_type: 'refused: no JSON by its type',
  no_event: 'refused: no event in it',
  busy: 'put off: too many at once',
  store_away: 'put off: the store was away',
};
