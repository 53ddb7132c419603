import type { LedgerRequest } from '../../src/lab/sandbox/ledger.js';
import type { AttemptRow, History, Life, MessageRow } from './history.js';
import { livesOf } from './lives.js';
import type { WitnessEvent } from './store-witness.js';

/** Faults after which a success status is no acknowledgement. */
const unreadable = new Set(['html', 'empty-body', 'truncated-json', 'invalid-json-shape', 'cut-off', 'hang', 'status']);

export function deliveredMeansAcknowledged(history: History): string[] {
  const requests = new Map(history.ledger.requests.map((request) => [request.request_id, request]));
  const attempts = new Map(
    history.attempts.filter(isAcknowledgement).map((attempt) => [attempt.message_id, attempt] as const),
  );
  const delivered = history.messages.filter(({ state }) => state === 'delivered');
  const wrong = delivered.flatMap((message) => {
    const request = requests.get(attempts.get(message.id)?.request_id ?? '');
    return howNotAcknowledged(history, message, attempts.get(message.id), request).map(
      (what) => `${message.entity} ${message.source_key}, revision ${message.revision}, ${what}`,
    );
  });
  const acknowledged = new Set(livesOf(history).flatMap(recordsThatAreThere));
  for (const { entity, source_key } of history.bindings)
    if (!acknowledged.has(`${entity} ${source_key}`))
      wrong.push(`${entity} ${source_key} is bound, and was neither delivered nor found`);
  return wrong;
}

function recordsThatAreThere(life: Life): string[] {
  const adopted = adoptedMessages(life);
  return life.messages
    .filter(({ id, state }) => state === 'delivered' || (state === 'superseded' && adopted.has(id)))
    .map(({ entity, source_key }) => `${entity} ${source_key}`);
}

/** Looked up and found is as good as answered. */
function isAcknowledgement({ purpose, verdict }: AttemptRow): boolean {
  return verdict === 'delivered' || (purpose === 'look_up' && verdict === 'found');
}

function howNotAcknowledged(
  history: History,
  message: MessageRow,
  attempt: AttemptRow | undefined,
  request: LedgerRequest | undefined,
): string[] {
  const wrong: string[] = [];
  const { orders, customers, deleted } = history.ledger;
  const { entity, operation, service_id: id } = message;
  // It may have been removed later; whether that was wanted is asked elsewhere.
  const exists =
    entity === 'order'
      ? orders.some((order) => order.order_id === id) || deleted.some((record) => record.id === id)
      : customers.some((customer) => customer.customer_code === id);
  if (operation !== 'delete' && !exists) wrong.push(`is delivered as ${id}, which the service does not have`);
  if (!attempt || !request) {
    // A person looked, and said so.
    const isSaid = history.resolved.get(`${entity} ${message.source_key}`) === 'delivered';
    return isSaid ? wrong : [...wrong, 'is delivered without an answer that says so'];
  }
  const { status, fault } = request;
  // A look-up that found another total proved nothing, nor did an answer with another record's id; and then a person looked.
  const isSettledByHand = isResolvedAsDelivered(history, message);
  if (isSettledByHand && (attempt.purpose === 'look_up' || fault === 'status')) return wrong;
  const isGone = operation === 'delete' && (status === 404 || status === 410);
  if (!isGone && (status === null || status < 200 || status > 299 || unreadable.has(fault ?? '')))
    wrong.push(`was called delivered by an answer ${status} with ${fault}`);
  const isToBeReviewed =
    isGone ||
    attempt.purpose === 'look_up' ||
    (fault === 'wrong-total' && entity === 'order' && operation !== 'delete');
  if (isToBeReviewed !== (message.flag !== null))
    wrong.push(`met ${fault ?? 'no fault'} and ${status}, and its flag says: ${message.flag}`);
  return wrong;
}

function isResolvedAsDelivered({ operated, resolved }: History, { id, entity, source_key }: MessageRow): boolean {
  const isLogged = operated.some((line) => line.message_id === id && line.outcome === 'delivered');
  return isLogged && resolved.get(`${entity} ${source_key}`) === 'delivered';
}

const legal: Record<string, readonly string[]> = {
  pending: ['sending', 'superseded', 'discarded'],
  sending: ['pending', 'in_doubt', 'delivered', 'parked'],
  in_doubt: ['sending', 'parked', 'delivered', 'pending'],
  parked: ['superseded', 'pending', 'in_doubt', 'delivered', 'discarded'],
  delivered: [],
  superseded: [],
  discarded: [],
};

export function legalTransitions(history: History): string[] {
  return livesOf(history).flatMap((life, index) => [
    ...illegalTransitions(history, life, index > 0),
    ...replacedDespiteDoubt(life, closedByExport(history, index > 0)),
  ]);
}

/** @param isRecovered the store took the place of another one: what waits may have been sent by that one */
function illegalTransitions(history: History, { events, attempts, operated }: Life, isRecovered: boolean): string[] {
  const wrong: string[] = [];
  const { resolved } = history;
  const isClosed = closedByExport(history, isRecovered);
  const lookedUp = new Set(messagesAskedFor(attempts, 'none'));
  const asked = new Set(messagesAskedFor(attempts));
  const saidAbsent = new Set<number | null>();
  const changes = new Set(
    events.flatMap(({ what, text, message_id: id }) => (what === 'message' && text === 'update' ? [id] : [])),
  );
  for (const { message_id, outcome } of operated) if (outcome === 'not_delivered') saidAbsent.add(message_id);
  // A message that may have been sent is never treated as if it had not been: from "in doubt" only proof leads on.
  const doubtful = new Set<number>();
  for (const event of events) {
    const name = `${event.entity} ${event.source_key} (message ${event.message_id})`;
    if (event.what !== 'message-changed') {
      wrong.push(...wrongBeginning(event).map((one) => `${name} ${one}`));
      continue;
    }
    const { old_state: from, new_state: to, message_id: id } = event;
    const isRecovery = isRecovered && from === 'pending' && (to === 'in_doubt' || to === 'parked');
    // A hold keeps back what was never sent.
    const isHeld = from === 'pending' && to === 'parked' && event.text === 'held' && event.new_first_sent === null;
    // A customer in conflict may be one that the service has already: it is asked for by its code.
    const isAsked = from === 'parked' && to === 'sending' && asked.has(id);
    const isProven = (from === 'in_doubt' || from === 'sending') && isClosed(event);
    if (from !== to && !isRecovery && !isHeld && !isAsked && !isProven && !legal[from ?? '']?.includes(to ?? ''))
      wrong.push(`${name} went from ${from} to ${to}`);
    // The service was asked and has nothing, or a person looked and says so.
    const isAbsent =
      lookedUp.has(id) ||
      (from !== 'sending' && resolved.get(`${event.entity} ${event.source_key}`) === 'not_delivered');
    // A look-up leaves the park class as it is while it is under way. Another record under an old key was never sent.
    const isOtherRecord = event.old_park_class === 'conflict' && event.old_first_sent === null && changes.has(id);
    const mayExist =
      from !== 'in_doubt' && ['conflict', 'unproven'].includes(event.old_park_class ?? '') && !isOtherRecord;
    // A record may have been judged again since: what was said of this message is in its own lines.
    const isSaid = resolved.has(`${event.entity} ${event.source_key}`) && saidAbsent.has(id);
    if (mayExist && !isSaid && !lookedUp.has(id) && (to === 'pending' || to === 'in_doubt'))
      wrong.push(`${name} may exist (${event.old_park_class}) and became ${to}, and nobody said that it does not`);
    if (isAbsent && to === 'pending') doubtful.delete(id as number);
    else
      wrong.push(...wrongFirstSend(event, isRecovery, history.clockForwardAt !== null).map((one) => `${name}${one}`));
    if (id === null) continue;
    if (to === 'in_doubt') doubtful.add(id);
    if (to === 'pending' && doubtful.has(id)) wrong.push(`${name} was in doubt and became pending`);
    if (to === 'parked' && event.text === 'refused' && doubtful.has(id))
      wrong.push(`${name} was in doubt and became refused`);
  }
  return wrong;
}

function wrongBeginning(event: WitnessEvent): string[] {
  const isWrong = event.what === 'message' && !['pending', 'parked'].includes(event.new_state ?? '');
  return isWrong ? [`began as ${event.new_state}`] : [];
}

/** A first send is never forgotten, and never moved. */
function wrongFirstSend(event: WitnessEvent, isRecovery: boolean, isClockSet: boolean): string[] {
  const { old_state: from, new_state: to, old_first_sent: before, new_first_sent: after } = event;
  const wrong: string[] = [];
  if (from === 'sending' && to === 'pending' && before !== null && after === null)
    wrong.push(' forgot that it was sent');
  if (!isRecovery && hasMoved(before, after, isClockSet))
    wrong.push(`: its first send moved from ${before} to ${after}`);
  return wrong;
}

/**
 * @param isClockSet a time moves with the clock, as exactly as the time since the machine started is known. The
 * requests between the step and its notice move as well: further back, which only makes us more careful
 */
function hasMoved(before: number | null, after: number | null, isClockSet: boolean): boolean {
  if (before === null) return false;
  return isClockSet ? after === null || after > before + 1_000 : after !== before;
}

/**
 * A message that may exist at the service gives way to nothing, and nothing that could make a second one is written
 * beside it.
 */
function replacedDespiteDoubt(life: Life, isClosed: (event: WitnessEvent) => boolean): string[] {
  const { events, messages } = life;
  const wrong: string[] = [];
  const adopted = adoptedMessages(life);
  // A message that met a record that is another one of ours is refused with proof.
  const mayExist = ({ operation, park_class: parkClass }: MessageRow) =>
    operation === 'create' && parkClass !== 'refused';
  const creates = new Set(messages.filter(mayExist).map(({ id }) => id));
  const standing = new Map<string, number>();
  for (const event of events) {
    const record = `${event.entity} ${event.source_key}`;
    if (event.what === 'message' && event.text === 'create' && standing.has(record))
      wrong.push(
        `${record} may exist (message ${standing.get(record)}), and got another create (message ${event.message_id})`,
      );
    if (event.what !== 'message-changed' || event.message_id === null || !creates.has(event.message_id)) continue;
    if (event.new_state === 'parked' && ['unproven', 'conflict'].includes(event.text ?? ''))
      standing.set(record, event.message_id);
    if (standing.get(record) !== event.message_id || event.new_state === 'parked') continue;
    if (event.new_state === 'superseded' && !adopted.has(event.message_id) && !isClosed(event))
      wrong.push(`${record} may exist (message ${event.message_id}), and was superseded`);
    // An operator gave it up, and proved nothing.
    if (event.new_state !== 'discarded') standing.delete(record);
  }
  return wrong;
}

/**
 * True if an export closed it while the store was held: the lost store knew that the service has the record, or has it
 * no more.
 */
function closedByExport(
  { past, exportedAtMs, recoveredAtMs }: History,
  isRecovered: boolean,
): (event: WitnessEvent) => boolean {
  if (!isRecovered || past === null || exportedAtMs === null) return () => false;
  const removed = past.messages.filter(({ operation, state }) => operation === 'delete' && state === 'delivered');
  const ended = new Set([...past.bindings, ...removed].map(({ entity, source_key }) => `${entity} ${source_key}`));
  return ({ new_state: to, at_ms: at, entity, source_key }) =>
    to === 'superseded' && (recoveredAtMs === null || at <= recoveredAtMs) && ended.has(`${entity} ${source_key}`);
}

/** Messages whose record was looked up at the service. @param finding what it said; absent: whatever it said */
function messagesAskedFor(attempts: Life['attempts'], finding?: string): (number | null)[] {
  return attempts
    .filter(({ purpose, verdict }) => purpose === 'look_up' && (finding === undefined || verdict === finding))
    .map(({ message_id }) => message_id);
}

/** Creates of customers that were found at the service, and are bound to what was found. */
export function adoptedMessages({ attempts, messages, bindings }: Life): Set<number> {
  const found = new Set(messagesAskedFor(attempts, 'found'));
  const bound = new Set(bindings.map(({ entity, source_key }) => `${entity} ${source_key}`));
  const isAdopted = ({ id, entity, source_key, operation }: Life['messages'][number]) =>
    entity === 'customer' && operation === 'create' && found.has(id) && bound.has(`customer ${source_key}`);
  return new Set(messages.filter(isAdopted).map(({ id }) => id));
}

/** The fence: whoever is no longer the deliverer writes nothing. */
export function noStaleEpoch(history: History): string[] {
  return livesOf(history).flatMap(({ events }, index) => {
    const isClosed = closedByExport(history, index > 0);
    // Parked and claimed all the same: to be looked up. A successor leaves it parked.
    const lookedUp = new Set<number | null>();
    // Claimed and never sent: a successor takes the attempt back, and the message waits as before.
    const takenBack = new Set<number | null>();
    return events.flatMap((event) => {
      if (event.what === 'attempt-dropped') takenBack.add(event.message_id);
      if (event.what === 'attempt') takenBack.delete(event.message_id);
      const isClaimed = event.what === 'message-changed' && event.new_state === 'sending';
      if (isClaimed && event.old_state === 'parked') lookedUp.add(event.message_id);
      else if (isClaimed) lookedUp.delete(event.message_id);
      const isClaim = event.what === 'attempt';
      const isOutcome = event.what === 'attempt-settled' && event.text !== 'unknown';
      // A claim writes its epoch; what was claimed is settled under the same one, or called in doubt by a successor.
      const isLeft =
        isClosed(event) ||
        event.new_state === 'in_doubt' ||
        (event.new_state === 'pending' && takenBack.has(event.message_id)) ||
        (event.new_state === 'parked' && lookedUp.has(event.message_id));
      const isChange = isClaimed || (event.what === 'message-changed' && event.old_state === 'sending' && !isLeft);
      if ((!isClaim && !isOutcome && !isChange) || event.epoch === event.lease_epoch) return [];
      const outcome = isOutcome
        ? `an outcome (${event.text})`
        : `the state ${event.new_state} of message ${event.message_id}`;
      const what = isClaim ? 'an attempt' : outcome;
      return [`${what} of epoch ${event.epoch} was written in epoch ${event.lease_epoch}`];
    });
  });
}

/** A deliverer that was overtaken, and wakes up, sends nothing. */
export function noSendWithoutTheLease(history: History): string[] {
  const { arrivals } = history;
  const events = livesOf(history).flatMap((life) => life.events);
  const leases = events.filter((event) => event.what === 'lease');
  // Each node of a cluster has a lease of its own.
  const names = [...new Set(leases.map((lease) => lease.source_key))];
  const wrong: string[] = [];
  for (const arrival of arrivals) {
    const holdersAt = (atMs: number) =>
      names.map((name) => leases.findLast((lease) => lease.source_key === name && lease.at_ms <= atMs)?.text);
    // Only what came well before the request counts: the two are noted by different processes.
    const holders = holdersAt(arrival.atMs - 25);
    const isOurs = (text: string | null | undefined) => text?.endsWith(`:${arrival.pid}`) ?? false;
    if (![...holders, ...holdersAt(arrival.atMs + 25)].some(isOurs))
      wrong.push(`process ${arrival.pid} sent a request while ${holders.join(', ')} had the lease`);
  }
  return wrong.slice(0, 5);
}
