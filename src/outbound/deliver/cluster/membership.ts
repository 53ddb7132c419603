import { appendAudit } from '../../../audit/audit-log.js';
import type { Settings } from '../../../config/settings.js';
import type { Fact } from '../../../model/facts/fact.js';
import { sourceNames } from '../../../model/record.js';
import type { JobContext } from '../../../ops/job-context.js';
import { killPoint } from '../../../ops/kill-point.js';
import { longestRestMs, type RateLimiter } from '../../../service/rate-limit/rate-limiter.js';
import type { RateLimit } from '../../../service/rate-limit/sliding-slots.js';
import { endAlert } from '../../../store/alerts.js';
import { listPauses, pauseLane } from '../../../store/lane-pauses.js';
import { type Lease, LeaseLost } from '../../../store/lease.js';
import { endedHolder, hasEnded, msLeft, type NodeRow, nodeNameOf } from '../../../store/lease-rows.js';
import {
  endNodes,
  isAble,
  isHeld,
  isOfAll,
  isWorking,
  lockCluster,
  type NodeView,
  nextLeader,
  nodeActor,
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
import { lookForWork } from '../wait-for-work.js';
import { CaptureFailures } from './capture-failures.js';
import { clockLead, isClockUnfit } from './node-clock.js';
import { NodeWay } from './node-way.js';
import { settingsHashes } from './settings-hashes.js';
import { type ClusterView, takePlaces } from './take-places.js';

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
  readonly way: NodeWay;
  readonly name: string;
  readonly #settings: ReturnType<typeof settingsHashes>;
  /** Why it sends nothing, as of the last beat. */
  #rests: RestCause | null = null;
  #hasUnfitClock = false;
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
    this.way = new NodeWay(context.settings.delivery.probeSeconds * 1_000);
    this.name = nodeNameOf(lease);
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
    return this.#hasUnfitClock || this.way.trouble !== null;
  }

  /** It rests, and one request may go to see whether it may go on. */
  get tries(): boolean {
    return !this.#hasUnfitClock && this.way.mayTry(this.context.clock.monotonicMs());
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
    this.way.forget(clock.monotonicMs());
    const wanted = limiter.share.takeDemand();
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
      const hasUnfitClock = isClockUnfit(clockLeadMs, limiter.share.limits);
      const { rests, cannotSend, part } = this.#part(hasUnfitClock);
      if (part === 'rests') await this.#pauseAll(tx, me, alive);
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
      const little = part === 'tries' ? limiter.share.forOneMore : wanted.map(() => 0);
      const demand = part === 'works' ? wanted : little;
      const { share, use } = takePlaces(limiter.share, { me, alive, gone, part, demand, limits, counted });
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
        cannotSend,
        tries: part === 'tries',
        cannotLead,
        usedUpUntil: usedUp && me.now + Math.ceil(usedUp.waitMs),
      });
      if (taken) killPoint('before-takeover');
      const working = alive.filter((row) => (row === me ? rests === null : isWorking(row)));
      const leads = (changes ? next.epoch : leader) === me.epoch;
      return { me, alive, working, ended, taken, leads, rests, hasUnfitClock, use };
    });
    if (beat.taken) killPoint('after-takeover');
    if (this.#isOver) return;
    // Only now: before the commit another node may hold them.
    this.nodes = Math.max(1, beat.working.length);
    this.rank = Math.max(0, beat.working.indexOf(beat.me));
    limiter.share.set(beat.use, this.nodes);
    this.way.isAlone = beat.alive.length === 1;
    if (beat.rests !== this.#rests) {
      if (beat.rests) log.warn('This node sends nothing', { because: beat.rests, reason: this.way.trouble?.reason });
      else log.info('This node works again');
    }
    this.#rests = beat.rests;
    this.#hasUnfitClock = beat.hasUnfitClock;
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

  /** This node's part in delivery, and the reason where it rests. */
  #part(hasUnfitClock: boolean): Pick<NodeView, 'rests' | 'cannotSend'> & Pick<ClusterView, 'part'> {
    const { trouble } = this.way;
    if (hasUnfitClock) return { rests: 'clock', cannotSend: null, part: 'rests' };
    if (trouble === null) return { rests: null, cannotSend: null, part: 'works' };
    const mayTry = this.way.mayTry(this.context.clock.monotonicMs());
    return { rests: trouble.cause, cannotSend: trouble.reason, part: mayTry ? 'tries' : 'rests' };
  }

  /** Pauses the service for all nodes once each of them has met the same trouble: then it is the service's. */
  async #pauseAll(tx: Tx, me: NodeRow, alive: readonly NodeRow[]): Promise<void> {
    const { trouble } = this.way;
    const others = alive.filter((row) => row !== me).map((row) => shareOf(row) ?? {});
    if (!trouble || !isOfAll(trouble.cause, others)) return;
    const { cause, reason } = trouble;
    const pauses = await listPauses(tx);
    if (pauses.some((pause) => pause.lane === 'service' && pause.cause === cause)) return;
    const at = this.context.nowMs();
    const until_at = cause === 'outage' ? at + this.context.settings.delivery.probeSeconds * 1_000 : null;
    await pauseLane(tx, { lane: 'service', cause, until_at, reason, actor: nodeActor(this.name), since_at: at });
    const detail = { lane: 'service', reason, until: until_at };
    await appendAudit(tx, [{ event: 'pause', outcome: cause, actor: this.context.actor, detail }], at);
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
