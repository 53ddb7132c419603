import type { Entity } from '../../model/record.js';
import type { LookUpFinding, ReadAnswer, Verdict } from '../../model/verdict.js';
import type { LanePause } from '../../store/lane-pauses.js';
import type { Operation } from '../outbox/message.js';

export interface LaneHealth {
  /** Writes and look-ups in a row that failed since the last answer below 500, whichever messages they were for. */
  failures: number;
  /** How often the service said "slow down" again, after we had waited. */
  throttles: number;
  /** The end of the latest wait for it. */
  throttledUntil: number;
  /** When it was told of. What was sent before is no news of it. */
  throttledSince: number;
  refusals: { reason: string; count: number };
}

export const healthy: LaneHealth = {
  failures: 0,
  throttles: 0,
  throttledUntil: 0,
  throttledSince: 0,
  refusals: { reason: '', count: 0 },
};

export interface LaneEffects {
  health: LaneHealth;
  pauses: Omit<LanePause, 'actor' | 'since_at'>[];
  /** The service answers again: the breaker closes. */
  closesBreaker: boolean;
  /** What a person should know, once. */
  alerts: string[];
}

export interface LaneOutcome {
  asks: 'write' | 'look_up' | 'list' | 'record';
  verdict: Verdict | LookUpFinding | ReadAnswer<unknown>;
  /** The class with which a write was parked. */
  parkedAs: string | null;
  /** The verdict's reason as it may stand in pauses, alerts and the audit, which `waybill forget` does not search. */
  shownReason: string;
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
 * What verdicts mean for everything behind them: waiting for the service as a whole is a pause of the lane and costs no
 * message an attempt. The one back-off of writes, look-ups and reads. Pure; takes the verdicts in the order in which they
 * came.
 */
export function laneEffects(
  before: LaneHealth,
  outcomes: readonly LaneOutcome[],
  settings: LaneSettings,
  nowMs: number,
): LaneEffects {
  let { throttles, throttledUntil, throttledSince, refusals } = before;
  let { nextProbeAt } = settings;
  // An operator, or another process, closed the breaker: it takes as many failures to open it again.
  let failures = nextProbeAt === null && before.failures >= settings.outageAfterFailures ? 0 : before.failures;
  let pauses: LaneEffects['pauses'] = [];
  const alerts: string[] = [];
  let closesBreaker = false;

  for (const { asks, verdict, parkedAs, sentAtMs, shownReason: reason } of outcomes) {
    const failed = isFailure(verdict);
    // What was refused because its path can't be filled never left, and says nothing of the service.
    const answered = !failed && verdict.kind !== 'not_sent' && sentAtMs !== null;
    // A list or a single record may fail, or be shown, while writes fare otherwise: a read opens no breaker and keeps none
    // from opening. It is a probe like any other where one is open.
    const isRead = asks === 'list' || asks === 'record';
    if (answered && (!isRead || nextProbeAt !== null)) {
      failures = 0;
      nextProbeAt = null;
      closesBreaker = true;
      pauses = pauses.filter(({ cause }) => cause !== 'outage');
    }
    if (verdict.kind !== 'throttled' && answered) throttles = 0;
    if (verdict.kind === 'delivered') refusals = { reason: '', count: 0 };

    if (failed) {
      if (!isRead) failures++;
      const isEnough = failures >= settings.outageAfterFailures || (verdict.kind === 'unavailable' && verdict.tls);
      const opens = isEnough && !isRead;
      // A probe that fails keeps the breaker open, also right after a restart, when nothing else has failed yet.
      if (opens || nextProbeAt !== null) {
        closesBreaker = false;
        if (nextProbeAt === null) alerts.push(`The service is out of reach: ${reason}`);
        // Probes start at their pace, however long a silent one takes. At the opening, what is claimed already has to stop.
        nextProbeAt =
          nextProbeAt === null
            ? nowMs + settings.probeMs
            : Math.max(nextProbeAt, (sentAtMs ?? nowMs) + settings.probeMs);
        pauses.push({ lane: 'service', cause: 'outage', until_at: nextProbeAt, reason });
      }
    }

    /** Many equal refusals in a row are not about the records. */
    const countRefusal = (words: string) => {
      if (!answered || asks !== 'write') return;
      const key = words.replace(/\d+/g, '#');
      refusals = refusals.reason === key ? { reason: key, count: refusals.count + 1 } : { reason: key, count: 1 };
      if (refusals.count < refusalStorm) return;
      const storm = `${refusalStorm} equal refusals in a row`;
      pauses.push({ lane: 'deliver', cause: 'refusals', until_at: null, reason: `${storm}: ${reason}` });
      alerts.push(
        `${storm} (${reason}): one wrong setting? Look at \`waybill outbox --state parked\`, then \`waybill resume deliver\`.`,
      );
      // A resume without a remedy ends after as many.
      refusals = { reason: '', count: 0 };
    };

    switch (verdict.kind) {
      case 'throttled': {
        // Sixteen requests under way are told to slow down at the same time: that is once, not sixteen times.
        if (nowMs >= throttledUntil) throttles++;
        const ownWait = Math.min(
          60_000,
          Math.max(settings.windowMs, 1_000) * 2 ** Math.min(Math.max(throttles - 1, 0), 6),
        );
        // "Now" and a date in the past name no time: heeded to the letter, they would have us ask ten times a second.
        // And where it names none, it does not take back a time that it named before. Nor does what was under way when we were
        // told to wait: a block of an hour does not end because a request sent before it was answered "in a second".
        const until = nowMs + (verdict.retryAfterMs || ownWait);
        const isNews = Boolean(verdict.retryAfterMs) && (sentAtMs ?? 0) > throttledSince;
        if (verdict.retryAfterMs && !isNews && until < throttledUntil) break;
        throttledUntil = isNews ? until : Math.max(throttledUntil, until);
        throttledSince = nowMs;
        pauses.push({ lane: 'service', cause: 'throttled', until_at: throttledUntil, reason });
        break;
      }
      case 'unauthorised':
        pauses.push({ lane: 'service', cause: 'credential', until_at: null, reason });
        alerts.push(
          `The service does not accept our credential (${reason}). Replace it (${settings.credentialSetting}): a new file is tried by itself. Or say \`waybill resume service\`.`,
        );
        break;
      case 'misconfigured':
        // What is forbidden of one record may be allowed of all others.
        if (verdict.others || asks === 'record') break;
        pauses.push({ lane: asks === 'list' ? 'pull' : 'deliver', cause: 'misconfigured', until_at: null, reason });
        alerts.push(
          asks === 'list'
            ? `The service does not let us read the invoices (${reason}). Check the address and the permissions, then \`waybill resume pull\`.`
            : `The service does not let us deliver (${reason}). Check the address and the permissions, then \`waybill resume deliver\`.`,
        );
        break;
      case 'unknown_customer':
        // An order that still waits for the service to see its customer is no refusal yet; one that was given up is.
        if (parkedAs !== null) countRefusal(verdict.kind);
        break;
      case 'refused':
        countRefusal(verdict.reason);
        break;
      case 'invalid':
        // Here the service itself says "no", which is about one record like any other refusal, and stops no other one.
        if (verdict.saysFailed) countRefusal(verdict.reason);
        else if (parkedAs === 'unproven') {
          pauses.push({ lane: 'deliver', cause: 'unproven', until_at: null, reason });
          alerts.push(
            `The service says success without an acknowledgement (${reason}). Is service.baseUrl right? Then \`waybill resume deliver\`.`,
          );
        }
        break;
      default:
        break;
    }
  }
  return {
    health: { failures, throttles, throttledUntil, throttledSince, refusals },
    pauses: latest(pauses),
    closesBreaker,
    alerts: [...new Set(alerts)],
  };
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

/** What is done in one way at the service, and so at one endpoint. */
interface Operated {
  entity: Entity;
  operation: Operation;
}

export const endpointKey = ({ entity, operation }: Operated) => `${operation} ${entity}`;

export interface ForbiddenCandidate extends Operated {
  verdict: Verdict;
  status: number | null;
  /** Whether an earlier request of the same message was answered 403. */
  wasForbidden: boolean;
}

/**
 * Tells a 403 that is about one record from one that is about us. Where others have passed at the same endpoint since the
 * last 403 there, our credential may evidently do this: the record waits for a moment, in which others show whether it
 * still may, and when it is forbidden once more after that, it is the record. Pure.
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
