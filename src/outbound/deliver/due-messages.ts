import type { ServiceSettings } from '../../config/sections/service.js';
import type { Entity } from '../../model/record.js';
import { concurrencyOf, longestRestMs, shortestWindowRate } from '../../service/rate-limit/rate-limiter.js';
import { type Condition, joinConditions, placeholders } from '../../store/rows.js';
import type { Store, Tx } from '../../store/store.js';
import { removalAfterThisPass } from '../outbox/message.js';

/** Which messages a deliverer looks at. */
export interface ClaimScope {
  /** Only these records; null: all. */
  only: ReadonlyMap<Entity, ReadonlySet<string>> | null;
}

/**
 * Ids of due messages: one in doubt and a new one in turn, so that records at which the service fails every time don't hold up
 * the others; oldest first, customers before orders. An order waits for its customer's binding, an update for its own, and a
 * message for older open ones of its record.
 * @param isBacklog only the backlog, or only what is not; absent: both
 * @param sentSince a create in doubt whose first try is older is left: the service may have forgotten its key
 */
export async function dueMessageIds(
  tx: Tx,
  nowMs: number,
  limit: number,
  scope: ClaimScope,
  sentSince = 0,
  isBacklog?: boolean,
): Promise<number[]> {
  const inState = async (state: SendableState, most: number) => {
    const ids: number[] = [];
    for (const entity of ['customer', 'order'] as const) {
      const left = most - ids.length;
      if (left <= 0) break;
      const rows = await readyMessages(tx, state, entity, nowMs, left, scope, sentSince, 'first', isBacklog);
      ids.push(...rows.map(({ id }) => id));
    }
    return ids;
  };
  const inDoubt = await inState('in_doubt', limit);
  const pending = await inState('pending', limit - Math.min(inDoubt.length, Math.ceil(limit / 2)));
  const inTurn = Array.from({ length: Math.max(inDoubt.length, pending.length) }, (_, i) => [
    ...inDoubt.slice(i, i + 1),
    ...pending.slice(i, i + 1),
  ]);
  return inTurn.flat().slice(0, limit);
}

/**
 * One message of this state, also where its next try is not due yet: the one that has waited longest, or the last of those that
 * were never tried, as long as there are such.
 * @returns null when there is none
 */
export async function probeMessageId(
  tx: Tx,
  state: SendableState,
  which: 'first' | 'last untried',
  scope: ClaimScope,
  sentSince: number,
): Promise<number | null> {
  // Leave out what waits for the end of its pass: a brake may hold it yet.
  const ever = removalAfterThisPass - 1;
  const found = [
    ...(await readyMessages(tx, state, 'customer', ever, 1, scope, sentSince, which)),
    ...(await readyMessages(tx, state, 'order', ever, 1, scope, sentSince, which)),
  ].sort((a, b) => a.dueAt - b.dueAt);
  if (which === 'first') return found[0]?.id ?? null;
  return found.at(-1)?.id ?? probeMessageId(tx, state, 'first', scope, sentSince);
}

export async function countInDoubt(tx: Tx): Promise<number> {
  const [row] = await tx.rows<{ n: number }>("SELECT COUNT(*) AS n FROM outbox_message WHERE state='in_doubt'");
  return row?.n ?? 0;
}

type SendableState = 'pending' | 'in_doubt';

async function readyMessages(
  tx: Tx,
  state: SendableState,
  entity: Entity,
  dueBy: number,
  limit: number,
  scope: ClaimScope,
  sentSince: number,
  which: 'first' | 'last untried',
  isBacklog?: boolean,
): Promise<{ id: number; dueAt: number }[]> {
  const order = which === 'first' ? 'ASC' : 'DESC';
  const keys = scope.only ? [...(scope.only.get(entity) ?? [])] : null;
  if (keys?.length === 0) return [];
  if (isBacklog === undefined) {
    // One after the other, because the index tells them apart before it tells when they are due.
    const both = [
      ...(await readyMessages(tx, state, entity, dueBy, limit, scope, sentSince, which, false)),
      ...(await readyMessages(tx, state, entity, dueBy, limit, scope, sentSince, which, true)),
    ];
    const sign = which === 'first' ? 1 : -1;
    return both.sort((a, b) => sign * (a.dueAt - b.dueAt || a.id - b.id)).slice(0, limit);
  }
  const remembered = "AND (m.operation<>'create' OR m.first_sent_at IS NULL OR m.first_sent_at>=?)";
  return tx.rows<{ id: number; dueAt: number }>(
    `SELECT m.id, m.next_attempt_at AS due_at FROM ${candidates}
      WHERE m.state=? AND m.entity=? AND m.is_backlog=? AND m.next_attempt_at<=? ${keys ? `AND m.source_key IN ${placeholders(keys.length)}` : ''}
        ${state === 'in_doubt' ? remembered : ''} ${which === 'first' ? '' : 'AND m.attempts=0'} AND ${ready}
      ORDER BY m.next_attempt_at ${order}, m.id ${order} LIMIT ${Math.trunc(limit)}`,
    [state, entity, isBacklog ? 1 : 0, dueBy, ...(keys ?? []), ...(state === 'in_doubt' ? [sentSince] : [])],
  );
}

/** Message `m` with what it may have to wait for: its customer's binding `c` and its own binding `w`. */
export const candidates = `outbox_message m
           LEFT JOIN binding c ON c.entity='customer' AND c.source_key=m.customer_key
           LEFT JOIN binding w ON w.entity=m.entity AND w.source_key=m.source_key`;

/**
 * What has to be true of a candidate, besides its state and time, before it may be sent. Joins and not EXISTS, and a CASE
 * around the state: otherwise MariaDB reads every binding, and every pending message, for each claim (measured).
 */
export const ready = `(m.customer_key IS NULL OR c.source_key IS NOT NULL)
            AND (m.operation='create' OR w.source_key IS NOT NULL)
            AND NOT EXISTS
              (SELECT 1 FROM outbox_message o WHERE o.source_key=m.source_key AND o.entity=m.entity AND o.revision<m.revision
                  AND CASE WHEN o.state IN ('pending','sending','in_doubt') THEN 1 ELSE 0 END=1)`;

/** When the next message that is ready would be due; null when none is waiting for its time. */
export async function nextDueAt(store: Store, scope: ClaimScope): Promise<number | null> {
  return store.read('look for the next due message', async (tx) => {
    const only = [...(scope.only ?? [])].flatMap(([entity, keys]): Condition[] =>
      keys.size === 0 ? [] : [[`m.entity=? AND m.source_key IN ${placeholders(keys.size)}`, entity, ...keys]],
    );
    const { where, parameters } = joinConditions(scope.only ? 'OR' : 'AND', only);
    const [row] = await tx.rows<{ due: number | null }>(
      `SELECT MIN(m.next_attempt_at) AS due FROM ${candidates}
        WHERE m.state IN ('pending','in_doubt') AND (${where}) AND ${ready}`,
      parameters,
    );
    return row?.due ?? null;
  });
}

/**
 * How many messages are claimed at once. Pure. No more than fit in a few seconds, so that a stop or a pause has little to give
 * back. After a kill all that was claimed counts for a limit of hours or days, because any of it may have left: so no more than
 * a hundredth of such a limit, or its own pace needs it.
 */
export function claimTarget(service: Pick<ServiceSettings, 'concurrency' | 'limits'>): number {
  const concurrency = concurrencyOf(service);
  const perSecond = shortestWindowRate(service.limits) ?? Number.POSITIVE_INFINITY;
  const inThreeSeconds = Math.ceil(Math.min(perSecond * 3, concurrency * 16));
  const small = service.limits
    .filter(({ perSeconds }) => perSeconds * 1000 > longestRestMs)
    .map(({ requests, perSeconds }) => Math.ceil(Math.max(requests / 100, (requests / perSeconds) * 3)));
  return Math.max(2, Math.min(500, Math.max(concurrency, inThreeSeconds), ...small));
}

/** Of so many messages one is of the backlog, as long as there is one. */
export const backlogTurn = 10;

/**
 * What goes next: news first, and in every tenth place one of the backlog, which goes then as if it were news, so that it still
 * moves however much is new. What is left of the room is filled with the backlog, which lets pass all that comes meanwhile. Pure.
 * @param news what is due, in its order
 * @param backlog the same of the backlog
 * @param newsSinceTurn as the last call returned it: messages of news since the backlog had its turn
 * @returns claims in the order of sending; `isUrgent`: goes before whatever of the backlog still waits for its slot
 */
export function orderClaims(
  news: readonly number[],
  backlog: readonly number[],
  room: number,
  backlogRoom: number,
  newsSinceTurn: number,
) {
  const claims: { id: number; isUrgent: boolean }[] = [];
  let since = newsSinceTurn;
  let taken = 0;
  for (const id of news) {
    if (since >= backlogTurn - 1 && taken < backlog.length && claims.length < room) {
      claims.push({ id: backlog[taken++] as number, isUrgent: true });
      since = 0;
    }
    if (claims.length >= room) break;
    claims.push({ id, isUrgent: true });
    since = Math.min(since + 1, backlogTurn - 1);
  }
  while (taken < backlog.length && taken < backlogRoom && claims.length < room)
    claims.push({ id: backlog[taken++] as number, isUrgent: false });
  return { claims, newsSinceTurn: since };
}

type ProbeKind = 'pending' | 'in_doubt' | 'look_up';

/** So many in doubt are a price that an outage may have; each may have to be looked at by a person if it lasts for days. */
const freelyInDoubt = 50;
const newOneEvery = 11;
const lookUpEvery = 6;

/**
 * What goes to see whether the service is back, the first that there is. Pure. What was not tried yet goes first: the service
 * may fail at the records that are in doubt, and at no other. But where it is down for all, each new one is one more in doubt.
 * @param probe counts the probes, from 0
 * @param inDoubt how many messages are in doubt
 */
export function probeOrder(probe: number, inDoubt: number): ProbeKind[] {
  if (probe % lookUpEvery === lookUpEvery - 1) return ['look_up', 'pending', 'in_doubt'];
  const newFirst = inDoubt < freelyInDoubt || probe % newOneEvery === 0;
  return newFirst ? ['pending', 'in_doubt', 'look_up'] : ['in_doubt', 'pending', 'look_up'];
}
