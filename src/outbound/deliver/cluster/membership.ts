import type { Fact } from '../../../model/facts/fact.js';
import { sourceNames } from '../../../model/record.js';
import type { JobContext } from '../../../ops/job-context.js';
import { Recurring } from '../../../ops/recurring.js';
import { longestRestMs, type RateLimiter } from '../../../service/rate-limit/rate-limiter.js';
import { type Lease, LeaseLost } from '../../../store/lease.js';
import { nodeNameOf } from '../../../store/lease-rows.js';
import type { DueMessage, ListDue } from '../dispatcher.js';
import { lookForWork } from '../wait-for-work.js';
import { CaptureFailures } from './capture-failures.js';
import { NodeWay } from './node-way.js';
import { type Part, PartTaker } from './take-part.js';

/** The interval at which a node tells its needs, and looks after the others. */
const beatMs = 1_000;

/**
 * A node's part in its cluster. About every second, under the lock of the cluster, it takes its share of the limits, ends nodes
 * whose time is over and takes over what they were sending, and leads where no other node does.
 */
export class Membership {
  /** Called when this node begins to lead. */
  onLead: () => void = () => undefined;
  readonly way: NodeWay;
  readonly #captures = new CaptureFailures();
  readonly #beats: Recurring;
  #taker: PartTaker | null = null;
  /** As of the last beat; null: there was none. */
  #part: Pick<Part, 'leads' | 'nodes' | 'rank' | 'told'> | null = null;

  /** @param lost called when another process has taken the lease */
  constructor(
    private readonly context: JobContext,
    private readonly lease: Lease,
    private readonly lost: () => void,
  ) {
    this.way = new NodeWay(context.settings.delivery.probeSeconds * 1_000);
    const everyMs = Math.min(beatMs, context.settings.delivery.leaseSeconds * 250);
    this.#beats = new Recurring(
      context.clock,
      () => everyMs,
      () => this.#tryBeat(),
    );
  }

  get name(): string {
    return nodeNameOf(this.lease);
  }

  /** This node captures, pulls and does all else that is done once in the cluster. */
  get leads(): boolean {
    return !this.#beats.isCancelled && this.#part?.leads === true;
  }

  /** From here on the limiter has this node's places, and no other. */
  async begin(limiter: RateLimiter): Promise<void> {
    if (this.#taker) return;
    limiter.share.set([], 1);
    // The use of long limits by an earlier epoch of this process is counted from the record.
    limiter.recall([], longestRestMs);
    this.#taker = new PartTaker(this.context, this.lease, limiter);
    await this.#beat(this.#taker);
    this.#beats.start();
  }

  /** Nothing more may be sent under this lease. */
  async end(): Promise<void> {
    this.#beats.cancel();
    await this.#beats.ended();
    this.#taker?.limiter.share.set([], 1);
  }

  /** This node sends nothing, although it is there. */
  get rests(): boolean {
    return this.#hasUnfitClock || this.way.trouble !== null;
  }

  /** It rests, and one request may go to see whether it may go on. */
  get tries(): boolean {
    return !this.#hasUnfitClock && this.way.mayTry(this.context.clock.monotonicMs());
  }

  get #hasUnfitClock(): boolean {
    return this.#part?.told.rests === 'clock';
  }

  /** Told how each reading of the ERP went. @param job the capture of a source; @param failure null: it succeeded */
  captured(job: string, failure: Fact | null): void {
    this.#captures.note(job, failure, this.context.clock.monotonicMs());
  }

  /** The part of what is due that this node looks at first, so that nodes do not reach for the same; then the rest. */
  async part([most, mostOfBacklog]: Parameters<ListDue>, list: ListDue): ReturnType<ListDue> {
    const { nodes, rank } = this.#part ?? { nodes: 1, rank: 0 };
    const { news, backlog } = await list(most * nodes, mostOfBacklog * nodes);
    const isMine = ({ id }: DueMessage) => id % nodes === rank;
    const first = (due: readonly DueMessage[], limit: number) =>
      [...due.filter(isMine), ...due.filter((one) => !isMine(one))].slice(0, limit);
    return { news: first(news, most), backlog: first(backlog, mostOfBacklog) };
  }

  /** True if nothing can go before another node leaves a place to this one, which it asks for when it has something to send. */
  async lacksPlace(limiter: RateLimiter): Promise<boolean> {
    if (!limiter.share.isNothing && limiter.usedUp === null) return false;
    const { store, nowMs, settings } = this.context;
    const sources = sourceNames(settings);
    const { dueAt } = await store.read('look whether anything is due', (tx) => lookForWork(tx, nowMs(), sources));
    if (dueAt !== null) limiter.share.want();
    return true;
  }

  async #tryBeat(): Promise<void> {
    try {
      if (this.#taker) await this.#beat(this.#taker);
    } catch (error) {
      if (error instanceof LeaseLost) this.lost();
      this.context.log.warn('This node could not say that it is there', { error: (error as Error).message });
    }
  }

  async #beat(taker: PartTaker): Promise<void> {
    const { log, clock } = this.context;
    this.way.forget(clock.monotonicMs());
    const part = await taker.take(() => {
      const now = clock.monotonicMs();
      const { trouble } = this.way;
      return { trouble, mayTry: this.way.mayTry(now), cannotLead: this.#captures.failure(now) };
    });
    if (this.#beats.isCancelled) return;
    // Only now: before the commit another node may hold them.
    taker.limiter.share.set(part.use, part.nodes);
    const before = this.#part;
    this.#part = part;
    this.way.isAlone = part.isAlone;
    // Messages that wait for a slot go back to the other nodes.
    if (this.rests) taker.limiter.reconsider();
    const { rests, cannotSend } = part.told;
    if (rests !== (before?.told.rests ?? null)) {
      if (rests) log.warn('This node sends nothing', { because: rests, reason: cannotSend });
      else log.info('This node works again');
    }
    if (part.taken)
      log.warn('Took over from nodes that stopped without a word', {
        nodes: part.ended.map(({ holder }) => holder),
        ...part.taken,
      });
    if (part.leads === (before?.leads ?? false)) return;
    if (!part.leads) {
      log.info('This node has handed on the lead');
      return;
    }
    log.info('This node leads: it captures and pulls');
    this.onLead();
  }
}
