import type { Settings } from '../../../config/settings.js';
import type { Fact } from '../../../model/facts/fact.js';
import { sourceNames } from '../../../model/record.js';
import type { JobContext } from '../../../ops/job-context.js';
import { killPoint } from '../../../ops/kill-point.js';
import { longestRestMs, type RateLimiter } from '../../../service/rate-limit/rate-limiter.js';
import type { RateLimit } from '../../../service/rate-limit/sliding-slots.js';
import { endAlert } from '../../../store/alerts.js';
import { type Lease, LeaseLost } from '../../../store/lease.js';
import { endedHolder, hasEnded, msLeft, type NodeRow, nodeNameOf } from '../../../store/lease-rows.js';
import {
  endNodes,
  isAble,
  isHeld,
  isWorking,
  lockCluster,
  nextLeader,
  type RestCause,
  redisAlertOf,
  shareOf,
  takeLead,
  writeShare,
} from '../../../store/nodes.js';
import type { Tx } from '../../../store/store.js';
import type { DueMessage, ListDue } from '../dispatcher.js';
import { recallAnswers } from '../lane-keeper.js';
import { type LeftMarks, readLeftMarks } from '../send-marks.js';
import { takeOver } from '../take-over.js';
import { lookForWork } from '../waits.js';
import { CaptureFailures } from './capture-failures.js';
import { clockLead, isClockUnfit } from './node-clock.js';
import { settingsHashes } from './settings-hashes.js';
import { takePlaces } from './take-places.js';

/** The interval at which a node tells its needs, and looks after the others. */
const beatMs = 1_000;

/** The limits in one text: all nodes have to keep the same. */
export function limitsInWords({ concurrency, limits }: Settings['service']): string {
  const each = limits.map(({ requests, perSeconds }) => `${requests}/${perSeconds}s`);
  return [...each, ...(concurrency === undefined ? [] : [`${concurrency} at once`])].join(', ');
}

/** The sources in one text, in whatever order a node names them. */
export function sourcesInWords(settings: Settings): string {
  return sourceNames(settings).sort().join();
}

/**
 * A node's part in its cluster. About every second, under the lock of the cluster, it takes its share of the limits, ends nodes
 * whose time is over and takes over what they were sending, and leads where no other node does.
 */
export class Membership {
  /** This node captures, pulls and does all else that is done once in the cluster. */
  leads = false;
  /** Called when this node begins to lead. */
  onLead: () => void = () => undefined;
  /** The nodes at work, and the place of this one among them. */
  nodes = 1;
  rank = 0;
  #limiter: RateLimiter | null = null;
  #beating: Promise<void> = Promise.resolve();
  #cancel: () => void = () => undefined;
  #isOver = false;
  readonly #captures = new CaptureFailures();
  readonly #settings: ReturnType<typeof settingsHashes>;
  #rests: RestCause | null = null;
  /** Epochs whose processes were gone at the last beat: what they sent has arrived by now. */
  #ended: ReadonlySet<number> = new Set();
  /**
   * The requests of nodes and deliverers that are gone, as long limits still count them: the time of each answer, by
   * the monotonic clock.
   */
  #recalled: { alive: string; answeredAtMs: readonly number[] } = { alive: '', answeredAtMs: [] };

  /** @param lost called when another process has taken the lease */
  constructor(
    private readonly context: JobContext,
    private readonly lease: Lease,
    private readonly lost: () => void,
  ) {
    this.#settings = settingsHashes(context.settings);
  }

  /** From here on the limiter has this node's places, and no other. */
  async begin(limiter: RateLimiter): Promise<void> {
    if (this.#limiter) return;
    limiter.share.set([], 1);
    // The use of long limits by an earlier epoch of this process is counted from the record.
    limiter.recall([], longestRestMs);
    this.#limiter = limiter;
    await this.#beat(limiter);
    this.#schedule(limiter);
  }

  /** Nothing more may be sent under this lease. */
  async end(): Promise<void> {
    this.#isOver = true;
    this.leads = false;
    this.#cancel();
    await this.#beating;
    this.#limiter?.share.set([], 1);
  }

  /** This node sends nothing, although it is there. */
  get rests(): boolean {
    return this.#rests !== null;
  }

  /** Told how each reading of the ERP went. @param job the capture of a source; @param failure null: it succeeded */
  captured(job: string, failure: Fact | null): void {
    this.#captures.note(job, failure, this.context.clock.monotonicMs());
  }

  /** The part of what is due that this node looks at first, so that nodes do not reach for the same; then the rest. */
  async part([most, mostOfBacklog]: Parameters<ListDue>, list: ListDue): ReturnType<ListDue> {
    const { nodes, rank } = this;
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

  #schedule(limiter: RateLimiter): void {
    if (this.#isOver) return;
    const { clock, settings, log } = this.context;
    this.#cancel = clock.after(Math.min(beatMs, settings.delivery.leaseSeconds * 250), () => {
      this.#beating = this.#beat(limiter)
        .catch((error: Error) => {
          if (error instanceof LeaseLost) this.lost();
          log.warn('This node could not say that it is there', { error: error.message });
        })
        .then(() => this.#schedule(limiter));
    });
  }

  async #beat(limiter: RateLimiter): Promise<void> {
    const { store, log, nowMs, clock } = this.context;
    if (limiter.waiting > 0) limiter.share.want();
    const demand = limiter.share.takeDemand();
    const beat = await store.transaction('say that this node is there', async (tx) => {
      const askedAt = nowMs();
      const { service, nodes, leader } = await lockCluster(tx);
      const answeredAt = nowMs();
      const me = nodes.find(({ name }) => name === this.lease.name);
      if (me?.epoch !== this.lease.epoch || !isHeld(me)) throw new LeaseLost(this.lease.name);
      const others = nodes.filter((one) => one !== me && isHeld(one));
      const over = others.filter((one) => msLeft(one) <= 0 || this.#ended.has(one.epoch));
      const ended = await endNodes(tx, over, this.#ended);
      for (const one of ended) await endAlert(tx, redisAlertOf(nodeNameOf(one)), this.context.nowMs());
      const alive = nodes.filter((one) => isHeld(one) && !ended.includes(one));
      const epochs = alive.map(({ epoch }) => epoch);
      const holders = ended.flatMap((one) => this.#leftBy(one));
      const taken = ended.length > 0 ? await takeOver(tx, this.context, service.epoch + 1, holders, epochs) : null;
      const clockLeadMs = clockLead(askedAt, me.now, answeredAt);
      const rests: RestCause | null = isClockUnfit(clockLeadMs, limiter.share.limits) ? 'clock' : null;
      const isLed = leader !== null && epochs.includes(leader);
      const cannotLead = this.#captures.failure(clock.monotonicMs());
      const able = alive.map((row) => ({
        row,
        epoch: row.epoch,
        isAble: isAble(row === me ? { rests, cannotLead } : (shareOf(row) ?? {})),
      }));
      const next = nextLeader(able, leader)?.row ?? me;
      // The one that leads hands it on by itself: two would capture for a moment.
      const changes = next.epoch !== leader && (isLed ? leader === me.epoch : next === me);
      if (changes) await takeLead(tx, next);
      const gone = [...nodes.filter((one) => !alive.includes(one)), service];
      const counted: (number | null)[] = [];
      for (const limit of limiter.share.limits)
        counted.push(limit.windowMs > longestRestMs ? await this.#recalledFor(tx, limit, alive) : null);
      const limits = limitsInWords(this.context.settings.service);
      const { share, use } = takePlaces(limiter.share, {
        me,
        alive,
        gone,
        rests: rests !== null,
        demand,
        limits,
        counted,
      });
      const { usedUp } = limiter;
      const sources = sourcesInWords(this.context.settings);
      const { leaseMs } = this.lease;
      await writeShare(tx, this.lease, {
        ...share,
        sources,
        settings: this.#settings,
        leaseMs,
        clockLeadMs,
        rests,
        cannotLead,
        usedUpUntil: usedUp && me.now + Math.ceil(usedUp.waitMs),
      });
      if (taken) killPoint('before-takeover');
      const working = alive.filter((row) => (row === me ? rests === null : isWorking(row)));
      return { me, alive, working, ended, taken, leads: (changes ? next.epoch : leader) === me.epoch, rests, use };
    });
    if (beat.taken) killPoint('after-takeover');
    if (this.#isOver) return;
    // Only now: before the commit another node may hold them.
    this.nodes = Math.max(1, beat.working.length);
    this.rank = Math.max(0, beat.working.indexOf(beat.me));
    limiter.share.set(beat.use, this.nodes);
    if (beat.rests !== this.#rests) {
      if (beat.rests) log.warn('This node sends nothing', { because: beat.rests });
      else log.info('This node works again');
    }
    this.#rests = beat.rests;
    // Messages that wait for a slot go back to the other nodes.
    if (this.rests) limiter.reconsider();
    this.#ended = new Set(
      beat.alive.flatMap((one) => (one !== beat.me && hasEnded(one.holderProcess) ? [one.epoch] : [])),
    );
    if (beat.ended.length > 0)
      log.warn('Took over from nodes that stopped without a word', {
        nodes: beat.ended.map(({ holder }) => holder),
        ...beat.taken,
      });
    if (beat.leads === this.leads) return;
    this.leads = beat.leads;
    if (!beat.leads) {
      log.info('This node has handed on the lead');
      return;
    }
    log.info('This node leads: it captures and pulls');
    this.onLead();
  }

  /** The sends that a node has noted, if its process ran on this machine, and beside the same witness. */
  #leftBy(row: NodeRow): { epoch: number; left: LeftMarks }[] {
    const holder = endedHolder(row);
    const left = holder && readLeftMarks(this.context.settings.store.witnessFile, holder);
    return left ? [{ epoch: row.epoch, left }] : [];
  }

  /** The requests that a long limit still counts and no node at work has sent, from the record. */
  async #recalledFor(tx: Tx, { windowMs }: RateLimit, alive: readonly NodeRow[]): Promise<number> {
    const key = alive.map(({ epoch }) => epoch).join();
    const { clock } = this.context;
    if (this.#recalled.alive !== key) {
      const agesMs = await recallAnswers(tx, this.context, new Set(alive.map(({ epoch }) => epoch)));
      const now = clock.monotonicMs();
      this.#recalled = { alive: key, answeredAtMs: agesMs.map((age) => now - age) };
    }
    const from = clock.monotonicMs() - windowMs;
    return this.#recalled.answeredAtMs.filter((at) => at > from).length;
  }
}
