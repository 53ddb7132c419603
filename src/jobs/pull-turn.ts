import type { JobContext } from './job-context.js';
import type { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';

export interface TurnOptions {
  /** While the service is down: waits for a turn of the probes, instead of leaving it to them. */
  waitsForTurn?: boolean;
  signal?: AbortSignal;
}

/** How often a pull looks whether its turn to probe has come. */
const turnPollMs = 50;

/**
 * When this pull may begin. While the service is down, delivery looks every few seconds whether it is back; then the pull
 * takes one of these turns, and its first page is the probe.
 */
export async function pullTurn(
  { nowMs, clock }: JobContext,
  { probeTurns }: ServiceLease,
  gate: SendGate,
  { waitsForTurn, signal }: TurnOptions,
): Promise<{ isProbe: boolean } | { held: string }> {
  try {
    for (;;) {
      const state = await gate.state();
      const outage = state.pauses.find(({ cause }) => cause === 'outage');
      const pauses = state.pauses.filter((pause) => pause !== outage);
      const held = gate.blockedBy({ ...state, pauses }, 'pull');
      if (held) return { held: held.reason };
      if (!outage) return { isProbe: false };
      if (signal?.aborted) return { held: 'stopping' };
      probeTurns.reserve();
      const isDue = (outage.until_at ?? 0) <= nowMs();
      if (isDue && probeTurns.takeReserved(clock.monotonicMs())) return { isProbe: true };
      if (!waitsForTurn) return { held: `the service is out of reach: ${outage.reason}` };
      await clock.sleep(turnPollMs, signal);
    }
  } finally {
    probeTurns.release();
  }
}
