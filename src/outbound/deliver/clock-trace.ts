import { defaultSource, entities } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { type ClockReading, clockToleranceMs, readClock } from '../../store/clock.js';
import { movePauses } from '../../store/lane-pauses.js';
import { lockNodes } from '../../store/lease-rows.js';
import { nodeNameHere } from '../../store/nodes.js';
import { placeholders } from '../../store/rows.js';
import type { SqlValue, Tx } from '../../store/store.js';
import { readStoreInfo, writeStoreInfo } from '../../store/store-info.js';
import { keyLifetimeMs } from '../outbox/idempotency-key.js';
import { noteEnds } from '../outbox/transitions.js';

/** A step of the clock between two requests, whose times on record therefore do not compare. */
export interface ClockCorrection {
  /** The last attempt before it. */
  attemptId: number;
  /** When it was noticed, by the corrected clock. */
  atMs: number;
  /** The step by which the clock was set forward; 0: it was set back. */
  forwardMs: number;
}

interface ClockTrace extends ClockReading {
  /** The oldest first. */
  corrections: ClockCorrection[];
}

/**
 * The milliseconds by which the clock was set since a reading: below 0 is back, null is back by an unknown time. Pure.
 * After a restart of the machine only a time before the reading tells that the clock was set.
 */
export function clockSetBy(before: ClockReading, now: ClockReading): number | null {
  const shownMs = now.wallMs - before.wallMs;
  if (!isSameBoot(before, now)) return shownMs < -clockToleranceMs ? null : 0;
  const setMs = shownMs - (now.bootMs - before.bootMs);
  return Math.abs(setMs) > clockToleranceMs ? setMs : 0;
}

/** The reading to compare with from now on. Pure. Small steps back add up, or a key would look younger by all of them. */
export function nextReading(before: ClockReading | null, now: ClockReading): ClockReading {
  if (before === null || !isSameBoot(before, now) || clockSetBy(before, now) !== 0) return now;
  return { ...now, wallMs: Math.max(now.wallMs, before.wallMs + now.bootMs - before.bootMs) };
}

function isSameStep(oneMs: number | null, otherMs: number | null): boolean {
  return oneMs === null || otherMs === null ? oneMs === otherMs : Math.abs(oneMs - otherMs) <= clockToleranceMs;
}

function isSameBoot(before: ClockReading, now: ClockReading): boolean {
  return before.bootId === now.bootId && before.bootMs <= now.bootMs;
}

/**
 * When an attempt was made at the latest, by the clock as it is now. Pure.
 * @param waitMs how long after a correction an attempt from before it may have left
 */
export function latestTime(
  attemptId: number,
  atMs: number,
  corrections: readonly ClockCorrection[],
  waitMs: number,
): number {
  return corrections
    .filter((one) => attemptId <= one.attemptId)
    .reduce((time, one) => Math.min(time + one.forwardMs, one.atMs + waitMs), atMs);
}

/** When a claim without an outcome was made, by the clock as it is now. Pure. */
export function claimTime(claimedAt: number, corrections: readonly ClockCorrection[], nowMs: number): number {
  const isBefore = (time: number, { atMs, forwardMs }: ClockCorrection) => time <= atMs - forwardMs;
  return Math.min(
    corrections.reduce((time, one) => (isBefore(time, one) ? time + one.forwardMs : time), claimedAt),
    nowMs,
  );
}

/** The interval at which the reading is written down while nothing is wrong. */
const everyMs = 60_000;
/** Older ones lie outside any limit's window, unless the clock is set every few days. */
const mostCorrections = 20;

type TraceName = 'clock' | `clock/${string}`;

/** The readings of all nodes, each by its name. @param lock all of them, or this one alone, which is then all that is read */
async function readClockTraces(tx: Tx, lock: 'all' | TraceName | null = null): Promise<Map<TraceName, ClockTrace>> {
  const where = lock === null || lock === 'all' ? "name='clock' OR name LIKE 'clock/%'" : 'name=?';
  const rows = await tx.rows<{ name: TraceName; value: string }>(
    `SELECT name, value FROM store_info WHERE ${where} ORDER BY name${lock === null ? '' : tx.forUpdate}`,
    lock === null || lock === 'all' ? [] : [lock],
  );
  return new Map(rows.map(({ name, value }) => [name, JSON.parse(value) as ClockTrace]));
}

/** The steps of all clocks by which the times on record were read. */
export async function readClockCorrections(tx: Tx): Promise<ClockCorrection[]> {
  return [...(await readClockTraces(tx)).values()].flatMap(({ corrections }) => corrections);
}

/**
 * Notes what the clock shows. If it was set back since the last time, first sends are moved back as far, so that no key
 * looks younger than it is. If it was set forward, keys look older, which only makes us more careful. Nodes on one
 * machine have one clock: the first that notices corrects for all of them, once nothing is put on record any more by
 * the clock as it was.
 * @param mayCorrect false: where it was set nothing is written, because a settlement may be under way beside it
 * @returns whether it was set
 */
export async function followClock(tx: Tx, context: JobContext, mayCorrect = true): Promise<boolean> {
  const { settings } = context;
  const look = () => readClock(context);
  const isCluster = settings.cluster.enabled;
  const name: TraceName = isCluster ? `clock/${nodeNameHere(settings.cluster.node)}` : 'clock';
  const isNoted = (known: ClockTrace | null, now: ClockReading) =>
    known !== null && clockSetBy(known, now) === 0 && isSameBoot(known, now) && now.bootMs - known.bootMs < everyMs;
  const own = await readStoreInfo(tx, name);
  if (isNoted(own === null ? null : JSON.parse(own), look())) return false;

  // A new node has the clock of those that ran on its machine before, or of the one that shared the store with none.
  const knownIn = (traces: Map<TraceName, ClockTrace>) =>
    traces.get(name) ??
    [...traces.values()].find(({ bootId }) => bootId === look().bootId) ??
    traces.get('clock') ??
    null;
  const seen = knownIn(await readClockTraces(tx));
  const isSet = seen !== null && clockSetBy(seen, look()) !== 0;
  if (isSet && !mayCorrect) return true;
  // The times that other nodes put on record by the clock as it was have to be seen here: their transactions end first.
  if (isSet && isCluster) await lockNodes(tx);
  // A claim and a settlement may both have come to this: only one of them writes.
  const traces = await readClockTraces(tx, isSet ? 'all' : name);
  const known = knownIn(traces) ?? seen;
  const now = look();
  if (traces.has(name) && isNoted(known, now)) return false;
  const setMs = known === null ? 0 : clockSetBy(known, now);
  // In this very moment: the next one that looks corrects.
  if (setMs !== 0 && !isSet) return false;
  const corrections = traces.get(name)?.corrections ?? [];
  if (known !== null && known.bootId !== now.bootId) await countFromBoot(tx, known.bootId, now);
  if (setMs !== 0) {
    corrections.push(await correctTimes(tx, context, setMs, now));
    for (const [other, trace] of traces)
      if (other !== name && trace.bootId === known?.bootId && isSameStep(clockSetBy(trace, now), setMs))
        await writeStoreInfo(tx, other, JSON.stringify({ ...trace, ...now }));
  }
  const trace: ClockTrace = { ...nextReading(known, now), corrections: corrections.slice(-mostCorrections) };
  await writeStoreInfo(tx, name, JSON.stringify(trace));
  return setMs !== 0;
}

/**
 * Corrects the times on record for a clock that was set.
 * @param setMs by how much, forward; null: it was set back by an unknown time
 */
async function correctTimes(
  tx: Tx,
  { log, settings }: JobContext,
  setMs: number | null,
  now: ClockReading,
): Promise<ClockCorrection> {
  const attemptId = Number((await tx.value<number>('SELECT MAX(id) AS id FROM attempt')) ?? 0);
  const forwardMs = Math.max(setMs ?? 0, 0);
  if (setMs === null || setMs < 0) {
    // An unknown lifetime may be said later, of keys of any age.
    const lifetimeMs = keyLifetimeMs(settings.service);
    await moveFirstSends(tx, setMs, lifetimeMs < 0 ? 0 : now.wallMs - lifetimeMs);
  }
  const windowMs = Math.max(0, ...settings.service.limits.map(({ perSeconds }) => perSeconds * 1000));
  await moveDeliveries(tx, now.wallMs, forwardMs, windowMs);
  if (setMs !== null) await movePauses(tx, setMs);
  if (setMs !== null) await moveEnds(tx, now.bootId, setMs);
  const minutes = setMs === null ? 'an unknown time' : `${Math.round(Math.abs(setMs) / 60_000)} min`;
  log.warn(`The clock was set ${forwardMs > 0 ? 'forward' : 'back'} by ${minutes}; ages are corrected`);
  return { attemptId, atMs: now.wallMs, forwardMs };
}

/**
 * @param byMs below 0; null: it is unknown from now on when they were first sent
 * @param closedSinceMs of what is delivered, older ones count as forgotten anyway
 */
async function moveFirstSends(tx: Tx, byMs: number | null, closedSinceMs: number): Promise<void> {
  // The ids are named: on MySQL, an UPDATE over a range would lock the gaps in which a capture writes.
  const rows = await tx.rows<{ id: number }>(
    `SELECT id FROM outbox_message
      WHERE operation='create' AND (first_sent_at>? OR (first_sent_at IS NOT NULL AND state IN ('pending','sending','in_doubt','parked')))
      ORDER BY id`,
    [closedSinceMs],
  );
  const moved = 'UPDATE outbox_message SET first_sent_at=first_sent_at+? WHERE';
  await inParts(tx, rows, moved, [byMs]);
}

/** Creates of which is on record, by the clock of this start of a machine, when they were last under way. */
async function createsEnded(tx: Tx, bootId: string): Promise<{ id: number }[]> {
  // The ids are named: on MySQL, an UPDATE over a range would lock the gaps in which a capture writes.
  return tx.rows<{ id: number }>(
    `SELECT id FROM outbox_message
      WHERE state IN ('pending','sending','in_doubt','parked') AND (ended_boot_id=? OR absent_boot_id=?) ORDER BY id`,
    [bootId, bootId],
  );
}

/** Discards the time that the machine was down: only the wall clock knows it, and somebody may have set that clock meanwhile. */
async function countFromBoot(tx: Tx, before: string, { bootId, bootMs, wallMs }: ClockReading): Promise<void> {
  const ids = (await createsEnded(tx, before)).map(({ id }) => id);
  await noteEnds(tx, ids, { bootId, bootMs: 0, wallMs: wallMs - bootMs });
}

/** Moves these moments to the wall clock as it is now. */
async function moveEnds(tx: Tx, bootId: string, byMs: number): Promise<void> {
  const moved = 'UPDATE outbox_message SET ended_at=ended_at+?, absent_at=absent_at+? WHERE';
  await inParts(tx, await createsEnded(tx, bootId), moved, [byMs, byMs]);
}

/**
 * After a clock that ran ahead was set right, it is unknown when a message was sent "tomorrow": its key counts as forgotten.
 * @returns the messages
 */
export async function forgetFutureSends(tx: Tx, nowMs: number): Promise<{ id: number }[]> {
  // The ids are named: on MySQL, an UPDATE over a range would lock the gaps in which a capture writes.
  const sent = await tx.rows<{ id: number }>(
    "SELECT id FROM outbox_message WHERE state='in_doubt' AND operation='create' AND first_sent_at>?",
    [nowMs + clockToleranceMs],
  );
  await inParts(tx, sent, "UPDATE outbox_message SET first_sent_at=NULL WHERE state='in_doubt' AND", []);
  return sent;
}

/** Updates rows by their ids, so many at a time. @param update up to the condition on the id */
export async function inParts(
  tx: Tx,
  rows: readonly { id: number }[],
  update: string,
  values: readonly SqlValue[],
): Promise<void> {
  for (let from = 0; from < rows.length; from += 500) {
    const ids = rows.slice(from, from + 500).map(({ id }) => id);
    await tx.run(`${update} id IN ${placeholders(ids.length)}`, [...values, ...ids]);
  }
}

/** A FROM clause of the messages `m` that a request delivered since then, by the corrected clock. */
export async function deliveredSince(tx: Tx, sinceMs: number): Promise<[string, SqlValue[]]> {
  const sources = await deliveredSources(tx);
  return [
    `FROM outbox_message m WHERE m.state='delivered' AND m.entity IN ('customer','order') AND m.source IN ${placeholders(sources.length)}
      AND m.is_backlog IN (0,1) AND m.next_attempt_at IS NULL AND m.delivered_at>?`,
    [...sources, sinceMs],
  ];
}

/** One after the other from the index: of a source whose records were named one by one there is no cursor. */
async function deliveredSources(tx: Tx): Promise<string[]> {
  const sources = new Set([defaultSource]);
  const next = "SELECT MIN(source) FROM outbox_message WHERE state='delivered' AND entity=? AND source>?";
  for (const entity of entities)
    for (let one: string | null = defaultSource; one !== null; ) {
      one = (await tx.value<string | null>(next, [entity, one])) ?? null;
      if (one !== null) sources.add(one);
    }
  return [...sources];
}

/**
 * Deliveries that a limit still counts are moved as far as the clock was set forward, so that none looks older than it
 * is. A delivery at a time that has not come yet, by a clock that was set back, happened now at the latest.
 * @param windowMs of the longest limit
 */
async function moveDeliveries(tx: Tx, nowMs: number, forwardMs: number, windowMs: number): Promise<void> {
  const shownMs = nowMs - forwardMs;
  const [delivered, parameters] = await deliveredSince(tx, forwardMs > 0 ? shownMs - windowMs : nowMs);
  const rows = await tx.rows<{ id: number; at: number }>(
    `SELECT m.id, m.delivered_at AS at ${delivered} ORDER BY m.id`,
    parameters,
  );
  if (forwardMs === 0) await inParts(tx, rows, 'UPDATE outbox_message SET delivered_at=? WHERE', [nowMs]);
  else {
    // A time that lies ahead of the clock's last reading is older, of a time when it was right.
    const counted = rows.filter(({ at }) => at <= shownMs);
    await inParts(tx, counted, 'UPDATE outbox_message SET delivered_at=delivered_at+? WHERE', [forwardMs]);
  }
}
