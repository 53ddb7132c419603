import { randomUUID } from 'node:crypto';
import type { Job, Queue, Worker } from 'bullmq';
import type { Settings } from '../../config/settings.js';
import type { MachineClock } from '../../store/clock.js';
import type { DueClaim, DueMessage, ListDue, Space } from '../deliver/dispatcher.js';
import { orderClaims } from '../deliver/due-messages.js';
import { connectToRedis, keyPrefix, type RedisClient, type ServerFacts } from './redis-client.js';

/** Messages that a node fetched and did not claim before it died are taken over by others after so long. */
const lockMs = 10_000;
const stalledCheckMs = 5_000;
/** Jobs that wait, about: a few seconds of work, so that the queue follows the store. */
const mostAhead = 1_000;
/** One node at a time looks for what is due: again after so long where the queue runs dry, and for news. */
const feedAgainMs = { short: 50, news: 250 };
const priority = { urgent: 1, backlog: 2 };
const priorities = [0, priority.urgent, priority.backlog];

/**
 * The ids of due messages, in a queue of BullMQ. A job is named after its message and the attempt that it waits for, so that
 * several nodes can add it and it is there once; it holds nothing else. Everything here may be lost: the store knows it all.
 * Every method fails when the server does. Without a reconnection of its own: who uses it opens another one.
 */
export class RedisQueue {
  /** Jobs that wait, by priority; 0: those that a dead node left behind. */
  #waiting: Record<number, number> = {};
  #taken: Job[] = [];
  #newsSinceTurn = 0;
  #stalledCheckedAt = Number.NEGATIVE_INFINITY;
  readonly #token = randomUUID();

  private constructor(
    private readonly client: RedisClient,
    private readonly queue: Queue,
    private readonly worker: Worker,
    readonly facts: ServerFacts,
    private readonly clock: Pick<MachineClock, 'monotonicMs'>,
  ) {}

  /**
   * @param incarnation the store's name of itself: a copy of a configuration with another store has a queue of its own
   * @throws Error in words when the server is out of reach, or can not be used
   */
  static async open(
    settings: Settings,
    incarnation: string,
    clock: Pick<MachineClock, 'monotonicMs'>,
  ): Promise<RedisQueue> {
    const { client, facts } = await connectToRedis(settings);
    try {
      // Loaded by those who use it alone: a start without Redis costs nothing.
      const bullmq = await import('bullmq');
      const prefix = `${keyPrefix(settings)}:${incarnation}`;
      const shared = { connection: client, prefix, skipVersionCheck: true };
      const queue = new bullmq.Queue('deliver', {
        ...shared,
        streams: { events: { maxLen: 100 } },
        skipMetasUpdate: false,
      });
      const keepsNone = { count: 0 };
      const own = {
        lockDuration: lockMs,
        stalledInterval: stalledCheckMs,
        maxStalledCount: Number.MAX_SAFE_INTEGER,
        removeOnComplete: keepsNone,
        removeOnFail: keepsNone,
        limiter: coarseLimit(settings.service.limits),
        autorun: false,
      };
      // It fetches by hand and never blocks, so that it needs no connection of its own.
      const worker = new bullmq.Worker('deliver', null, { ...shared, ...own }, (name, options) =>
        bullmq.createRedisBackend(name, options),
      );
      queue.on('error', () => undefined);
      worker.on('error', () => undefined);
      await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
      return new RedisQueue(client, queue, worker, facts, clock);
    } catch (error) {
      client.disconnect();
      throw error;
    }
  }

  /** True if this node should look for due messages, and `add` them. */
  async wantsMore(space: Space): Promise<boolean> {
    await this.#freeStalled();
    this.#waiting = await this.queue.getCountsPerPriority(priorities);
    const waiting = priorities.reduce((sum, one) => sum + (this.#waiting[one] ?? 0), 0);
    if (waiting === 0) return true;
    const restMs = waiting < ahead(space) / 2 ? feedAgainMs.short : feedAgainMs.news;
    return (await this.client.set(this.queue.toKey('feeding'), '', 'PX', restMs, 'NX')) === 'OK';
  }

  /** Adds what is not there yet, in the order in which one node alone would send it. */
  async add({ news, backlog }: Awaited<ReturnType<ListDue>>, space: Space): Promise<void> {
    const known = new Set(await this.queue.getRanges(['wait', 'prioritized', 'active'], 0, -1));
    const isNew = (message: DueMessage) => !known.has(jobId(message));
    const backlogRoom = Math.max(0, ahead(space) / 2 - this.#count(priority.backlog));
    const room = Math.max(0, ahead(space) - this.#count(priority.urgent)) + backlogRoom;
    const fresh = [news.filter(isNew), backlog.filter(isNew)] as const;
    const { claims, newsSinceTurn } = orderClaims(...fresh, room, backlogRoom, this.#newsSinceTurn);
    this.#newsSinceTurn = newsSinceTurn;
    if (claims.length === 0) return;
    // A message that waits nowhere and is there all the same has lost its queue, as in a server that was short of
    // memory: BullMQ would leave it as it is.
    await this.client.del(claims.map((claim) => this.queue.toKey(jobId(claim))));
    await this.queue.addBulk(
      claims.map((claim) => {
        const rank = claim.isUrgent ? priority.urgent : priority.backlog;
        this.#waiting[rank] = this.#count(rank) + 1;
        return { name: '', data: {}, opts: { jobId: jobId(claim), priority: rank } };
      }),
    );
  }

  /** The number to list for `add`: messages that wait already are among them. */
  static mostToList(space: Space): number {
    return ahead(space);
  }

  async take({ room, backlogRoom }: Space): Promise<DueClaim[]> {
    const urgent = this.#count(0) + this.#count(priority.urgent);
    const count = Math.min(room, urgent + Math.min(this.#count(priority.backlog), backlogRoom));
    const fetched = await Promise.all(
      Array.from({ length: count }, () => this.worker.getNextJob(this.#token, { block: false })),
    );
    this.#taken = fetched.filter((job) => job !== undefined);
    return this.#taken.flatMap((job) => {
      const [id = Number.NaN, attempts = 0] = (job.id ?? '').split('-').map(Number);
      return Number.isSafeInteger(id) ? [{ id, attempts, isUrgent: job.priority !== priority.backlog }] : [];
    });
  }

  /** Removes what was taken last. */
  async finish(): Promise<void> {
    const taken = this.#taken.splice(0);
    const ended = await Promise.allSettled(taken.map((job) => job.moveToCompleted(null, this.#token, false)));
    // A job that is gone, or that another node has by now, is as good as removed.
    const failed = ended.find((end) => end.status === 'rejected' && typeof end.reason.code !== 'number');
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /** No node fetches anything for so long. */
  async slowDown(forMs: number): Promise<void> {
    await this.queue.rateLimit(Math.ceil(forMs));
  }

  /** For so long Redis may name nothing because as much as the limit allows was fetched. */
  static longestRestMs({ limits }: Settings['service']): number {
    return coarseLimit(limits).duration;
  }

  /**
   * Drops what waits, which may be of the past, and ends what keeps every node from fetching: a pause from a dashboard, or a limit
   * that does not end, or that messages which are gone have used up.
   */
  async beginAnew(): Promise<void> {
    await this.queue.drain();
    await this.queue.resume();
    await this.queue.removeRateLimitKey();
  }

  /** At once, whatever is under way. */
  close(): void {
    this.client.disconnect();
  }

  #count(rank: number): number {
    return this.#waiting[rank] ?? 0;
  }

  async #freeStalled(): Promise<void> {
    const now = this.clock.monotonicMs();
    if (now < this.#stalledCheckedAt + stalledCheckMs) return;
    this.#stalledCheckedAt = now;
    await this.worker.getBackend().moveStalledJobsToWait();
  }
}

export const jobId = ({ id, attempts }: DueMessage) => `${id}-${attempts}`;

const ahead = ({ perSecond }: Space) => Math.min(mostAhead, 3 * perSecond);

/**
 * BullMQ counts what is fetched, in windows that begin anywhere; the store's own count of the limit is exact. This one
 * is therefore a little larger, and only keeps nodes from claiming far more than may leave. Pure. @returns a limit
 * always, because BullMQ heeds `rateLimit` only where there is one
 */
export function coarseLimit(limits: Settings['service']['limits']): { max: number; duration: number } {
  const [shortest] = limits.toSorted((a, b) => a.perSeconds - b.perSeconds);
  // Messages that were fetched in vain count as well, and would weigh on a long window for long.
  if (!shortest || shortest.perSeconds > 10) return { max: 1_000_000, duration: 1_000 };
  return { max: Math.ceil(shortest.requests * 1.25), duration: Math.ceil(shortest.perSeconds * 1_000) };
}
