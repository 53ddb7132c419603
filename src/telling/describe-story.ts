import type { Fact } from '../model/facts/fact.js';
import { shellWord } from '../model/shell-word.js';
import type { Circumstances } from '../operator/explain-record.js';
import type { RecordStory, StoryCustomer, StoryMessage } from '../operator/tell-story.js';
import type { Adoption } from '../outbound/outbox/adoptions.js';
import { keyKnownUntil, mayBeForgotten } from '../outbound/outbox/idempotency-key.js';
import { isOtherRecord } from '../outbound/outbox/message.js';
import { laneArguments } from '../store/lane-pauses.js';
import type { Reader } from '../words/sentence.js';
import { remedyForPause, tellPause } from '../words/tell-pause.js';
import { remedyFor, tell } from '../words/words.js';
import { boundInWords } from './is-it-there.js';
import { replacedInWords } from './story-timeline.js';

type StoryContext = Circumstances & Reader;

export interface StoryInWords {
  /** The record's place now, in one sentence. */
  where: string;
  /** The causes of its wait: a sentence each; the first one is the first to look at. */
  why: string[];
  /** The choices of a person, with the command to type if there is one. */
  todo: { text: string; command: string | null }[];
}

function placeWithoutMessage(
  { adoption, binding, replaced, sourceKey }: RecordStory,
  time: StoryContext['time'],
): string {
  if (adoption) return `At the service as ${adoption.serviceId}; Waybill has not sent it.`;
  if (binding)
    return `At the service, ${boundInWords(binding.serviceId, binding.acknowledgedAt, binding.said, time)}; its messages are no longer kept.`;
  return replaced.some((one) => one.sourceKey === sourceKey)
    ? 'Not in the outbox any more: another record of the ERP took its place.'
    : 'In the ERP, not in the outbox yet: it waits for its lines.';
}

/** Tells a record's place, the reason, and the choices of a person. Pure. */
export function describeStory(story: RecordStory, context: StoryContext): StoryInWords {
  const words: StoryInWords = { where: '', why: [], todo: [] };
  const { time } = context;
  const say = (fact: Fact) => tell(fact, context);
  const message = story.messages.at(-1);
  if (story.unsettled)
    words.why.push(
      `Its lines are not all there yet (seen since ${time(story.unsettled.firstSeenAt)}): ${tell(story.unsettled.reason)}.`,
    );

  if (story.left) {
    words.why.push(
      `It is not pending in the ERP any more (seen since ${time(story.left.sinceAt)}): ${story.left.reason && tell(story.left.reason)}, which neither orders.cancelled nor orders.completed names. Nothing was sent.`,
    );
    words.todo.push({
      text: 'Correct orders.pending, or name the value in orders.completed or orders.cancelled, and sweep.',
      command: 'waybill sync capture',
    });
  }

  for (const one of story.replaced) words.why.push(replacedInWords(story, one, time));
  if (story.adoption) words.why.push(adoptionInWords(story.adoption, context));
  if (!message) {
    words.where = placeWithoutMessage(story, time);
    return words;
  }
  switch (message.state) {
    case 'delivered':
      if (message.operation === 'delete') {
        words.where = `Removed from the service, where it was ${message.serviceId}${message.closedAt === null ? '' : `; acknowledged on ${time(message.closedAt)}`}.`;
        if (message.flag) words.why.push(`A person should look at it: ${say(message.flag)}`);
        break;
      }
      if (story.binding?.said) {
        const { serviceId, acknowledgedAt, said } = story.binding;
        words.where = `A person’s word: ${boundInWords(serviceId, acknowledgedAt, said, time)}.`;
        words.todo.push({
          text: 'If it is another record there:',
          command: `waybill bindings move ${story.entity} ${shellWord(story.sourceKey)} --by key --from ${shellWord(serviceId)} --to ID --reason "…"`,
        });
      } else
        words.where = `At the service, acknowledged as ${message.serviceId}${message.closedAt === null ? '' : ` on ${time(message.closedAt)}`}.`;
      if (message.flag) {
        words.why.push(`A person should look at it: ${say(message.flag)}`);
        words.todo.push({
          text: `Compare the record ${message.serviceId} at the service with the ERP.`,
          command: null,
        });
      }
      break;
    case 'superseded':
      if (message.operation === 'create' && !story.binding) words.where = 'Not sent, and not to be sent.';
      else if (story.adoption) words.where = `At the service as ${story.adoption.serviceId}; nothing is to be sent.`;
      else words.where = 'Nothing to send: the service holds these values already.';
      if (message.operation === 'create' && !story.binding && message.reason) words.why.push(say(message.reason));
      break;
    case 'discarded':
      words.where = `Discarded by an operator${message.closedAt === null ? '' : ` on ${time(message.closedAt)}`}; it will not be sent.`;
      if (message.reason) words.why.push(say(message.reason));
      words.todo.push({ text: 'A change to its row in the ERP creates a new message.', command: null });
      break;
    case 'sending':
      words.where = `Being sent right now (attempt ${message.attempts}).`;
      words.why.push(
        'Its outcome is recorded within the deadline of a request; if the process died, its successor marks it as in doubt.',
      );
      break;
    case 'pending':
    case 'in_doubt':
      describeWaiting(story, message, context, words);
      break;
    case 'parked':
      words.where = `Parked: it waits for a person (${parkClassInWords[message.parkClass ?? 'refused']}).`;
      if (message.reason) {
        words.why.push(say(message.reason));
        const remedy = remedyFor(message.reason, context);
        if (remedy !== null) words.todo.push({ text: remedy, command: null });
      }
      adviseParked(story, message, context, words);
      break;
  }
  return words;
}

/** The events before us, in one sentence. */
function adoptionInWords(
  { serviceId, adoptedAt, from, differs, reviewedAt }: Adoption,
  { time }: StoryContext,
): string {
  const how = { answer: "the service's answer showed it", look_up: 'a look-up found it', file: 'a list named it' }[
    from
  ];
  const found = `The service had ${serviceId} already; adopted on ${time(adoptedAt)}, because ${how}.`;
  if (differs === null) return `${found} Its fields were not compared; only later edits are sent.`;
  if (differs.length === 0) return `${found} Nothing differed.`;
  const names = `${differs.slice(0, 20).join(', ')}${differs.length > 20 ? ` and ${differs.length - 20} more` : ''}`;
  return `${found} It differed in ${names}; ${reviewedAt === null ? 'not reviewed yet' : `reviewed on ${time(reviewedAt)}`}.`;
}

function describeWaiting(story: RecordStory, message: StoryMessage, context: StoryContext, words: StoryInWords): void {
  const { nowMs, keyLifetimeMs, time, pauses, notLive } = context;
  const isForgotten =
    message.state === 'in_doubt' &&
    message.operation === 'create' &&
    message.wasSent === 1 &&
    mayBeForgotten(message.firstSentAt, nowMs, keyLifetimeMs);
  words.where =
    message.state === 'in_doubt'
      ? `May have reached the service: attempt ${message.attempts} ended without proof. ${isForgotten ? 'The service may have forgotten its key since, so it is looked up there or parked for a person, and not sent again before that.' : 'The same key and bytes are sent again: a service that recognises the key makes no second record.'}`
      : `Waiting to be sent${story.binding ? ` (${message.operation === 'delete' ? 'the removal of' : 'a change to'} ${story.binding.serviceId})` : ''}.`;
  const before = words.why.length;

  const earlier = story.messages.filter((m) => m.revision < message.revision);
  const older = earlier.findLast((m) => isOpen(m) || m.state === 'parked');
  const discarded = earlier.findLast((m) => m.state === 'discarded');
  if (older && isOpen(older))
    words.why.push(`It waits for its revision ${older.revision}, which is ${stateInWords(older)}.`);
  else if (message.operation === 'update' && !story.binding) {
    const cause = older ?? discarded;
    words.why.push(
      `It is a change, and the record itself was never acknowledged${cause ? `: revision ${cause.revision} is ${stateInWords(cause)}: ${reasonInWords(cause, context)}` : '.'}`,
    );
    if (!older) {
      words.why.push('Nothing under way can change that: it will never be sent.');
      words.todo.push({ text: 'Close it too.', command: operate('discard', story) });
    }
    if (older?.state === 'parked') adviseParked(story, older, context, words);
  }
  if (story.customer && !story.customer.binding) describeCustomer(story.customer, context, words);
  for (const pause of pauses) {
    words.why.push(tellPause(pause, { time }));
    if (pause.until_at === null)
      words.todo.push({
        text: `${remedyForPause(pause)}.`,
        command: `waybill resume ${laneArguments(pause.lane)} --reason "…"`,
      });
  }
  if (notLive) {
    words.why.push(`Delivery is held: ${tell(notLive, context)}.`);
    words.todo.push({ text: 'Look at what would be sent, then go live.', command: 'waybill go-live' });
  }
  describeNext(story, message, { context, isForgotten, words });
  if (words.why.length === before) {
    const said = message.reason ? ` The last try said: ${reasonInWords(message, context)}.` : '';
    words.why.push(`It is due now; the next delivery sends it.${said}`);
    words.todo.push({ text: 'If no daemon is running, send it from here.', command: 'waybill sync deliver' });
  }
}

function describeCustomer(customer: StoryCustomer, context: StoryContext, words: StoryInWords): void {
  const { time, nowMs } = context;
  const { newest, sourceKey } = customer;
  let how = 'was never captured: is its row in the ERP, and eligible?';
  if (newest?.state === 'parked') how = `is ${stateInWords(newest)}: ${reasonInWords(newest, context)}`;
  else if (newest?.state === 'delivered' && newest.operation === 'delete') how = 'was removed at the service.';
  else if (newest) {
    how = `is ${stateInWords(newest)}${nextInWords(newest, nowMs, time)}.`;
  }
  words.why.push(`It waits for its customer ${sourceKey}, which ${how}`);
  words.todo.push({
    text: 'Read the story of its customer.',
    command: `waybill explain customer ${shellWord(sourceKey)}`,
  });
}

/** When a waiting message is tried or looked up next. */
function describeNext(
  story: RecordStory,
  message: StoryMessage,
  { context, isForgotten, words }: { context: StoryContext; isForgotten: boolean; words: StoryInWords },
): void {
  const { nowMs, time } = context;
  if (message.waitsFor === 'scan') {
    words.why.push(`It ${waitsForScan}.`);
    words.todo.push({ text: 'If no scan is running, run one to its end.', command: 'waybill sync capture' });
  } else if (message.nextAttemptAt !== null && message.nextAttemptAt > nowMs) {
    const next = `${isForgotten ? 'Next look-up' : 'Next try'} at ${time(message.nextAttemptAt)}`;
    words.why.push(
      `${next}${message.reason ? `; the last one said: ${reasonInWords(message, context).replace(/\.$/, '')}` : ''}.`,
    );
    if (!isForgotten) words.todo.push({ text: 'Try now instead.', command: operate('retry', story) });
  }
}

/** `It …`: the reason of a change or a removal that is not due before its scan has ended. */
const waitsForScan = 'waits for the end of the scan that found it, which shows whether it is put on hold';

/** `; …`: what an open message waits for, or nothing where it is due. */
function nextInWords(
  { state, nextAttemptAt, waitsFor }: StoryMessage,
  nowMs: number,
  time: StoryContext['time'],
): string {
  if (waitsFor === 'scan') return `; it ${waitsForScan}`;
  const isAhead = isOpen({ state }) && nextAttemptAt !== null && nextAttemptAt > nowMs;
  return isAhead ? `; next try at ${time(nextAttemptAt)}` : '';
}

function adviseParked(
  story: RecordStory,
  message: StoryMessage,
  { nowMs, keyLifetimeMs, maxProcessingMs, canLookUpOrders, time }: StoryContext,
  words: StoryInWords,
): void {
  const discard = { text: 'Or close it for good, if it must not be sent.', command: operate('discard', story) };
  if (isOtherRecord(message)) {
    words.todo.push(
      {
        text: 'Enter it again in the ERP, as a new record, and close this one.',
        command: operate('discard', story),
      },
      {
        text: `Or, if it is the same one after all, or may overwrite ${story.binding?.serviceId ?? 'the other one'} at the service:`,
        command: `waybill confirm ${story.entity}s --key ${shellWord(story.sourceKey)} --reason "…"`,
      },
    );
    return;
  }
  switch (message.parkClass) {
    case 'unmapped':
      words.todo.push({ text: 'Correct its row in the ERP; Waybill reads it again.', command: null }, discard);
      break;
    case 'refused':
    case null:
      words.todo.push(
        { text: 'Correct its row in the ERP; Waybill sends a changed row.', command: null },
        {
          text: 'Or, if the cause was at the service and is fixed, send the same again.',
          command: operate('retry', story),
        },
        discard,
      );
      break;
    case 'held':
      words.todo.push(
        { text: 'Look at what is held, then send, adopt or discard it.', command: 'waybill confirm --dry-run' },
        discard,
      );
      break;
    case 'conflict':
    case 'unproven': {
      const restsAt = message.endedAt === null ? 0 : message.endedAt + maxProcessingMs;
      const resendUntil = keyKnownUntil(message.firstSentAt, nowMs, keyLifetimeMs);
      if (message.parkClass === 'unproven' && resendUntil !== null)
        words.todo.push({
          text: `Until ${time(resendUntil)} the service remembers its key, so the same bytes may be sent again.`,
          command: operate('retry', story),
        });
      words.todo.push(
        {
          text: `Look for it at the service${story.number ? ` (order number ${story.number})` : ''}. If it is there:`,
          command: `${operate('resolve', story)} --delivered${story.entity === 'order' ? ' --service-id ID' : ''}`,
        },
        {
          text: `If it is not there${restsAt > nowMs ? ` after ${time(restsAt)}, until when the service may still be working on it` : ''}, and only then:`,
          command: `${operate('resolve', story)} --not-delivered`,
        },
      );
      if (
        message.parkClass === 'conflict' &&
        message.operation === 'create' &&
        story.entity === 'order' &&
        !canLookUpOrders
      )
        words.todo.push({
          text: 'Or describe service.endpoints.lookUpOrder in the settings: Waybill then asks the service for the order.',
          command: null,
        });
      words.todo.push(discard);
      break;
    }
  }
}

function reasonInWords({ reason }: StoryMessage, reader: Reader): string {
  return reason === null ? 'no reason on record' : tell(reason, reader);
}

function operate(action: string, { entity, sourceKey }: RecordStory): string {
  return `waybill outbox ${action} --entity ${entity} --key ${shellWord(sourceKey)} --reason "…"`;
}

function isOpen({ state }: Pick<StoryMessage, 'state'>): boolean {
  return state === 'pending' || state === 'sending' || state === 'in_doubt';
}

/** `is …` */
function stateInWords({ state, parkClass }: Pick<StoryMessage, 'state' | 'parkClass'>): string {
  switch (state) {
    case 'pending':
      return 'waiting to be sent';
    case 'sending':
      return 'being sent right now';
    case 'in_doubt':
      return 'in doubt (it may have reached the service)';
    case 'delivered':
      return 'delivered';
    case 'parked':
      return `parked (${parkClassInWords[parkClass ?? 'refused']})`;
    case 'superseded':
      return 'replaced by a newer revision';
    case 'discarded':
      return 'discarded by an operator';
  }
}

export const parkClassInWords = {
  unmapped: 'unmapped: its row could not be mapped to a record',
  refused: 'refused: the service said no; nothing took effect',
  conflict: 'conflict: something exists at the service under its key or code',
  held: 'on hold until a person has looked; nothing was sent',
  unproven: 'unproven: it may exist at the service, and Waybill cannot prove either',
};
