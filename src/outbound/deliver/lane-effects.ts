import { doubledMs } from '../../model/backoff.js';
import type { Fact } from '../../model/facts/fact.js';
import type { Entity } from '../../model/record.js';
import type { LookUpFinding, ReadAnswer, Verdict } from '../../model/verdict.js';
import type { LanePause } from '../../store/lane-pauses.js';
import type { Operation } from '../outbox/message.js';

export interface LaneHealth {
  /** Writes and look-ups in a row that failed since the last answer below 500, whichever messages they were for. */
  failures: number;
  /** The number of times that the service said "slow down" again, after we had waited. */
  throttles: number;
  /** The end of the latest wait for it; null: none, or it is over. */
  throttledUntil: number | null;
  /** When it was told of last; null: never. Requests that were sent before are no news of it. */
  throttledSince: number | null;
  /** The latest refusals in a row. `likeness`: what they have in common; null: none since the last delivery. */
  refusals: { likeness: string; count: number } | null;
}

export const healthy: LaneHealth = {
  failures: 0,
  throttles: 0,
  throttledUntil: null,
  throttledSince: null,
  refusals: null,
};

export interface LaneEffects {
  health: LaneHealth;
  pauses: Omit<LanePause, 'actor' | 'since_at'>[];
  /** The service answers again: the breaker closes. */
  closesBreaker: boolean;
  /** The notice for a person, once. */
  alerts: Fact[];
}

export interface LaneOutcome {
  asks: 'write' | 'look_up' | 'list' | 'record';
  verdict: Verdict | LookUpFinding | ReadAnswer<unknown>;
  /** The class with which a write was parked. */
  parkedAs: string | null;
  /** The verdict's reason as it may stand in pauses, alerts and the audit, which `waybill forget` does not search; null: none. */
  shownReason: Fact | null;
  /** When the request left; null: it never did. */
  sentAtMs: number | null;
}

export interface LaneSettings {
  outageAfterFailures: number;
  probeMs: number;
  windowMs: number;
  /** When the next probe may go, while the breaker is open: every failure is a probe that failed, also right after a restart. */
  nextProbeAt: number | null;
  /** The setting that a person looks at when the credential is refused. */
  credentialSetting: string;
}

const refusalStorm = 10;

/**
 * The effects of verdicts on everything behind them: waiting for the service as a whole is a pause of the lane and costs no
 * message an attempt. The one back-off of writes, look-ups and reads. Pure; takes the verdicts in the order in which they
 * came.
 */
export function laneEffects(
  before: LaneHealth,
  outcomes: readonly LaneOutcome[],
  settings: LaneSettings,
  nowMs: number,
): LaneEffects {
  const tally = new LaneTally(before, settings, nowMs);
  for (const outcome of outcomes) tally.add(outcome);
  return tally.effects();
}

/** The health of a lane while verdicts come in. */
class LaneTally {
  readonly #health: LaneHealth;
  #nextProbeAt: number | null;
  #pauses: LaneEffects['pauses'] = [];
  readonly #alerts = new Map<string, Fact>();
  #closesBreaker = false;

  constructor(
    before: LaneHealth,
    private readonly settings: LaneSettings,
    private readonly nowMs: number,
  ) {
    this.#nextProbeAt = settings.nextProbeAt;
    // An operator, or another process, closed the breaker: it takes as many failures to open it again.
    const isClosedByOthers = this.#nextProbeAt === null && before.failures >= settings.outageAfterFailures;
    this.#health = { ...before, failures: isClosedByOthers ? 0 : before.failures };
  }

  effects(): LaneEffects {
    return {
      health: this.#health,
      pauses: latest(this.#pauses),
      closesBreaker: this.#closesBreaker,
      alerts: [...this.#alerts.values()],
    };
  }

  add(outcome: LaneOutcome): void {
    const { verdict } = outcome;
    if (isAnswered(outcome)) this.#noteAnswer(outcome);
    if (verdict.kind === 'delivered') this.#health.refusals = null;
    // If the service accepts others, a failure of one record says nothing of it; but no such failure is a probe that
    // passed.
    const isOwn = 'others' in verdict && verdict.others !== undefined;
    if (isFailure(verdict) && !(isOwn && this.#nextProbeAt === null))
      this.#noteFailure(outcome, verdict.kind === 'unavailable' && verdict.tls);
    this.#noteVerdict(outcome);
  }

  #noteAnswer({ asks, verdict }: LaneOutcome): void {
    if (!isRead(asks) || this.#nextProbeAt !== null) {
      this.#health.failures = 0;
      this.#nextProbeAt = null;
      this.#closesBreaker = true;
      this.#pauses = this.#pauses.filter(({ cause }) => cause !== 'outage');
    }
    if (verdict.kind !== 'throttled') this.#health.throttles = 0;
  }

  #noteFailure(outcome: LaneOutcome, isTls: boolean): void {
    const { asks, sentAtMs } = outcome;
    const reason = reasonOf(outcome);
    if (!isRead(asks)) this.#health.failures++;
    const isEnough = this.#health.failures >= this.settings.outageAfterFailures || isTls;
    const opens = isEnough && !isRead(asks);
    // A probe that fails keeps the breaker open, also right after a restart, when nothing else has failed yet.
    if (!opens && this.#nextProbeAt === null) return;
    this.#closesBreaker = false;
    if (this.#nextProbeAt === null) this.#alert({ code: 'service_unreachable', reason });
    // Probes start at their pace, however long a silent one takes. At the opening, what is claimed already has to stop.
    const { probeMs } = this.settings;
    this.#nextProbeAt =
      this.#nextProbeAt === null
        ? this.nowMs + probeMs
        : Math.max(this.#nextProbeAt, (sentAtMs ?? this.nowMs) + probeMs);
    this.#pauses.push({ lane: 'service', cause: 'outage', until_at: this.#nextProbeAt, reason });
  }

  #noteVerdict(outcome: LaneOutcome): void {
    const { asks, verdict, parkedAs } = outcome;
    switch (verdict.kind) {
      case 'throttled':
        if (!verdict.others) this.#slowDown(outcome, verdict.retryAfterMs);
        break;
      case 'unauthorised': {
        const { credentialSetting: setting } = this.settings;
        const reason = reasonOf(outcome);
        this.#stop('service', 'credential', reason, { code: 'credential_refused', reason, setting });
        break;
      }
      case 'misconfigured': {
        // A request that is forbidden for one record may be allowed for all others.
        if (verdict.others || asks === 'record') break;
        const reason = reasonOf(outcome);
        const [lane, code] =
          asks === 'list' ? (['pull', 'lists_forbidden'] as const) : (['deliver', 'writes_forbidden'] as const);
        this.#stop(lane, 'misconfigured', reason, { code, reason });
        break;
      }
      case 'unknown_customer':
        // An order that still waits for the service to see its customer is no refusal yet; one that was given up is.
        if (parkedAs !== null) this.#countRefusal(outcome, verdict.kind);
        break;
      case 'refused':
        this.#countRefusal(outcome, verdict.likeness);
        break;
      case 'invalid':
        // The service itself says "no", or acknowledges others: it is about one record like any other refusal, and stops no other.
        if (verdict.saysFailed || verdict.others) this.#countRefusal(outcome, verdict.likeness);
        else if (parkedAs === 'unproven') {
          const reason = reasonOf(outcome);
          this.#stop('deliver', 'unproven', reason, { code: 'no_acknowledgements', reason });
        }
        break;
      default:
        break;
    }
  }

  /** Stops a lane until a person looks. */
  #stop(lane: LanePause['lane'], cause: LanePause['cause'], reason: Fact, alert: Fact): void {
    this.#pauses.push({ lane, cause, until_at: null, reason });
    this.#alert(alert);
  }

  #alert(fact: Fact): void {
    this.#alerts.set(JSON.stringify(fact), fact);
  }

  #slowDown(outcome: LaneOutcome, retryAfterMs: number | null): void {
    const { sentAtMs } = outcome;
    const { nowMs } = this;
    const health = this.#health;
    // Sixteen requests under way are told to slow down at the same time: that is once, not sixteen times.
    const { throttledUntil, throttledSince } = health;
    const isOver = throttledUntil === null || nowMs >= throttledUntil;
    const isOldNews = sentAtMs !== null && throttledSince !== null && sentAtMs < throttledSince;
    if (isOver && !isOldNews) health.throttles++;
    // "Now" is heeded once. A service that goes on like that would be asked ten times a second.
    if (retryAfterMs === 0 && health.throttles <= 1 && isOver) {
      health.throttledSince = nowMs;
      return;
    }
    const baseMs = Math.max(this.settings.windowMs, 1_000);
    const ownWait = doubledMs(health.throttles, { baseMs, maxMs: 60_000 });
    // "Now" and a date in the past name no time. And where it names none, it does not take back a time that it named before. Nor does what was under way when we were
    // told to wait: a block of an hour does not end because a request sent before it was answered "in a second".
    const until = nowMs + (retryAfterMs || ownWait);
    const isNews = Boolean(retryAfterMs) && sentAtMs !== null && (throttledSince === null || sentAtMs > throttledSince);
    if (retryAfterMs && !isNews && throttledUntil !== null && until < throttledUntil) return;
    health.throttledUntil = isNews || throttledUntil === null ? until : Math.max(throttledUntil, until);
    health.throttledSince = nowMs;
    this.#pauses.push({
      lane: 'service',
      cause: 'throttled',
      until_at: health.throttledUntil,
      reason: reasonOf(outcome),
    });
  }

  /** Many equal refusals in a row are not about the records. */
  #countRefusal(outcome: LaneOutcome, likeness: string = reasonOf(outcome).code): void {
    if (outcome.asks !== 'write' || !isAnswered(outcome)) return;
    const { refusals } = this.#health;
    const count = refusals?.likeness === likeness ? refusals.count + 1 : 1;
    this.#health.refusals = { likeness, count };
    if (count < refusalStorm) return;
    const reason = { count: refusalStorm, reason: reasonOf(outcome) };
    this.#stop('deliver', 'refusals', { code: 'equal_refusals', ...reason }, { code: 'refused_in_a_row', ...reason });
    // A resume without a remedy ends after as many.
    this.#health.refusals = null;
  }
}

function reasonOf({ shownReason }: LaneOutcome): Fact {
  if (shownReason === null) throw new Error('Only a verdict with a reason affects a lane.');
  return shownReason;
}

/**
 * A list or a single record may fail, or be shown, while writes fare otherwise: a read opens no breaker and keeps none
 * from opening. It is a probe like any other where one is open.
 */
const isRead = (asks: LaneOutcome['asks']) => asks === 'list' || asks === 'record';

/** The service answered. A request that was refused because its path can't be filled never left, and says nothing of it. */
export function isAnswered({ verdict, sentAtMs }: LaneOutcome): boolean {
  return !isFailure(verdict) && verdict.kind !== 'not_sent' && sentAtMs !== null;
}

/** Any answer below 500 shows that the service is there. "In doubt" covers 5xx, timeouts and broken connections. */
function isFailure(
  verdict: LaneOutcome['verdict'],
): verdict is Extract<Verdict, { kind: 'in_doubt' | 'unavailable' | 'throttled' }> {
  if (verdict.kind === 'throttled') return verdict.mayHaveTakenEffect === true;
  return verdict.kind === 'in_doubt' || verdict.kind === 'unavailable';
}

/** One pause a lane and cause: the one that ends last. */
function latest(pauses: LaneEffects['pauses']): LaneEffects['pauses'] {
  const byCause = new Map<string, LaneEffects['pauses'][number]>();
  for (const pause of pauses) {
    const key = `${pause.lane} ${pause.cause}`;
    const other = byCause.get(key);
    if (!other || (other.until_at !== null && (pause.until_at === null || pause.until_at > other.until_at)))
      byCause.set(key, pause);
  }
  return [...byCause.values()];
}

/** The requests that are done in one way at the service, and so at one endpoint. */
interface Operated {
  entity: Entity;
  operation: Operation;
}

export const endpointKey = ({ entity, operation }: Operated) => `${operation} ${entity}`;

export interface ForbiddenCandidate extends Operated {
  verdict: Verdict;
  status: number | null;
  /** True if an earlier request of the same message was answered 403. */
  wasForbidden: boolean;
}

/**
 * Tells a 403 that is about one record from one that is about us. If others have passed at the same endpoint since the
 * last 403 there, our credential may evidently do this: the record waits for a moment, in which others show if it still
 * may, and when it is forbidden once more after that, it is the record. Pure.
 * @param outcomes in the order in which they came
 * @param passedSince endpoints where a request has passed since the last 403, such as `create order`
 */
export function judgeForbidden(outcomes: readonly ForbiddenCandidate[], passedSince: ReadonlySet<string>): Verdict[] {
  const passed = new Set(passedSince);
  return outcomes.map((outcome) => {
    const { verdict, status, wasForbidden } = outcome;
    const endpoint = endpointKey(outcome);
    if (verdict.kind === 'delivered') passed.add(endpoint);
    if (verdict.kind !== 'misconfigured' || status !== 403) return verdict;
    return passed.delete(endpoint) ? { ...verdict, others: wasForbidden ? 'pass still' : 'passed' } : verdict;
  });
}
