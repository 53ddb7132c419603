import { outside } from '../../model/outside.js';
import type { JobContext } from '../../ops/job-context.js';
import { endAlert, raiseAlert } from '../../store/alerts.js';
import { nodeNameHere, redisAlertOf } from '../../store/nodes.js';
import type { Tx } from '../../store/store.js';
import { readStoreInfo } from '../../store/store-info.js';
import type { Dispatcher, DueClaim, ListDue, Space } from '../deliver/dispatcher.js';
import { StoreDispatcher } from '../deliver/due-messages.js';
import { inOneLine, within } from './redis-client.js';
import { jobId, RedisQueue } from './redis-queue.js';

/** An answer that takes longer than this counts as none: delivery goes on without it. */
const patienceMs = 500;
/** The wait before it tries again, at first, and if the server comes and goes. */
const tryAgainMs = { least: 1_000, most: 30_000 };
/** A connection that held for so long is a good one. */
const steadyMs = 10_000;
/** Nodes rest for so long at most when one of them is told to slow down, and again as long as it lasts. */
const longestSlowDownMs = 1_000;
/** After so long in which Redis names nothing, and the same message is due first, the store is asked: beside what a limit takes. */
const unnamedMs = 3_000;
/** After so many turns in a row of whose messages none could be claimed, what waits in Redis is of the past. */
const mostInVain = 2;
/** A person is told after so long. A restart takes seconds. */
const tellAfterMs = 30_000;

type DispatchContext = Pick<JobContext, 'store' | 'settings' | 'log' | 'nowMs' | 'clock'>;

/** @returns undefined where the settings name no Redis: each node asks the store */
export async function openDispatcher(context: DispatchContext): Promise<ClusterDispatcher | undefined> {
  const { enabled, redis } = context.settings.cluster;
  if (enabled && redis.hosts) return new ClusterDispatcher(context);
  // It may have been named before the last stop.
  await context.store.transaction('end the alert of Redis', (tx) =>
    endAlert(tx, redisAlertOf(nodeNameHere(context.settings.cluster.node)), context.nowMs()),
  );
  return undefined;
}

/**
 * The dispatcher `cluster`: nodes share out what is due over Redis. Nothing that matters lies there. Whatever is wrong with it,
 * this node asks the store, as the dispatcher `local` does, until it is back: claims keep the nodes apart.
 */
export class ClusterDispatcher implements Dispatcher {
  readonly #store: StoreDispatcher;
  #queue: RedisQueue | null = null;
  #opening: Promise<void> | null = null;
  #finishing: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #openedAt = Number.NEGATIVE_INFINITY;
  #tryAgainAt = Number.NEGATIVE_INFINITY;
  #waitMs = tryAgainMs.least;
  #slowedAt = Number.NEGATIVE_INFINITY;
  /** Since when Redis is away, and whether a person was told. */
  #awaySince: number | null = null;
  #toldOf: string | null = null;
  #warnedOf: string | null = null;
  /** The message that is due first while Redis names nothing, and the time since then. */
  #unnamed: { first: string; since: number } | null = null;
  /** Turns in a row in which Redis named messages that were all gone, and whether the last one named any. */
  #inVain = 0;
  #hasNamed = false;
  readonly #node: string;

  constructor(private readonly context: DispatchContext) {
    this.#node = nodeNameHere(context.settings.cluster.node);
    this.#store = new StoreDispatcher(context.clock);
    void this.#reopen();
  }

  async next(space: Space, listDue: ListDue): Promise<DueClaim[]> {
    const claims = await this.#shared(space, listDue);
    this.#hasNamed = claims !== null && claims.length > 0;
    if (claims !== null) return claims;
    void this.#reopen();
    return this.#store.next(space, listDue);
  }

  claimed(count: number): void {
    this.#store.claimed(count);
    if (this.#hasNamed) this.#inVain = count === 0 ? this.#inVain + 1 : 0;
    this.#finishing = this.#ask((queue) => queue.finish());
  }

  slowDown(forMs: number): void {
    const now = this.context.clock.monotonicMs();
    // For a moment only: a person may end the pause early, and does not look into Redis.
    if (now < this.#slowedAt + longestSlowDownMs / 2) return;
    this.#slowedAt = now;
    void this.#ask((queue) => queue.slowDown(Math.max(1, Math.min(forMs, longestSlowDownMs))));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#finishing;
    this.#queue?.close();
    this.#queue = null;
    await this.#opening;
    if (this.#toldOf !== null) await this.#note((tx, nowMs) => endAlert(tx, redisAlertOf(this.#node), nowMs));
  }

  /** Resolves when Redis is in use, or can not be at the moment. */
  async settled(): Promise<void> {
    await this.#opening;
  }

  /** null: Redis is no help at the moment. */
  async #shared(space: Space, listDue: ListDue): Promise<DueClaim[] | null> {
    const wantsMore = await this.#ask((queue) => queue.wantsMore(space));
    if (this.#inVain >= mostInVain) return this.#withheld('Redis names only messages that are gone');
    let first: string | null = null;
    if (wantsMore) {
      // The store's own faults are the caller's matter.
      const due = await listDue(RedisQueue.mostToList(space), RedisQueue.mostToList(space), true);
      const [message] = [...due.news, ...due.backlog];
      if (message) first = jobId(message);
      await this.#ask((queue) => queue.add(due, space));
    }
    const claims = await this.#ask((queue) => queue.take(space));
    if (claims === null || claims.length > 0) this.#unnamed = null;
    else if (wantsMore && this.#isWithheld(first)) return this.#withheld('Redis names nothing of what is due');
    return claims;
  }

  /** The store is asked in this turn, and the queue begins anew. */
  async #withheld(because: string): Promise<null> {
    this.#unnamed = null;
    this.#inVain = 0;
    this.context.log.warn(`${because}: what is due is read from the store, and the queue begins anew`);
    await this.#ask((queue) => queue.beginAnew());
    return null;
  }

  /** True if this is due first and Redis names it to no node, for longer than a limit or another node may need for it. */
  #isWithheld(first: string | null): boolean {
    const { clock, settings } = this.context;
    const now = clock.monotonicMs();
    if (first === null) this.#unnamed = null;
    else if (this.#unnamed?.first !== first) this.#unnamed = { first, since: now };
    const patienceMs = unnamedMs + RedisQueue.longestRestMs(settings.service);
    return this.#unnamed !== null && now - this.#unnamed.since >= patienceMs;
  }

  /** Never throws. null: there was no answer, and from now on Redis is not asked. */
  async #ask<Answer>(question: (queue: RedisQueue) => Promise<Answer>): Promise<Answer | null> {
    const queue = this.#queue;
    if (queue === null) return null;
    try {
      return await within(patienceMs, question(queue));
    } catch (error) {
      if (this.#queue !== queue) return null;
      const { clock } = this.context;
      this.#queue = null;
      queue.close();
      const heldMs = clock.monotonicMs() - this.#openedAt;
      this.#waitMs = heldMs < steadyMs ? Math.min(this.#waitMs * 2, tryAgainMs.most) : tryAgainMs.least;
      this.#tryAgainAt = clock.monotonicMs() + this.#waitMs;
      await this.#away(error as Error);
      return null;
    }
  }

  #reopen(): Promise<void> | null {
    const { clock, log, settings, store } = this.context;
    if (this.#isClosed || this.#queue || this.#opening || clock.monotonicMs() < this.#tryAgainAt) return null;
    this.#opening = store
      .read('read its name', (tx) => readStoreInfo(tx, 'incarnation'))
      .then((incarnation) => RedisQueue.open(settings, incarnation ?? '', clock))
      .then(async (queue) => {
        if (this.#isClosed) return queue.close();
        this.#queue = queue;
        this.#openedAt = clock.monotonicMs();
        const { version, warning } = queue.facts;
        if (warning !== null && warning !== this.#warnedOf) log.warn(`Redis: ${warning}`);
        this.#warnedOf = warning;
        await this.#back(version);
      })
      .catch(async (error: Error) => {
        this.#tryAgainAt = clock.monotonicMs() + this.#waitMs;
        await this.#away(error);
      })
      .finally(() => {
        this.#opening = null;
      });
    return this.#opening;
  }

  async #away(error: Error): Promise<void> {
    const { clock, log } = this.context;
    const now = clock.monotonicMs();
    const reason = inOneLine(error.message);
    if (this.#awaySince === null) log.warn('Delivery goes on without Redis, straight from the store', { reason });
    this.#awaySince ??= now;
    if (now - this.#awaySince < tellAfterMs || this.#toldOf === reason) return;
    this.#toldOf = reason;
    const alert = { code: 'redis_away', node: this.#node, reason: outside(reason) } as const;
    await this.#note((tx, nowMs) => raiseAlert(tx, redisAlertOf(this.#node), alert, nowMs));
  }

  async #back(version: string): Promise<void> {
    if (this.#awaySince !== null) this.context.log.info('Redis is back', { version });
    else this.context.log.info('The nodes share the work over Redis', { version });
    this.#awaySince = null;
    this.#toldOf = null;
    // Also one that was raised before the last stop.
    await this.#note((tx, nowMs) => endAlert(tx, redisAlertOf(this.#node), nowMs));
  }

  async #note(write: (tx: Tx, nowMs: number) => Promise<unknown>): Promise<void> {
    const { store, log, nowMs } = this.context;
    await store
      .transaction('note how Redis is', (tx) => write(tx, nowMs()))
      .catch((error: Error) => log.error('An alert could not be put on record', { error: error.message }));
  }
}
