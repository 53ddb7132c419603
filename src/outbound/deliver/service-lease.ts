import PQueue from 'p-queue';
import type { ServiceSettings } from '../../config/sections/service.js';
import { version } from '../../model/version.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { Recurring } from '../../ops/recurring.js';
import { longestRestMs, type RateLimiter } from '../../service/rate-limit/rate-limiter.js';
import { noReason } from '../../store/clock.js';
import { Lease, LeaseLost } from '../../store/lease.js';
import { type EndedHolder, readNodes } from '../../store/lease-rows.js';
import { isHeld, joinCluster, leaveCluster, nodeNameHere, noteStandBy } from '../../store/nodes.js';
import type { Tx } from '../../store/store.js';
import { comparedSettings } from './cluster/compared-settings.js';
import { Membership } from './cluster/membership.js';
import { bindEnvironment } from './go-live.js';
import { LaneKeeper } from './lane-keeper.js';
import { forgetMarks, type LeftMarks, readLeftMarks, SendMarks } from './send-marks.js';
import { takeOver } from './take-over.js';

/**
 * The process that looks next if a service that is down is back: one request in so many seconds, from delivery or a
 * pull. Delivery looks all the time; a pull comes rarely and reserves the next turn. Times are those of a monotonic
 * clock.
 */
class ProbeTurns {
  #takenAtMs = Number.NEGATIVE_INFINITY;
  #beforeMs = Number.NEGATIVE_INFINITY;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #isReserved = false;

  constructor(private readonly everyMs: number) {}

  /** Takes the turn when it has come and no one has reserved it. */
  take(atMs: number): boolean {
    return !this.#isReserved && this.takeReserved(atMs);
  }

  /** Gives back a turn that was just taken, because there was nothing to send. */
  giveBack(): void {
    this.#takenAtMs = this.#beforeMs;
  }

  /** From now on only `takeReserved` takes a turn, until `release`. */
  reserve(): void {
    this.#isReserved = true;
  }

  takeReserved(atMs: number): boolean {
    if (atMs - Math.max(this.#takenAtMs, this.#sentAtMs) < this.everyMs) return false;
    this.#beforeMs = this.#takenAtMs;
    this.#takenAtMs = atMs;
    return true;
  }

  release(): void {
    this.#isReserved = false;
  }

  /** Asked right before a probe leaves, which may have waited for its slot. @returns whether it may */
  send(atMs: number): boolean {
    if (atMs - this.#sentAtMs < this.everyMs) return false;
    this.#sentAtMs = atMs;
    return true;
  }
}

/** Renews a lease, once a third of its time has passed, until it is cancelled. */
function renewal({ clock, settings, log }: JobContext, lease: Lease, onLost: () => void): Recurring {
  const leaseMs = settings.delivery.leaseSeconds * 1000;
  // A renewal that waited long for its answer has used up that third already.
  const dueInMs = () => Math.max(lease.endsAtMonotonicMs - (leaseMs * 2) / 3 - clock.monotonicMs(), leaseMs / 10);
  const renew = async () => {
    try {
      await lease.renew();
    } catch (error) {
      if (error instanceof LeaseLost) onLost();
      // An unreachable store is no loss yet: mayStartRequest holds requests back long before the lease ends.
      log.warn('The delivery lease could not be renewed', { error: (error as Error).message });
    }
  };
  return new Recurring(clock, dueInMs, renew);
}

/** The time after which a request that a process sent right before it ended has come to the service, and counts there. */
const onTheWayMs = 500;

/**
 * The right to talk to the service: deliver and pull share it, because they share the rate limit. One process has it at a time,
 * or each node of a cluster one of its own. It renews itself until it is released or lost.
 */
export class ServiceLease {
  /** Shared, like `lane`, by everything that talks to the service under this lease. */
  readonly probeTurns: ProbeTurns;
  readonly lane: LaneKeeper;
  readonly marks: SendMarks;
  /** One pull at a time. */
  readonly pulls = new PQueue({ concurrency: 1 });
  /** Attempts to read whose outcome could not be put on record; the next one says so of them. */
  readonly unrecordedReads = new Set<number>();
  /** The node's membership in a cluster; null: this process delivers alone. */
  readonly membership: Membership | null;
  readonly #renewal: Recurring;
  readonly #lost = new AbortController();

  private constructor(
    private readonly context: JobContext,
    readonly lease: Lease,
  ) {
    this.probeTurns = new ProbeTurns(context.settings.delivery.probeSeconds * 1000);
    this.marks = new SendMarks(context.settings.store.witnessFile, lease.epoch, context);
    this.membership = lease.name === 'service' ? null : new Membership(context, lease, () => this.markLost());
    this.lane = new LaneKeeper(context, this.membership);
    this.#renewal = renewal(context, lease, () => this.markLost());
    this.#renewal.start();
  }

  /**
   * Takes the lease, waits until the predecessor's requests have left the service's window, and turns what it was
   * sending into "may have been sent". A message that it provably never sent waits as before.
   * @param as a node of a cluster, beside others; a command wants it for itself
   * @returns the holder's name, and when it is free, when another process has it
   */
  static async acquire(
    context: JobContext,
    signal?: AbortSignal,
    as: 'deliverer' | 'node' = 'deliverer',
  ): Promise<ServiceLease | { holder: string; freeInMs: number }> {
    const { store, actor: holder } = context;
    const { delivery, cluster, service } = context.settings;
    const leaseMs = delivery.leaseSeconds * 1000;
    const windows = service.limits.map(({ perSeconds }) => perSeconds * 1000);
    const windowMs = Math.max(0, ...windows.filter((ms) => ms <= longestRestMs));
    const compared = comparedSettings(context.settings);
    const node = { node: nodeNameHere(cluster.node), holder, leaseMs, version, ...compared, restMs: windowMs };
    const answer =
      as === 'node' && cluster.enabled
        ? await joinCluster(store, node, context)
        : await Lease.acquire(store, 'service', holder, leaseMs, context);
    if (!answer.held) {
      if (as === 'node' && answer.why) await noteStandBy(store, node.node, holder, answer.why);
      return { holder: answer.holder, freeInMs: answer.freeInMs };
    }
    killPoint('after-lease');
    const kept = new ServiceLease(context, answer.lease);
    try {
      const { ended } = answer;
      const left = ended && readLeftMarks(context.settings.store.witnessFile, ended);
      const { inDoubt, unsent } = await kept.#takeOver(ended, left);
      killPoint('after-takeover');
      if (inDoubt + unsent > 0)
        context.log.warn('Took over from a deliverer that stopped without a word', { inDoubt, unsent });
      const idleMs = left ? context.clock.sinceBoot().bootMs - left.lastLeftMs - onTheWayMs : answer.idleMs;
      const restMs = idleMs === null ? 0 : windowMs - Math.max(0, idleMs);
      if (restMs > 0) await context.clock.sleep(restMs, signal);
      return kept;
    } catch (error) {
      await kept.release();
      throw error;
    }
  }

  /** Tells if a request that starts now ends, at its deadline, before another process could have the lease, and can be noted. */
  mayStartRequest(): boolean {
    const { clock, settings } = this.context;
    if (this.marks.isStuck && !this.marks.leave(null)) return false;
    const endsAtMs = clock.monotonicMs() + settings.service.deadlineSeconds * 1000;
    return !this.lost && endsAtMs < this.lease.endsAtMonotonicMs;
  }

  /** True if the jobs that run once in a cluster run here. */
  get leads(): boolean {
    return this.membership === null || this.membership.leads;
  }

  /** This process's share of all that the service allows. */
  allowed(limiter: RateLimiter): Pick<ServiceSettings, 'concurrency' | 'limits'> {
    if (this.membership === null) return this.context.settings.service;
    const limits = limiter.share.allowed;
    return {
      concurrency: limits.find(({ perSeconds }) => perSeconds === 0)?.requests,
      limits: limits.filter(({ perSeconds }) => perSeconds > 0),
    };
  }

  /** The fencing token. */
  get epoch(): number {
    return this.lease.epoch;
  }

  /** One transaction of the holder; see `Lease.write`. @throws LeaseLost */
  write<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.lease.write(action, work);
  }

  /** See `Lease.writeBeside`. @throws LeaseLost */
  writeBeside<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.lease.writeBeside(action, work);
  }

  get lost(): boolean {
    return this.#lost.signal.aborted;
  }

  /** Aborted when the lease is lost or released: then none waits any longer. */
  get lostSignal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Called when a write, or the gate of a request, found that another process ended it. */
  markLost(): void {
    this.#renewal.cancel();
    this.#lost.abort(noReason);
  }

  async release(): Promise<void> {
    this.#renewal.cancel();
    await this.membership?.end();
    await this.#renewal.ended();
    this.marks.close();
    if (this.lost) return;
    this.markLost();
    killPoint('before-lease-release');
    if (this.membership) await leaveCluster(this.context.store, this.lease);
    else await this.lease.release();
  }

  async #takeOver(ended: EndedHolder | null, left: LeftMarks | null): Promise<{ inDoubt: number; unsent: number }> {
    const { store, settings } = this.context;
    const taken = await store.transaction('take over from an earlier deliverer', async (tx) => {
      await bindEnvironment(tx, settings.service.environment);
      const nodes = this.membership ? await readNodes(tx) : [];
      const alive = nodes.filter(isHeld).map(({ epoch }) => epoch);
      const taken = await takeOver(
        tx,
        this.context,
        this.epoch,
        ended && left ? [{ epoch: ended.epoch, left }] : [],
        alive,
      );
      killPoint('before-takeover');
      return taken;
    });
    if (ended) forgetMarks(settings.store.witnessFile, ended);
    return taken;
  }
}
