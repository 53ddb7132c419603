import { type Entity, entities } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import type { MachineClock } from '../../store/clock.js';
import { type Condition, joinConditions, placeholders } from '../../store/rows.js';
import type { Store, Tx } from '../../store/store.js';
import type { Dispatcher, DueClaim, DueMessage, ListDue, Space } from './dispatcher.js';
import { defaultAlone, type SourceTurn, takeTurns } from './source-turns.js';

/** Which messages a deliverer looks at. */
export interface ClaimScope {
  /** Only these records; null: all. */
  only: ReadonlyMap<Entity, ReadonlySet<string>> | null;
  /** The sources that take turns; absent: there is the default one alone. */
  sources?: readonly SourceTurn[];
  random?: () => number;
}

/** The messages that are due now, news and backlog apart, in one read. */
export async function listDue(
  { store, nowMs }: Pick<JobContext, 'store' | 'nowMs'>,
  [most, mostOfBacklog]: Parameters<ListDue>,
  scope: ClaimScope,
  resends: ResendTerms,
): ReturnType<ListDue> {
  return store.read('look for due messages', async (tx) => {
    const kinds = await dueKinds(tx, nowMs(), scope);
    return {
      news: await dueMessages(tx, most, { nowMs: nowMs(), scope, resends, isBacklog: false, kinds }),
      backlog: await dueMessages(tx, mostOfBacklog, { nowMs: nowMs(), scope, resends, isBacklog: true, kinds }),
    };
  });
}

/** True if anything of a kind is due, ready or not. */
type DueKinds = (state: SendableState, entity: Entity, isBacklog: boolean) => boolean;

const allKinds = (['pending', 'in_doubt'] as const).flatMap((state) =>
  entities.flatMap((entity) => [0, 1].map((isBacklog) => ({ state, entity, isBacklog }))),
);

/** One statement instead of one for each kind of which nothing is due: mostly that is all but one. */
async function dueKinds(tx: Tx, nowMs: number, { sources = defaultAlone }: ClaimScope): Promise<DueKinds> {
  const each = allKinds.map(
    ({ state, entity, isBacklog }) =>
      `EXISTS (SELECT 1 FROM outbox_message WHERE state='${state}' AND entity='${entity}' AND is_backlog=${isBacklog}
          AND source IN ${placeholders(sources.length)} AND next_attempt_at<=?) AS ${state}_${entity}_${isBacklog}`,
  );
  const [due] = await tx.select<Record<string, number | boolean>>(
    `SELECT ${each.join(', ')}`,
    each.flatMap(() => [...sources.map(({ name }) => name), nowMs]),
  );
  return (state, entity, isBacklog) => Boolean(due?.[`${state}_${entity}_${isBacklog ? 1 : 0}`]);
}

/** Creates in doubt that may be sent again. The others are looked up, or wait for a person. */
export interface ResendTerms {
  /** One whose first try is older is left: the service may have forgotten its key. */
  sentSinceMs: number;
  /** Entities whose records the service can be asked for: one that failed often is looked up before it goes out again. */
  lookedUp: readonly Entity[];
}

/** After so many failures in a row a create is looked up: the service may answer its key with one failure for ever. */
const failuresBeforeLookUp = 5;

/** A create `m` in doubt that its look-up has to precede, where the service can be asked for it. */
export const keepsFailing = `m.operation='create' AND m.failures>=${failuresBeforeLookUp}`;

/** Which messages count. */
interface Wanted {
  scope: ClaimScope;
  resends: ResendTerms;
  /** Only the backlog, or only news; absent: both. */
  isBacklog?: boolean;
}

interface DueQuestion extends Wanted {
  nowMs: number;
  /** Tells which kinds need no look; absent: all are looked for. */
  kinds?: DueKinds;
}

/**
 * Due messages: one in doubt and a new one in turn, so that records at which the service fails every time don't hold up
 * the others; oldest first, customers before orders. An order waits for its customer's binding, an update for its own, and a
 * message for older open ones of its record. Several sources take turns.
 */
export async function dueMessages(tx: Tx, limit: number, question: DueQuestion): Promise<DueMessage[]> {
  const { sources = defaultAlone, random = Math.random } = question.scope;
  const dueOf = (asked: readonly (SourceTurn & { limit: number })[]) => dueOfSources(tx, asked, question);
  const each = limit / sources.reduce((sum, { priority }) => sum + priority, 0);
  const shares = sources.map((source) => ({ ...source, limit: Math.ceil(each * source.priority) }));
  const queues = await dueOf(shares);
  if (sources.length === 1) return queues[0]?.waiting ?? [];
  const isFull = ({ waiting }: { waiting: readonly unknown[] }, at: number) => waiting.length === shares[at]?.limit;
  // The turns of sources that have little are for those that have more.
  if (queues.some(isFull) && !queues.every(isFull)) {
    const more = await dueOf(queues.filter(isFull).map((source) => ({ ...source, limit })));
    return takeTurns([...queues.filter((queue, at) => !isFull(queue, at)), ...more], limit, random);
  }
  return takeTurns(queues, limit, random);
}

/** As many of each source as its limit. One statement asks for all of them, as many statements as one source needs. */
async function dueOfSources(
  tx: Tx,
  sources: readonly (SourceTurn & { limit: number })[],
  { nowMs, kinds, ...wanted }: DueQuestion,
): Promise<(SourceTurn & { waiting: DueMessage[] })[]> {
  const inState = async (state: SendableState, limits: readonly { name: string; limit: number }[]) => {
    const found = new Map<string, DueMessage[]>(limits.map(({ name }) => [name, []]));
    for (const entity of ['customer', 'order'] as const) {
      if (kinds && wanted.isBacklog !== undefined && !kinds(state, entity, wanted.isBacklog)) continue;
      const left = limits.map(({ name, limit }) => ({ name, limit: limit - (found.get(name)?.length ?? 0) }));
      const rows = await readyMessages(tx, { state, entity }, left, { ...wanted, dueByMs: nowMs, which: 'first' });
      for (const row of rows) found.get(row.source)?.push(row);
    }
    return found;
  };
  const doubtful = await inState('in_doubt', sources);
  const inDoubt = (name: string) => doubtful.get(name) ?? [];
  const left = sources.map(({ name, limit }) => {
    return { name, limit: limit - Math.min(inDoubt(name).length, Math.ceil(limit / 2)) };
  });
  const pending = await inState('pending', left);
  return sources.map(({ name, priority, limit }) => {
    return { name, priority, waiting: inTurn(inDoubt(name), pending.get(name) ?? []).slice(0, limit) };
  });
}

const storesWithCustomers = new WeakSet<object>();
/** As long as no customer is bound, only an order without one can be ready, and to look for it would be to read all that waits. */
async function mayBeReady(tx: Tx): Promise<boolean> {
  if (storesWithCustomers.has(tx.storeKey)) return true;
  const isBound = (await tx.value("SELECT 1 FROM binding WHERE entity='customer' LIMIT 1")) !== undefined;
  if (isBound) storesWithCustomers.add(tx.storeKey);
  const alone = "SELECT 1 FROM outbox_message WHERE customer_key IS NULL AND entity='order' LIMIT 1";
  return isBound || (await tx.value(alone)) !== undefined;
}

function inTurn(inDoubt: readonly DueMessage[], pending: readonly DueMessage[]): DueMessage[] {
  const both = Array.from({ length: Math.max(inDoubt.length, pending.length) }, (_, i) => [
    ...inDoubt.slice(i, i + 1),
    ...pending.slice(i, i + 1),
  ]);
  return both.flat();
}

export type SendableState = 'pending' | 'in_doubt';

interface ReadyMessage extends DueMessage {
  dueAt: number;
  source: string;
}

interface ReadyQuestion extends Wanted {
  /** Null: also what is not due yet. */
  dueByMs: number | null;
  which: 'first' | 'last untried';
}

/** Ready messages of this state and entity, of each source as many as its limit. */
export async function readyMessages(
  tx: Tx,
  { state, entity }: { state: SendableState; entity: Entity },
  limits: readonly { name: string; limit: number }[],
  question: ReadyQuestion,
): Promise<ReadyMessage[]> {
  const { scope, resends, isBacklog, dueByMs, which } = question;
  const order = which === 'first' ? 'ASC' : 'DESC';
  const keys = scope.only ? [...(scope.only.get(entity) ?? [])] : null;
  const asked = limits.filter(({ limit }) => limit > 0);
  if (keys?.length === 0 || asked.length === 0) return [];
  if (entity === 'order' && !(await mayBeReady(tx))) return [];
  if (isBacklog === undefined) {
    // One after the other, because the index tells them apart before it tells when they are due.
    const both = [
      ...(await readyMessages(tx, { state, entity }, asked, { ...question, isBacklog: false })),
      ...(await readyMessages(tx, { state, entity }, asked, { ...question, isBacklog: true })),
    ];
    const sign = which === 'first' ? 1 : -1;
    both.sort((a, b) => sign * (a.dueAt - b.dueAt || a.id - b.id));
    return asked.flatMap(({ name, limit }) => both.filter(({ source }) => source === name).slice(0, limit));
  }
  const untried = resends.lookedUp.includes(entity) ? `AND NOT (${keepsFailing})` : '';
  const remembered = `AND (m.operation<>'create' OR m.was_sent=0 OR m.first_sent_at>=?) ${untried}`;
  const select = `SELECT m.id, m.attempts, m.next_attempt_at AS due_at, m.source FROM ${candidates}
      WHERE m.state=? AND m.entity=? AND m.source=? AND m.is_backlog=? AND m.next_attempt_at${dueByMs === null ? ' IS NOT NULL' : '<=?'} ${keys ? `AND m.source_key IN ${placeholders(keys.length)}` : ''}
        ${state === 'in_doubt' ? remembered : ''} ${which === 'first' ? '' : 'AND m.attempts=0'} AND ${ready}
      ORDER BY m.next_attempt_at ${order}, m.delivered_at ${order}, m.id ${order} LIMIT ?`;
  const parameters = asked.flatMap(({ name, limit }) => [
    state,
    entity,
    name,
    isBacklog ? 1 : 0,
    ...(dueByMs === null ? [] : [dueByMs]),
    ...(keys ?? []),
    ...(state === 'in_doubt' ? [resends.sentSinceMs] : []),
    Math.trunc(limit),
  ]);
  const each = asked.map((_, nth) => `SELECT * FROM (${select}) AS s${nth}`);
  return tx.rows<ReadyMessage>(asked.length === 1 ? select : each.join(' UNION ALL '), parameters);
}

/**
 * Message `m` with what it may have to wait for: its customer's binding `c` and its own binding `w`. NULLIF and CASE change nothing:
 * where both sides are a constant, PostgreSQL may read all bindings of that entity for each message (measured).
 */
export const candidates = `outbox_message m
           LEFT JOIN binding c ON c.entity=CASE WHEN m.customer_key IS NULL THEN '' ELSE 'customer' END AND c.source_key=m.customer_key
           LEFT JOIN binding w ON w.entity=NULLIF(m.entity,'') AND w.source_key=m.source_key`;

/**
 * The conditions on a candidate, besides its state and time, before it may be sent. Joins and not EXISTS, and a CASE
 * around the state: otherwise MariaDB reads every binding, and every pending message, for each claim (measured).
 * Revisions begin with 1, which nothing is older than: to look would read a page of the index of keys for each order of
 * a large backlog. The removal of a customer waits for its orders, which could never be sent after it.
 */
export const ready = `(m.customer_key IS NULL OR c.source_key IS NOT NULL)
            AND (m.operation='create' OR w.source_key IS NOT NULL)
            AND (m.revision=1 OR NOT EXISTS
              (SELECT 1 FROM outbox_message o WHERE o.source_key=m.source_key AND o.entity=m.entity AND o.revision<m.revision
                  AND CASE WHEN o.state IN ('pending','sending','in_doubt') THEN 1 ELSE 0 END=1))
            AND (m.operation<>'delete' OR m.entity<>'customer' OR NOT EXISTS
              (SELECT 1 FROM outbox_message d WHERE d.customer_key=m.source_key AND d.entity='order'
                  AND CASE WHEN d.state IN ('pending','sending','in_doubt') THEN 1 ELSE 0 END=1))`;

/** When the next message that is ready would be due; null when none is waiting for its time. */
export async function nextDueAt(store: Store, scope: ClaimScope): Promise<number | null> {
  return store.read('look for the next due message', async (tx) => {
    const only = [...(scope.only ?? [])].flatMap(([entity, keys]): Condition[] =>
      keys.size === 0 ? [] : [[`m.entity=? AND m.source_key IN ${placeholders(keys.size)}`, entity, ...keys]],
    );
    const { where, parameters } = joinConditions(scope.only ? 'OR' : 'AND', only);
    const [row] = await tx.rows<{ due: number | null }>(
      `SELECT MIN(m.next_attempt_at) AS due FROM ${candidates}
        WHERE m.state IN ('pending','in_doubt') ${(await mayBeReady(tx)) ? '' : "AND m.entity='customer'"} AND (${where}) AND ${ready}`,
      parameters,
    );
    return row?.due ?? null;
  });
}

/** The multiple of its names that is listed at once: looking takes longest where many rows before it have just been claimed. */
const listedAhead = 3;
/** For so long a list counts; what comes meanwhile waits. */
const listedForMs = 150;

/** The dispatcher `local`: asks the store. */
export class StoreDispatcher implements Dispatcher {
  #newsSinceTurn = 0;
  #listed: Awaited<ReturnType<ListDue>> = { news: [], backlog: [] };
  #listedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly clock: Pick<MachineClock, 'monotonicMs'>) {}

  async next({ room, backlogRoom }: Space, listDue: ListDue): Promise<DueClaim[]> {
    const left = this.#listed;
    const isEnough = left.news.length + Math.min(left.backlog.length, backlogRoom) >= room;
    if (!isEnough || this.clock.monotonicMs() - this.#listedAtMs > listedForMs) {
      const most = Math.min(room, Math.max(backlogRoom, Math.ceil(room / backlogTurn)));
      this.#listed = await listDue(room * listedAhead, most * listedAhead);
      this.#listedAtMs = this.clock.monotonicMs();
    }
    const { news, backlog } = this.#listed;
    const { claims, newsSinceTurn } = orderClaims(news, backlog, room, backlogRoom, this.#newsSinceTurn);
    this.#newsSinceTurn = newsSinceTurn;
    const named = new Set(claims.map(({ id }) => id));
    const isLeft = ({ id }: DueMessage) => !named.has(id);
    this.#listed = { news: news.filter(isLeft), backlog: backlog.filter(isLeft) };
    return claims;
  }

  claimed(count: number): void {
    // Others have claimed what was listed, or it is not due any more.
    if (count === 0) this.#listed = { news: [], backlog: [] };
  }

  slowDown(): void {}

  async close(): Promise<void> {}
}

/** The share of the backlog: one of so many messages, as long as there is one. */
export const backlogTurn = 10;

/**
 * The next messages: news first, and in every tenth place one of the backlog, which goes then as if it were news, so
 * that it still moves however much is new. The rest of the room is filled with the backlog, which lets pass all that
 * comes meanwhile. Pure.
 * @param news what is due, in its order
 * @param backlog the same of the backlog
 * @param newsSinceTurn as the last call returned it: messages of news since the backlog had its turn
 * @returns claims in the order of sending
 */
export function orderClaims(
  news: readonly DueMessage[],
  backlog: readonly DueMessage[],
  room: number,
  backlogRoom: number,
  newsSinceTurn: number,
): { claims: DueClaim[]; newsSinceTurn: number } {
  const claims: DueClaim[] = [];
  let since = newsSinceTurn;
  let taken = 0;
  for (const message of news) {
    if (since >= backlogTurn - 1 && taken < backlog.length && claims.length < room) {
      claims.push({ isUrgent: true, ...(backlog[taken++] as DueMessage) });
      since = 0;
    }
    if (claims.length >= room) break;
    claims.push({ isUrgent: true, ...message });
    since = Math.min(since + 1, backlogTurn - 1);
  }
  while (taken < backlog.length && taken < backlogRoom && claims.length < room)
    claims.push({ isUrgent: false, ...(backlog[taken++] as DueMessage) });
  return { claims, newsSinceTurn: since };
}
