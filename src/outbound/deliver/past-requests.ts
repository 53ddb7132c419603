import type { Entity } from '../../model/record.js';
import type { Verdict } from '../../model/verdict.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import type { Operation } from '../outbox/message.js';
import { isUnended } from './attempts.js';
import { type ClockCorrection, claimTime, deliveredSince, latestTime } from './clock-trace.js';
import { enoughBesides, type Tries } from './one-record.js';

interface PastRequests {
  sinceMs: number;
  /** A request leaves at most this long after its intent. */
  waitMs: number;
  /** A request is answered at most this long after it has left. */
  deadlineMs: number;
  /** The time by the clock as it is. */
  nowMs: number;
  /** Corrections of the clock, by which times on record are corrected. */
  corrections: readonly ClockCorrection[];
  /** Epochs whose requests are counted elsewhere. */
  except: ReadonlySet<number>;
}

interface PastAttempt {
  id: number;
  epoch: number;
  intendedAt: number;
  startedAt: number | null;
  durationMs: number | null;
  requests: number | null;
}

/**
 * When the requests that a limit with a long window still counts were answered at the latest, whichever process sent
 * them. A request without an outcome may have been sent and counts once; of the others the number that reached the
 * service is on record. Reads backwards along the primary key, since the ends of attempts ascend with it, by and large.
 * @returns milliseconds since 1970, ascending; none before `sinceMs`
 */
export async function answeredSince(
  tx: Tx,
  { sinceMs, waitMs, deadlineMs, nowMs, corrections, except }: PastRequests,
): Promise<number[]> {
  const pageSize = 2_000;
  const open = await tx.rows<{ epoch: number; at: number }>(
    `SELECT m.claim_epoch AS epoch, m.claimed_at AS at FROM outbox_message m WHERE ${isUnended}`,
  );
  const times = open.flatMap(({ epoch, at }) =>
    except.has(epoch) ? [] : [claimTime(at, corrections, nowMs) + waitMs + deadlineMs],
  );
  const [delivered, parameters] = await deliveredSince(tx, sinceMs);
  // Those of one transaction have one time.
  const settled = await tx.rows<{ epoch: number; at: number; requests: number }>(
    `SELECT m.claim_epoch AS epoch, m.delivered_at AS at, SUM(m.requests) AS requests ${delivered} GROUP BY m.claim_epoch, m.delivered_at`,
    parameters,
  );
  for (const { epoch, at, requests } of settled)
    if (!except.has(epoch)) times.push(...Array<number>(Number(requests)).fill(at));
  for (let beforeId: number | null = null; ; ) {
    let hasYoung = false;
    const rows: PastAttempt[] = await tx.rows<PastAttempt>(
      `SELECT id, epoch, intended_at, started_at, duration_ms, requests FROM attempt ${beforeId === null ? '' : 'WHERE id<?'} ORDER BY id DESC LIMIT ${pageSize}`,
      beforeId === null ? [] : [beforeId],
    );
    for (const { id, epoch, intendedAt, startedAt, durationMs, requests } of rows) {
      const leftBy = latestTime(id, startedAt ?? intendedAt + waitMs, corrections, waitMs);
      const answeredBy = leftBy + (durationMs ?? deadlineMs);
      if (answeredBy <= sinceMs) continue;
      hasYoung = true;
      if (!except.has(epoch)) times.push(...Array<number>(requests ?? 1).fill(answeredBy));
    }
    const last = rows.at(-1);
    if (rows.length < pageSize || last === undefined || !hasYoung)
      return times.filter((at) => at > sinceMs).sort((a, b) => a - b);
    beforeId = last.id;
  }
}

/**
 * Tells if a request of this kind has passed since the last one of them was answered 403, in the order in which it was
 * put on record.
 */
export async function passedSinceForbidden(tx: Tx, entity: Entity, operation: Operation): Promise<boolean> {
  const [last] = await tx.rows<{ messageId: number; sourceKey: string }>(
    `SELECT a.message_id, m.source_key FROM attempt a JOIN outbox_message m ON m.id=a.message_id
      WHERE a.verdict='misconfigured' AND a.status=403 AND a.purpose=? AND m.entity=? ORDER BY a.id DESC LIMIT 1`,
    [operation, entity],
  );
  const line = "SELECT MAX(id) FROM audit_log WHERE source_key=? AND message_id=? AND outcome='misconfigured'";
  const forbidden = last && (await tx.value<number | null>(line, [last.sourceKey, last.messageId]));
  const passed = `SELECT l.id FROM audit_log l JOIN outbox_message m ON m.id=l.message_id
    WHERE l.event='delivered' AND l.id>? AND m.entity=? AND m.operation=? AND m.started_at IS NOT NULL LIMIT 1`;
  return (await tx.value<number>(passed, [forbidden ?? 0, entity, operation])) !== undefined;
}

/** Those of these messages of which an earlier request was answered 403. */
export async function forbiddenBefore(tx: Tx, messageIds: readonly number[]): Promise<Set<number>> {
  if (messageIds.length === 0) return new Set();
  const rows = await tx.rows<{ messageId: number }>(
    `SELECT DISTINCT message_id FROM attempt
      WHERE verdict='misconfigured' AND status=403 AND message_id IN ${placeholders(messageIds.length)}`,
    [...messageIds],
  );
  return new Set(rows.map(({ messageId }) => messageId));
}

/** Outcomes of tries by which the service may mean one record alone. */
const troubles: ReadonlySet<string> = new Set(['throttled', 'busy', 'in_doubt', 'invalid', 'unknown']);
/** Only the latest of a longer row are looked at. */
const mostLookedAt = 200;

/** The tries of a message since it was last in anybody's hands, with the one that is being put on record. */
export async function triesOf(
  tx: Tx,
  { id, sourceKey, entity, operation }: { id: number; sourceKey: string; entity: Entity; operation: Operation },
  verdict: Pick<Verdict, 'kind'>,
): Promise<Tries> {
  const lines = await tx.rows<{ id: number; at: number; event: string; outcome: string }>(
    `SELECT id, at, event, outcome FROM audit_log WHERE source_key=? AND message_id=? ORDER BY id DESC LIMIT ${mostLookedAt}`,
    [sourceKey, id],
  );
  const begun = lines.findIndex(({ event }) => event === 'parked' || event === 'operator');
  const tries = lines
    .slice(0, begun < 0 ? lines.length : begun)
    .filter(({ event, outcome }) => event === 'attempt' && troubles.has(outcome));
  const throttled = tries.filter(({ outcome }) => outcome === 'throttled').length;
  const isThrottled = verdict.kind === 'throttled';
  return {
    count: tries.length + 1,
    throttled: throttled + (isThrottled ? 1 : 0),
    sinceMs: tries.at(-1)?.at ?? null,
    besides: await countBesides(
      tx,
      id,
      tries.map((line) => line.id),
    ),
    othersThrottled: isThrottled && throttled > 0 && (await othersThrottled(tx, id)),
    isEndpointProven: verdict.kind === 'invalid' && (await isEndpointProven(tx, entity, operation)),
  };
}

/** In how many of the times between these lines, and since the last, the service acknowledged another record. */
async function countBesides(tx: Tx, messageId: number, lines: readonly number[]): Promise<number> {
  const ascending = lines.toReversed();
  let besides = 0;
  for (let since = ascending[0]; since !== undefined && besides < enoughBesides; besides++) {
    const accepted: number | undefined = await tx.value<number>(
      `SELECT l.id FROM audit_log l JOIN outbox_message m ON m.id=l.message_id
        WHERE l.event='delivered' AND l.id>? AND m.id<>? AND m.started_at IS NOT NULL ORDER BY l.id LIMIT 1`,
      [since, messageId],
    );
    if (accepted === undefined) break;
    since = ascending.find((line) => line > accepted);
  }
  return besides;
}

async function isEndpointProven(tx: Tx, entity: Entity, operation: Operation): Promise<boolean> {
  const sql = `SELECT 1 FROM outbox_message
    WHERE state='delivered' AND entity=? AND operation=? AND started_at IS NOT NULL LIMIT 1`;
  return (await tx.value(sql, [entity, operation])) !== undefined;
}

/** Since this message was last told to slow down: whether another one was for the first time, or a read. */
async function othersThrottled(tx: Tx, messageId: number): Promise<boolean> {
  const last = "SELECT MAX(id) FROM attempt WHERE message_id=? AND verdict='throttled'";
  const sql = `SELECT 1 FROM attempt a WHERE a.verdict='throttled' AND a.id>? AND (a.message_id IS NULL OR (a.message_id<>?
      AND NOT EXISTS (SELECT 1 FROM attempt e WHERE e.message_id=a.message_id AND e.number<a.number AND e.verdict='throttled')))
    LIMIT 1`;
  return (await tx.value(sql, [(await tx.value<number>(last, [messageId])) ?? 0, messageId])) !== undefined;
}
