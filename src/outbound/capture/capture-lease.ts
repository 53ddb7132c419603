import type { JobContext } from '../../ops/job-context.js';
import { Lease } from '../../store/lease.js';

/** The right to capture, one process at a time. @returns the lease, or in words who holds it instead */
export async function acquireCaptureLease({ store, settings, actor, clock }: JobContext): Promise<Lease | string> {
  const answer = await Lease.acquire(store, 'capture', actor, settings.delivery.leaseSeconds * 1000, clock);
  if (answer.held) return answer.lease;
  return `${answer.holder} is capturing; its place is free in ${Math.ceil(answer.freeInMs / 1000)} s at the latest`;
}
