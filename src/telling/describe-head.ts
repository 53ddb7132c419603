import type { Settings } from '../config/settings.js';
import type { Explanation } from '../operator/explain-record.js';
import { amountWithCurrency } from '../operator/format.js';
import type { OrderAtService, RecordStory } from '../operator/tell-story.js';
import { tell } from '../words/words.js';
import type { StoryInWords } from './describe-story.js';
import { isItThere } from './is-it-there.js';

/** The head of a record’s story: its name, and the facts that are known of it now, a name and its texts a line. Pure. */
export function describeHead(
  { story, currency }: Pick<Explanation, 'story' | 'currency'>,
  { where, why }: Pick<StoryInWords, 'where' | 'why'>,
  settings: Pick<Settings, 'amounts' | 'service'>,
  time: (ms: number) => string,
): { title: string; rows: (readonly [name: string, ...texts: string[]])[] } {
  const { entity, sourceKey, number, binding } = story;
  const kind = entity === 'order' ? 'Order' : 'Customer';
  const title = number === null ? `${kind} ${sourceKey}` : `${kind} ${number} (key ${sourceKey} in the ERP)`;
  const bound = binding
    ? `${binding.serviceId} at the service, revision ${binding.revision}, ${binding.said === null ? `acknowledged ${time(binding.acknowledgedAt)}` : 'not acknowledged by the service'}`
    : unboundInWords(story);
  const presence = isItThere(story, time);
  const rows: [string, ...string[]][] = [
    ['Where:', where],
    ['Why:', ...why],
    ['Is it there:', `${presence.answer}: ${presence.words}`],
    ['Binding:', bound],
  ];
  const writeAmount = (minor: number) => amountWithCurrency(settings.amounts, minor, currency);
  if (entity === 'order' && binding?.atService)
    rows.push(['Service:', ...orderAtService(binding.atService, time, writeAmount)]);
  else if (entity === 'order' && binding && settings.service.endpoints.readOrder)
    rows.push(['Service:', 'not read back yet']);
  return { title, rows };
}

/** The service's words about an order when Waybill read it back, a line each. */
function orderAtService(
  { status, total, readAt, isFinal, goneAt, flag }: OrderAtService,
  time: (ms: number) => string,
  writeAmount: (minor: number) => string,
): string[] {
  const amount = total === null ? '' : `, total ${writeAmount(total)}`;
  const shown = status === null ? 'it was never shown' : `${JSON.stringify(status)}${amount}`;
  return [
    goneAt === null
      ? `${shown}, read ${time(readAt)}${isFinal ? '; final, so Waybill does not read it any more' : ''}`
      : `not at the service any more since ${time(goneAt)}, looked for ${time(readAt)}; ${status === null ? shown : `before that ${shown}`}. Nothing is created again.`,
    ...(flag === null ? [] : [`to be looked at: ${tell(flag)}`]),
  ];
}

function isRemoved({ messages }: RecordStory): boolean {
  const last = messages.at(-1);
  return last?.operation === 'delete' && last.state === 'delivered';
}

function unboundInWords(story: Parameters<typeof isRemoved>[0]): string {
  return isRemoved(story) ? 'none any more' : 'none; the service has not acknowledged the record yet';
}
