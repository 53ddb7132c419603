import { type AuditEntry, appendAudit } from '../../audit/audit-log.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { longestRestMs } from '../../service/rate-limit/rate-limiter.js';
import { Lease, LeaseLost } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { doubtOlderEpochs } from '../outbox/transitions.js';
import { endOlderEpochs } from './attempts.js';
import { followClock } from './clock-trace.js';
import { bindEnvironment } from './go-live.js';
import { LaneKeeper } from './lane-keeper.js';

/**
 * Who looks next whether a service that is down is back: one request in so many seconds, whether delivery or a pull makes it.
 * Delivery looks all the time; a pull comes rarely and reserves the next turn. Times are those of a monotonic clock.
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

/**
 * The right to talk to the service. One process has it at a time: deliver and pull share it, because they share the rate
 * limit. It renews itself until it is released or lost.
 */
export class ServiceLease {
  /** Shared, like `lane`, by everything that talks to the service under this lease. */
  readonly probeTurns: ProbeTurns;
  readonly lane: LaneKeeper;
  /** Attempts to read whose outcome could not be put on record; the next one says so of them. */
  readonly unrecordedReads = new Set<number>();
  #renewing: Promise<void> = Promise.resolve();
  #cancelRenewal: () => void = () => undefined;
  #lost = false;
  #released = false;

  private constructor(
    private readonly context: JobContext,
    readonly lease: Lease,
  ) {
    this.probeTurns = new ProbeTurns(context.settings.delivery.probeSeconds * 1000);
    this.lane = new LaneKeeper(context);
    this.#schedule();
  }

  /**
   * Takes the lease, waits until the predecessor's requests have left the service's window, and turns what it was sending
   * into "may have been sent".
   * @returns the holder's name, and when it is free, when another process has it
   */
  static async acquire(
    context: JobContext,
    signal?: AbortSignal,
  ): Promise<ServiceLease | { holder: string; freeInMs: number }> {
    const leaseMs = context.settings.delivery.leaseSeconds * 1000;
    const answer = await Lease.acquire(context.store, 'service', context.actor, leaseMs, context.clock);
    if (!answer.held) return { holder: answer.holder, freeInMs: answer.freeInMs };
    killPoint('after-lease');
    const kept = new ServiceLease(context, answer.lease);
    try {
      const doubted = await kept.#takeOver();
      killPoint('after-takeover');
      if (doubted > 0) context.log.warn('Took over from a deliverer that stopped without a word', { inDoubt: doubted });
      const windows = context.settings.service.limits.map(({ perSeconds }) => perSeconds * 1000);
      const windowMs = Math.max(0, ...windows.filter((ms) => ms <= longestRestMs));
      const restMs = answer.idleMs === null ? 0 : windowMs - answer.idleMs;
      if (restMs > 0) await context.clock.sleep(restMs, signal);
      return kept;
    } catch (error) {
      await kept.release();
      throw error;
    }
  }

  /** Whether a request that starts now ends, at its deadline, before another process could have the lease. */
  mayStartRequest(): boolean {
    const { clock, settings } = this.context;
    const endsAtMs = clock.monotonicMs() + settings.service.deadlineSeconds * 1000;
    return !this.#lost && endsAtMs < this.lease.endsAtMonotonicMs;
  }

  /** The fencing token. */
  get epoch(): number {
    return this.lease.epoch;
  }

  /** One transaction of the holder; see `Lease.write`. @throws LeaseLost */
  write<T>(action: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.lease.write(action, work);
  }

  get lost(): boolean {
    return this.#lost;
  }

  /** Called when a write found a newer epoch. */
  markLost(): void {
    this.#lost = true;
    this.#cancelRenewal();
  }

  async release(): Promise<void> {
    this.#released = true;
    this.#cancelRenewal();
    await this.#renewing;
    if (this.#lost) return;
    this.#lost = true;
    killPoint('before-lease-release');
    await this.lease.release();
  }

  #schedule(): void {
    const leaseMs = this.context.settings.delivery.leaseSeconds * 1000;
    this.#cancelRenewal = this.context.clock.after(leaseMs / 3, () => {
      this.#renewing = this.#renew().then(() => {
        if (!this.#lost && !this.#released) this.#schedule();
      });
    });
  }

  async #renew(): Promise<void> {
    try {
      await this.lease.renew();
    } catch (error) {
      if (error instanceof LeaseLost) this.markLost();
      // An unreachable store is no loss yet: mayStartRequest holds requests back long before the lease ends.
      this.context.log.warn('The delivery lease could not be renewed', { error: (error as Error).message });
    }
  }

  async #takeOver(): Promise<number> {
    const { store, nowMs, actor } = this.context;
    return store.transaction('take over from an earlier deliverer', async (tx) => {
      const at = nowMs();
      await bindEnvironment(tx, this.context.settings.service.environment);
      const doubted = await doubtOlderEpochs(tx, this.epoch, at);
      await endOlderEpochs(tx, this.epoch);
      const reason = 'The process that was sending it stopped before its outcome was on record; it may have been sent.';
      const lines = doubted.map(({ id: messageId, entity, sourceKey }): AuditEntry => {
        return { event: 'in_doubt', outcome: 'unknown', entity, sourceKey, messageId, actor, detail: { reason } };
      });
      await appendAudit(tx, lines, at);
      // After what was being sent has its time of the first send.
      await followClock(tx, this.context);
      killPoint('before-takeover');
      return doubted.length;
    });
  }
}
