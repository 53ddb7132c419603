import type { JobContext } from '../../ops/job-context.js';
import { acquireLease, type Lease, releaseLease, renewLease } from '../../store/lease.js';

/** The right to capture, one process at a time. */
export class CaptureLease {
  readonly lease: Lease;
  readonly #context: JobContext;
  #renewedAt: number;

  private constructor(context: JobContext, lease: Lease) {
    this.#context = context;
    this.lease = lease;
    this.#renewedAt = context.clock.monotonicMs();
  }

  /** @returns who has it instead, in words */
  static async acquire(context: JobContext): Promise<CaptureLease | string> {
    const answer = await acquireLease(context.store, 'capture', context.actor, leaseMsOf(context), context.clock);
    if (answer.held) return new CaptureLease(context, answer.lease);
    return `${answer.holder} is capturing; its place is free in ${Math.ceil(answer.freeInMs / 1000)} s at the latest`;
  }

  /** Renews it in good time. @throws LeaseLost when somebody else has it */
  async keep(): Promise<void> {
    const { store, clock } = this.#context;
    const leaseMs = leaseMsOf(this.#context);
    if (clock.monotonicMs() - this.#renewedAt < leaseMs / 3) return;
    await renewLease(store, this.lease, leaseMs, clock);
    this.#renewedAt = clock.monotonicMs();
  }

  release(): Promise<void> {
    return releaseLease(this.#context.store, this.lease);
  }
}

function leaseMsOf({ settings }: JobContext): number {
  return settings.delivery.leaseSeconds * 1000;
}
