import { appendAudit } from '../../audit/audit-log.js';
import type { CredentialSettings } from '../../config/sections/service-credential.js';
import type { JobContext } from '../../ops/job-context.js';
import { ownWaitMs } from '../../service/rate-limit/concurrency.js';
import { dropEndedPauses, listPauses, pauseLane, resumeLane } from '../../store/lane-pauses.js';
import type { Tx } from '../../store/store.js';
import { healthy, type LaneEffects, type LaneHealth, type LaneOutcome, laneEffects } from './lane-effects.js';

/**
 * Brings the next try of messages in doubt forward to `notLaterThan`: how long they had to wait came from an outage that is
 * over. @returns how many there were
 */
export async function hastenInDoubt(tx: Tx, notLaterThan: number): Promise<number> {
  return tx.run("UPDATE outbox_message SET next_attempt_at=? WHERE state='in_doubt' AND next_attempt_at>?", [
    notLaterThan,
    notLaterThan,
  ]);
}

/** Where a person replaces the credential. */
export function credentialSetting(credential: CredentialSettings): string {
  switch (credential.kind) {
    case 'oauth':
      return credential.authentication === 'certificate'
        ? 'service.tls.certificateFile'
        : 'service.credential.clientSecretFile';
    case 'certificate':
      return 'service.tls.certificateFile';
    default:
      return 'service.tokenFile';
  }
}

/** After an outage nothing waits longer than this for its next try: the service is back. */
export const afterOutageMs = 60_000;

/** Heeds for the lane what the service answered, to whatever was sent or looked up. */
export class LaneKeeper {
  readonly #context: JobContext;
  #health: LaneHealth = healthy;

  constructor(context: JobContext) {
    this.#context = context;
  }

  /** Writes what follows, in the transaction that puts these outcomes on record and holds the lease. After its commit: `keep`. */
  async heed(tx: Tx, outcomes: readonly LaneOutcome[], at: number): Promise<LaneEffects> {
    const { settings, actor } = this.#context;
    const { delivery, service } = settings;
    const pauses = await listPauses(tx);
    const outage = pauses.find(({ cause }) => cause === 'outage');
    const throttled = pauses.find(({ cause }) => cause === 'throttled');
    const effects = laneEffects(
      // On record, because a pull may have written it, and an operator may have ended it.
      { ...this.#health, throttledUntil: throttled?.until_at ?? 0, throttledSince: throttled?.since_at ?? 0 },
      outcomes,
      {
        outageAfterFailures: delivery.outageAfterFailures,
        probeMs: delivery.probeSeconds * 1000,
        windowMs: ownWaitMs(service.limits),
        credentialSetting: credentialSetting(service.credential),
        nextProbeAt: outage ? (outage.until_at ?? at) : null,
      },
      at,
    );
    if (effects.closesBreaker && (await resumeLane(tx, 'service', ['outage'])) > 0)
      await hastenInDoubt(tx, at + afterOutageMs);
    await dropEndedPauses(tx, at);
    for (const pause of effects.pauses) {
      // A probe that failed makes an outage longer; it is still the same one.
      const going = pause.cause === 'outage' ? outage : undefined;
      await pauseLane(tx, { ...pause, actor, since_at: going && !effects.closesBreaker ? going.since_at : at });
      if (going) continue;
      const detail = { lane: pause.lane, reason: pause.reason, until: pause.until_at };
      await appendAudit(tx, [{ event: 'pause', outcome: pause.cause, actor, detail }], at);
    }
    await appendAudit(
      tx,
      effects.alerts.map((message) => ({ event: 'alert', actor, detail: { message } })),
      at,
    );
    return effects;
  }

  keep(effects: LaneEffects): void {
    this.#health = effects.health;
    for (const alert of effects.alerts) this.#context.log.error(alert);
  }
}
