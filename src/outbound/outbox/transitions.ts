import type { Fact } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import type { ClockReading } from '../../store/clock.js';
import { factColumns, factRow } from '../../store/fact-columns.js';
import { notAmong, padded, placeholders, type Row, updateRows } from '../../store/rows.js';
import type { SqlValue, Tx } from '../../store/store.js';
import { type FirstSend, type ParkClass, type RequestOnRecord, scheduleColumns, type Transition } from './message.js';

/**
 * The only file that changes the state of a message (`insertMessages` gives it the first one). Each function is one
 * kind of move and names the states it starts from: a message that has left them meanwhile stays as it is. The
 * consequences of a verdict are decided by `settle`, and the choices of a person by `decideOperatorAction`.
 */

/** A message as the audit names it. */
export interface MessageName {
  id: number;
  entity: Entity;
  sourceKey: string;
}

/** Assignments of a message that is due at a time, of one that waits for a person, and of one that has come to its end. */
const dueAt = 'next_attempt_at=?, waits_for=NULL';
const waitsForPerson = "next_attempt_at=NULL, waits_for='person'";
const isOver = 'next_attempt_at=NULL, waits_for=NULL';

const unsentOrParked = "((state='pending' AND was_sent=0) OR state='parked')";
const notClosed = "state IN ('pending','parked','sending','in_doubt')";

interface Claim {
  id: number;
  idempotencyKey: string;
  bodyHash: string;
  method: string | null;
  keyField: string | null;
  presentedAs: string | null;
  /** Key, hash and method are those on record, as with a create whose key travels in a header. */
  isAsStored: boolean;
}

/** Due messages become `sending`, with the key and the hash of the bytes that go out: that is their attempt until it has ended. */
export async function claimForSending(tx: Tx, claims: readonly Claim[], epoch: number, nowMs: number): Promise<void> {
  const rows = claims.map(({ id, idempotencyKey, bodyHash, method }) => ({ id, idempotencyKey, bodyHash, method }));
  await updateRows(
    tx,
    'outbox_message',
    ['id'],
    rows.filter((_, nth) => !claims[nth]?.isAsStored),
    { guard: "t.state IN ('pending','in_doubt')" },
  );
  const set =
    "claimed_from=state, state='sending', claim_epoch=?, claimed_at=?, attempts=attempts+1, key_in=?, key_field=?, presented_as=?, ended_at=NULL";
  const alike = new Map<string, [Claim, ...Claim[]]>();
  for (const claim of claims) {
    const how = `${claim.presentedAs} ${claim.keyField}`;
    const others = alike.get(how);
    if (others) others.push(claim);
    else alike.set(how, [claim]);
  }
  for (const [first, ...others] of alike.values()) {
    const ids = [first, ...others].map(({ id }) => id);
    const keyIn = first.keyField === null ? 'header' : 'body';
    const values = [epoch, nowMs, keyIn, first.keyField, first.presentedAs];
    await run(tx, padded(ids), set, values, "state IN ('pending','in_doubt')");
  }
}

/** Sets the time at which waiting messages are tried next. @param why absent: the reason on record stays */
export async function scheduleMessages(
  tx: Tx,
  ids: readonly number[],
  nextAttemptAt: number,
  why?: Fact,
): Promise<void> {
  const set = why === undefined ? dueAt : `${dueAt}, ${reasonSet}`;
  const values = why === undefined ? [nextAttemptAt] : [nextAttemptAt, ...reasonValues(why)];
  await run(tx, ids, set, values, "state IN ('pending','in_doubt')");
}

/** Messages in doubt and conflicts become `sending` while the service is asked for their records. */
export async function claimForLookUp(tx: Tx, ids: readonly number[], epoch: number): Promise<void> {
  const set = "claimed_from=state, state='sending', claim_epoch=?, attempts=attempts+1";
  await run(tx, ids, set, [epoch], "state IN ('in_doubt','parked')");
}

interface Settled {
  id: number;
  attemptNumber: number;
  /** Fields that are left out stay as they are. */
  transition: Pick<Transition, 'state' | 'schedule'> & Partial<Transition> & { foundAt?: number; absences?: number };
  request?: RequestOnRecord;
}

/**
 * From `sending` to what the verdict says. A message that is no longer sending this attempt under this epoch stays as it is.
 * @param settled all with the same fields
 * @returns how many were still sending
 */
export async function settleSending(
  tx: Tx,
  settled: readonly Settled[],
  epoch: number,
  nowMs: number,
): Promise<number> {
  const rows = settled.map(({ id, attemptNumber, transition, request }) => ({
    id,
    attempts: attemptNumber,
    state: transition.state,
    park_class: transition.parkClass,
    reason_code: codeOf(transition.reason),
    reason_data: dataOf(transition.reason),
    flag_code: codeOf(transition.flag),
    flag_data: dataOf(transition.flag),
    ...scheduleColumns(transition.schedule),
    delivered_at: request && (request.startedAt === null ? null : nowMs),
    failures: transition.failures,
    invalid_answers: transition.invalidAnswers,
    customer_waits: transition.customerWaits,
    // In this order: MySQL sees what an earlier assignment has set.
    first_sent_at: transition.firstSentAt,
    was_sent: transition.wasSent,
    service_id: transition.serviceId,
    found_at: transition.foundAt,
    absences: transition.absences,
    closed_at: transition.state === 'delivered' ? nowMs : null,
    ...request,
  }));
  return updateRows(tx, 'outbox_message', ['id', 'attempts'], rows, {
    guard: "t.state='sending' AND t.claim_epoch=?",
    guardParameters: [epoch],
    judged: {
      // Another node may have moved it back meanwhile, because its clock was set back.
      first_sent_at: `CASE WHEN t.first_sent_at<v.first_sent_at OR (t.was_sent=1 AND t.first_sent_at IS NULL)
        THEN t.first_sent_at ELSE v.first_sent_at END`,
    },
  });
}

/**
 * When the last request that was to write these had ended at the latest: from then on it rests, and what look-ups found before is
 * forgotten.
 */
export async function noteEnds(tx: Tx, ids: readonly number[], at: ClockReading): Promise<void> {
  const set = 'ended_at=?, ended_boot_id=?, ended_boot_ms=?, absent_at=NULL, absent_boot_id=NULL, absent_boot_ms=NULL';
  await run(tx, ids, set, [at.wallMs, at.bootId, at.bootMs], '1=1');
}

/** A look-up that counts has found nothing. */
export async function noteAbsence(tx: Tx, id: number, at: ClockReading): Promise<void> {
  const set = 'absent_at=?, absent_boot_id=?, absent_boot_ms=?';
  await run(tx, [id], set, [at.wallMs, at.bootId, at.bootMs], '1=1');
}

/**
 * After a takeover: what an older epoch was sending may have been sent. A looked-up conflict stays one.
 * @param alive older epochs whose nodes are at work
 * @returns the messages that are in doubt now
 */
export async function doubtOlderEpochs(tx: Tx, epoch: number, now: ClockReading, alive: readonly number[] = []) {
  const isLeft = `state='sending' AND claim_epoch<?${notAmong('claim_epoch', alive)}`;
  const parameters = [epoch, ...alive];
  await tx.run(`UPDATE outbox_message SET state='parked' WHERE ${isLeft} AND claimed_from='parked'`, parameters);
  const select = `SELECT id, entity, source_key FROM outbox_message WHERE ${isLeft}`;
  const doubted = await tx.rows<MessageName>(select, parameters);
  if (doubted.length === 0) return doubted;
  await tx.run(
    `UPDATE outbox_message SET state='in_doubt', next_attempt_at=?,
            first_sent_at=CASE WHEN was_sent=1 THEN first_sent_at ELSE claimed_at END, was_sent=1,
            reason_code='process_stopped', reason_data='{}' WHERE ${isLeft}`,
    [now.wallMs, ...parameters],
  );
  // No process of an older epoch sends anything any more, and until now it may have.
  await noteEnds(
    tx,
    doubted.map(({ id }) => id),
    now,
  );
  return doubted;
}

/** A message that an older epoch claimed and never sent is as it was before the claim. @returns the number of them */
export async function giveBackUnsent(tx: Tx, ids: readonly number[], epoch: number): Promise<number> {
  const guard = `state='sending' AND claim_epoch=${Math.trunc(epoch)} AND claimed_from IN ('pending','in_doubt')`;
  return run(tx, ids, 'state=claimed_from, attempts=attempts-1', [], guard);
}

/** Unsent messages wait until a person confirms them. */
export async function holdMessages(tx: Tx, ids: readonly number[], reason: Fact): Promise<void> {
  const set = `state='parked', park_class='held', ${reasonSet}, ${waitsForPerson}`;
  await run(tx, ids, set, reasonValues(reason), "state='pending'");
}

/** The finding about a parked message says more of it than the answer that parked it. */
export async function reclassifyParked(
  tx: Tx,
  id: number,
  { parkClass, reason, generation }: { parkClass: ParkClass; reason: Fact; generation?: number },
): Promise<void> {
  const set = `park_class=?, ${reasonSet}, generation=COALESCE(?, generation)${parkClass === 'conflict' ? '' : `, ${waitsForPerson}`}`;
  await run(tx, [id], set, [parkClass, ...reasonValues(reason), generation ?? null], "state='parked'");
}

/** The states in which a message waits, so that a person can act on it. */
type OperableState = 'pending' | 'in_doubt' | 'parked';

/**
 * Messages wait for a person because nothing proves whether they took effect. If the first try is not on record, it
 * counts as older than the lifetime of any key.
 */
export async function parkAsUnproven(tx: Tx, from: OperableState, ids: readonly number[], reason: Fact) {
  const set = `state='parked', park_class='unproven', was_sent=1, ${reasonSet}, ${waitsForPerson}`;
  await run(tx, ids, set, reasonValues(reason), `state='${from}'`);
}

interface Requeued extends FirstSend {
  id: number;
  to: 'pending' | 'in_doubt';
  /** Set where the next try goes out under another key. */
  newKey: { generation: number; idempotencyKey: string | null } | null;
}

/**
 * Due now. A parked message starts over; one that only comes sooner keeps its counters, so that its backoff goes on.
 * @throws when a message has left the state it was decided in
 */
export async function requeueMessages(
  tx: Tx,
  from: OperableState,
  messages: readonly Requeued[],
  nowMs: number,
): Promise<void> {
  const restart: Row =
    from === 'parked'
      ? { park_class: null, ...factRow('reason', null), failures: 0, invalid_answers: 0, customer_waits: 0 }
      : {};
  const rowOf = ({ id, to, wasSent, firstSentAt, newKey }: Requeued): Row => ({
    id,
    state: to,
    ...scheduleColumns({ at: nowMs }),
    was_sent: wasSent,
    first_sent_at: firstSentAt,
    ...restart,
    ...(newKey && { generation: newKey.generation, idempotency_key: newKey.idempotencyKey, absences: null }),
  });
  for (const hasNewKey of [false, true])
    await leave(tx, from, messages.filter(({ newKey }) => (newKey !== null) === hasNewKey).map(rowOf));
}

/** A person lets held messages go. Messages that are no longer parked stay as they are. */
export async function releaseHeld(tx: Tx, ids: readonly number[], nowMs: number): Promise<void> {
  const set = `state='pending', park_class=NULL, reason_code=NULL, reason_data=NULL, ${dueAt}, confirmed_at=?`;
  await run(tx, ids, set, [nowMs, nowMs], "state='parked'");
}

/**
 * A person closes messages. The park class stays: capture must know later whether something may exist at the service.
 * @throws when a message has left the state it was decided in
 */
export async function discardMessages(
  tx: Tx,
  from: OperableState,
  ids: readonly number[],
  reason: Fact,
  nowMs: number,
): Promise<void> {
  const why = factRow('reason', reason);
  const rows = ids.map((id) => ({ id, state: 'discarded', ...why, closed_at: nowMs, ...scheduleColumns(null) }));
  await leave(tx, from, rows);
}

/** A person found these records at the service. @throws when a message has left the state it was decided in */
export async function resolveAsDelivered(
  tx: Tx,
  from: OperableState,
  messages: readonly { id: number; serviceId: string }[],
  reason: Fact,
  nowMs: number,
): Promise<void> {
  const why = factRow('reason', reason);
  await leave(
    tx,
    from,
    messages.map(({ id, serviceId }) => ({
      id,
      state: 'delivered',
      ...scheduleColumns(null),
      park_class: null,
      ...why,
      service_id: serviceId,
      found_at: nowMs,
      closed_at: nowMs,
    })),
  );
}

/**
 * A newer revision takes the place of these unsent or parked messages, or their record was cancelled.
 * @param reason null: the one on record stays
 */
export async function supersedeUnsent(
  tx: Tx,
  ids: readonly number[],
  reason: Fact | null,
  nowMs: number,
): Promise<number> {
  const why = reason === null ? '' : `${reasonSet}, `;
  const values = reason === null ? [] : reasonValues(reason);
  return run(tx, ids, `state='superseded', ${why}closed_at=?, ${isOver}`, [...values, nowMs], unsentOrParked);
}

/**
 * These messages have nothing to say any more, because the service holds (or has lost) their records already.
 * @param serviceId the id that the service has given to the one record
 */
export async function closeAsSettled(
  tx: Tx,
  ids: readonly number[],
  reason: Fact,
  nowMs: number,
  serviceId: string | null = null,
): Promise<void> {
  const set = `state='superseded', park_class=NULL, ${reasonSet}, service_id=COALESCE(?, service_id), closed_at=?, ${isOver}`;
  await run(tx, ids, set, [...reasonValues(reason), serviceId, nowMs], notClosed);
}

/** Unsent messages that the lost store may have sent: the same key and bytes go out again, or they are looked up. */
export async function presumeInDoubt(
  tx: Tx,
  ids: readonly number[],
  sentSince: number | null,
  reason: Fact,
  nowMs: number,
): Promise<void> {
  const set = `state='in_doubt',
      first_sent_at=CASE WHEN first_sent_at<? OR (was_sent=1 AND first_sent_at IS NULL) THEN first_sent_at ELSE ? END,
      was_sent=1, ${reasonSet}, ${dueAt}`;
  await run(tx, ids, set, [sentSince, sentSince, ...reasonValues(reason), nowMs], "state='pending'");
}

/** The CASE keeps SQLite from reading all that is in one of these states. */
async function run(
  tx: Tx,
  ids: readonly number[],
  set: string,
  values: readonly SqlValue[],
  guard: string,
): Promise<number> {
  let matched = 0;
  for (let start = 0; start < ids.length; start += 5_000) {
    const chunk = ids.slice(start, start + 5_000);
    const where = `id IN ${placeholders(chunk.length)} AND CASE WHEN ${guard} THEN 1 ELSE 0 END=1`;
    matched += await tx.run(`UPDATE outbox_message SET ${set} WHERE ${where}`, [...values, ...chunk]);
  }
  return matched;
}

async function leave(tx: Tx, from: OperableState, rows: readonly Row[]): Promise<void> {
  const matched = await updateRows(tx, 'outbox_message', ['id'], rows, { guard: 't.state=?', guardParameters: [from] });
  if (matched !== rows.length) throw new Error(`${rows.length - matched} messages left the state ${from} meanwhile.`);
}

/** Columns of a fact that may be left out, and then stay as they are. */
const codeOf = (fact: Fact | null | undefined) => (fact ? fact.code : fact);
const dataOf = (fact: Fact | null | undefined) => (fact ? factColumns(fact).data : fact);

const reasonSet = 'reason_code=?, reason_data=?';

function reasonValues(reason: Fact): (string | null)[] {
  const { code, data } = factColumns(reason);
  return [code, data];
}
