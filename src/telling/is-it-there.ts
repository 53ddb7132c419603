import type { RecordStory, StoryMessage } from '../operator/tell-story.js';
import type { SaidBinding } from '../outbound/outbox/binding-holders.js';
import { tell } from '../words/words.js';

/** Tells if the service has the record, and on what evidence. */
export interface Presence {
  answer: 'yes' | 'no' | 'unknown';
  words: string;
}

const lookedUp: Record<string, Presence> = {
  found: { answer: 'yes', words: 'the service has exactly one record that is this one' },
  none: { answer: 'no', words: 'the service said that it has none' },
  several: { answer: 'unknown', words: 'the service has several that it may be' },
  too_early: { answer: 'unknown', words: 'it was asked for too early: a request may still have been on its way' },
  odd: { answer: 'unknown', words: 'what the service answered proves nothing' },
};

/** Only two look-ups that agree say that it is not there. */
const onceNone: Presence = { answer: 'unknown', words: 'the service said that it has none, and is asked once more' };

/** True if a person may have to settle its outcome. Pure. */
export function isDoubtful({ state, parkClass }: Pick<StoryMessage, 'state' | 'parkClass'>): boolean {
  return state === 'in_doubt' || (state === 'parked' && (parkClass === 'unproven' || parkClass === 'conflict'));
}

/** Is it at the service? Pure. */
export function isItThere(
  { binding, messages, attempts }: Pick<RecordStory, 'binding' | 'messages' | 'attempts'>,
  time: (ms: number) => string,
): Presence {
  const message = messages.at(-1);
  if (message?.operation === 'delete' && message.state === 'delivered')
    return { answer: 'no', words: 'its removal was acknowledged' };
  if (binding?.atService?.goneAt)
    return { answer: 'no', words: `the service has not had it any more since ${time(binding.atService.goneAt)}` };
  if (binding) {
    const { serviceId, acknowledgedAt, said } = binding;
    const words = boundInWords(serviceId, acknowledgedAt, said, time);
    if (said !== null) return { answer: said.check === 'same' ? 'yes' : 'unknown', words };
    return { answer: 'yes', words };
  }
  if (message === undefined) return { answer: 'no', words: 'nothing of it was sent' };
  if (isDoubtful(message)) return evidence(message, attempts, time);
  if (message.state === 'sending') return { answer: 'unknown', words: 'it is being sent right now' };
  if (message.state === 'delivered') return { answer: 'yes', words: `acknowledged as ${message.serviceId}` };
  if (!message.wasSent) return { answer: 'no', words: 'nothing of it was sent' };
  if (message.state === 'discarded')
    return { answer: 'unknown', words: 'it was sent, and closed by a person before anything was proven' };
  return { answer: 'no', words: 'what was sent so far took no effect' };
}

/** Tells the source of a record's id at the service. Pure. */
export function boundInWords(
  serviceId: string,
  at: number,
  said: SaidBinding | null,
  time: (ms: number) => string,
): string {
  if (said === null) return `acknowledged as ${serviceId} on ${time(at)}`;
  const who = said.by.replace(/@[^@]*$/, '');
  return `recorded as there, as ${serviceId}, by ${who} on ${time(at)}; ${checked[said.check] ?? checked.unasked}`;
}

const checked: Record<string, string> & { unasked: string } = {
  same: 'the service showed the same record under this id',
  differs: 'the service showed another record under this id',
  absent: 'the service showed no record under this id',
  unread: 'not checked, because the service could not be asked',
  unasked: 'not checked at the service',
};

/** The result of the last look-up, unless it was sent again since. */
function evidence(
  { id, state }: StoryMessage,
  attempts: RecordStory['attempts'],
  time: (ms: number) => string,
): Presence {
  const own = attempts.filter(({ messageId }) => messageId === id);
  const asked = own.findLast(({ purpose, verdict }) => purpose === 'look_up' && verdict !== null);
  if (asked === undefined)
    return { answer: 'unknown', words: 'the service has not been asked for it since it was sent' };
  const found = asked.verdict === 'none' && state === 'in_doubt' ? onceNone : lookedUp[asked.verdict ?? ''];
  const { answer, words } = found ?? {
    answer: 'unknown' as const,
    words: 'the service was asked for it, and did not say',
  };
  const said = `${words}, asked on ${time(asked.startedAt ?? asked.intendedAt)}${asked.reason ? ` (${tell(asked.reason)})` : ''}`;
  const isSentSince = own.some(
    (one) => one.purpose !== 'look_up' && one.startedAt !== null && one.number > asked.number,
  );
  return isSentSince ? { answer: 'unknown', words: `${said}; it was sent again since` } : { answer, words: said };
}
