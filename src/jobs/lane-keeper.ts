import { appendAudit } from '../audit/audit-log.js';
import { hastenInDoubt } from '../outbox/hasten-messages.js';
import { dropEndedPauses, listPauses, pauseLane, resumeLane } from '../store/lane-pauses.js';
import type { Tx } from '../store/store.js';
import { credentialSetting } from './credential-setting.js';
import type { JobContext } from './job-context.js';
import { healthy, type LaneEffects, type LaneHealth, type LaneOutcome, laneEffects } from './lane-effects.js';
import { ownWaitMs } from './own-wait.js';

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
