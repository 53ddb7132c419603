import type { AuditLine } from '../audit/read-audit.js';
import type { Fact } from '../model/facts/fact.js';
import type { RecordStory, StoryAttempt } from '../operator/tell-story.js';
import { tell, tellWhole } from '../words/words.js';

interface TimelineEntry {
  at: number;
  text: string;
  /** The details of the line: the service's words, the answer's beginning. */
  more: string[];
}

/** The story from capture to acknowledgement, oldest first: audit lines and attempts in one row. Pure. */
export function storyTimeline(
  story: RecordStory,
  audit: readonly AuditLine[],
  time: (ms: number) => string,
): TimelineEntry[] {
  const shown = new Set(story.attempts.map(({ messageId, number }) => `${messageId} ${number}`));
  const isShown = (messageId: number | null, number: unknown) => shown.has(`${messageId} ${number}`);
  const captured = new Set(audit.filter((line) => line.event === 'captured').map((line) => line.messageId));
  const revisions = new Map(story.messages.map((message) => [message.id, message.revision]));
  const several = story.messages.length > 1;
  const revisionOf = (messageId: number | null) => {
    const revision = messageId === null ? undefined : revisions.get(messageId);
    return several && revision !== undefined ? ` (revision ${revision})` : '';
  };

  // Within one millisecond the order is: captured, tried, settled.
  const entries: (TimelineEntry & { rank: number })[] = [
    // Retention may have taken the audit line away while its message is still open.
    ...story.messages
      .filter((message) => !captured.has(message.id))
      .map((message) => ({
        at: message.capturedAt,
        rank: 0,
        text: `captured: ${message.operation}, revision ${message.revision}${keyAndHash(message.idempotencyKey, message.bodyHash)}`,
        more: [],
      })),
    ...story.messages
      .filter(({ state, id, attempts }) => state === 'sending' && !isShown(id, attempts))
      .map(({ id, attempts, claimedAt, capturedAt }) => ({
        at: claimedAt ?? capturedAt,
        rank: 1,
        text: `attempt ${attempts}${revisionOf(id)}: ${verdictInWords(null)}`,
        more: [],
      })),
    ...story.attempts.map((attempt) => ({ ...attemptEntry(attempt, revisionOf(attempt.messageId)), rank: 1 })),
    ...audit
      .flatMap(toldApart)
      .filter((line) => line.event !== 'attempt' || !isShown(line.messageId, line.detail.number))
      .map((line) => ({
        at: line.event === 'attempt' && typeof line.detail.startedAt === 'number' ? line.detail.startedAt : line.at,
        rank: ranks[line.event] ?? 2,
        ...auditEntry(line, revisionOf(line.messageId), time),
      })),
  ];
  return entries.sort((a, b) => a.at - b.at || a.rank - b.rank).map(({ at, text, more }) => ({ at, text, more }));
}

/** Place of an audit line among entries of the same moment, by its event; others come last. */
const ranks: Readonly<Record<string, number>> = { captured: 0, attempt: 1 };

/** A line that tells of a delivery tells of its request as well. */
function toldApart(line: AuditLine): AuditLine[] {
  return line.event === 'delivered' && 'startedAt' in line.detail ? [{ ...line, event: 'attempt' }, line] : [line];
}

/** The ERP's column may hold no times, such as a version counter. */
function changedInErp(changedAt: unknown, time: (ms: number) => string): string {
  if (typeof changedAt === 'number') return `, changed in the ERP at ${time(changedAt)}`;
  return changedAt ? `, changed in the ERP at “${changedAt}”, as its column says` : '';
}

function attemptEntry(attempt: StoryAttempt, revision: string): TimelineEntry {
  const { verdict, status, durationMs, requestId, traceId, reason, excerpt } = attempt;
  const answer = [status === null ? '' : `HTTP ${status}`, durationMs === null ? '' : `in ${durationMs} ms`]
    .filter(Boolean)
    .join(' ');
  const heading = `attempt ${attempt.number}${revision}: ${answer ? `${answer}: ` : ''}${verdictInWords(verdict)}`;
  return {
    at: attempt.startedAt ?? attempt.intendedAt,
    text: `${heading}${requestId ? `; the service's request id: ${requestId}` : ''}${traceId ? `; trace ${traceId}` : ''}`,
    more: [...(reason ? [`reason: ${tell(reason)}`] : []), ...(excerpt ? [`answer: ${excerpt}`] : [])],
  };
}

function auditEntry(
  { event, outcome, actor, detail }: AuditLine,
  revision: string,
  time: (ms: number) => string,
): { text: string; more: string[] } {
  const text = (name: string): string | null => {
    const value = detail[name];
    if (value === null || value === undefined) return null;
    // Lines of an earlier version hold a sentence.
    return typeof value === 'object' && 'code' in value ? tellWhole(value as unknown as Fact, { time }) : String(value);
  };
  const reason = text('reason');
  const more = reason ? [`reason: ${reason}`] : [];
  switch (event) {
    case 'captured':
      return {
        text:
          `captured: ${text('because') ? `removal (${text('because')} in the ERP), sent as ${outcome}` : outcome}, revision ${text('revision')}${changedInErp(detail.changedAt, time)}` +
          `${keyAndHash(text('idempotencyKey'), text('bodyHash'))}; by ${actor}`,
        more: [],
      };
    case 'attempt':
      return {
        text: `attempt ${text('number')}${revision}: ${text('status') ? `HTTP ${text('status')}: ` : ''}${verdictInWords(outcome)}`,
        more,
      };
    case 'delivered': {
      const state = text('serviceState');
      return {
        text: `delivered${revision} as ${text('serviceId')}${state ? `; the service says "${state}"` : ''}; by ${actor}`,
        more: text('flag') ? [`flag: ${text('flag')}`] : [],
      };
    }
    case 'read_back':
      return { text: `read back: ${readBackInWords(outcome, text)}; by ${actor}`, more: [] };
    case 'parked':
      return { text: `parked${revision} as ${outcome}; by ${actor}`, more };
    case 'in_doubt':
      return { text: `called in doubt${revision}; by ${actor}`, more };
    case 'superseded':
      return { text: `replaced${revision}; by ${actor}`, more };
    case 'operator': {
      const serviceId = text('serviceId') ? ` as ${text('serviceId')}` : '';
      const action = outcome === null ? 'acted' : (operatorInWords[outcome] ?? outcome);
      return { text: `operator ${action}${serviceId}${revision}: ${actor}`, more };
    }
    default:
      return { text: `${event}${outcome ? ` ${outcome}` : ''}${revision}; by ${actor}`, more };
  }
}

function readBackInWords(outcome: string | null, text: (name: string) => string | null): string {
  switch (outcome) {
    case 'gone':
      return `${text('orderId')} is not at the service any more`;
    case 'back':
      return `${text('orderId')} is at the service again`;
    case 'total':
      return text('flag') ?? `the total is ${text('total') ?? 'not said any more'}`;
    default:
      return text('from') === null ? `${text('to')}` : `${text('from')} became ${text('to')}`;
  }
}

const operatorInWords: Record<string, string> = {
  retry: 'asked for another try',
  discard: 'discarded it',
  delivered: 'recorded it as delivered',
  not_delivered: 'recorded it as not delivered',
  binding_refused: 'could not bind it',
  rekey: 'gave it this key',
};

const verdicts: Record<string, string> = {
  delivered: 'acknowledged',
  in_doubt: 'no proof either way, it may have taken effect',
  invalid: 'success, but without a valid acknowledgement',
  unavailable: 'the service was not reached, nothing was sent',
  throttled: 'the service asks us to wait, nothing took effect',
  unauthorised: 'the service does not accept our credential',
  misconfigured: 'the service does not let us do this',
  busy: 'the first request with this key is still running there',
  unknown_customer: 'the service does not know the customer (yet)',
  conflict: 'something exists there already',
  refused: 'refused, this try took no effect',
  not_sent: 'held back by us, nothing was sent',
  unknown: 'may have been sent, its outcome was never on record',
};

function verdictInWords(verdict: string | null): string {
  if (verdict === null) return 'no outcome on record yet';
  return verdicts[verdict] ?? verdict;
}

function keyAndHash(key: string | null, hash: string | null): string {
  return `${key ? `, key ${key}` : ''}${hash ? `, body sha256 ${hash}` : ''}`;
}

/** Which record of the ERP took the place of which, in one sentence. */
export function replacedInWords(
  { sourceKey, binding, messages }: RecordStory,
  one: RecordStory['replaced'][number],
  time: (ms: number) => string,
): string {
  if (one.sourceKey !== sourceKey) return `The ERP has it in place of ${one.sourceKey}, since ${time(one.at)}.`;
  const stays =
    binding || messages.length > 0 ? 'it stays a record of its own at the service' : 'it goes on under that key';
  return `The ERP has ${one.replacedBy} in its place since ${time(one.at)}: ${stays}.`;
}
