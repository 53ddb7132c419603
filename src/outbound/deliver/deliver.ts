import { isDeepStrictEqual } from 'node:util';
import type { Fact } from '../../model/facts/fact.js';
import type { JobContext } from '../../ops/job-context.js';
import { concurrencyOf } from '../../service/rate-limit/sliding-slots.js';
import type { ServiceClient } from '../../service/service-client.js';
import { LeaseLost } from '../../store/lease.js';
import { type DeliveryParts, Requests } from './begin-requests.js';
import { Claims } from './claims.js';
import { type DeliverOptions, type DeliverResult, DeliveryTally } from './delivery-tally.js';
import { nextDueAt } from './due-messages.js';
import { Exchange } from './exchange.js';
import { claimTarget, mostUnsettled, pauseWhenUsedUp, tryNewCredential } from './lane-keeper.js';
import { nextLookUpAt } from './look-up.js';
import { type Findings, nextStep, type Snapshot, type Step } from './next-step.js';
import { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';
import { inTurns } from './source-turns.js';
import { Waits } from './wait-for-work.js';

export type { DeliverOptions };

/** Claims due messages and sends them, under the service lease. One at a time. */
export async function deliver(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  options: DeliverOptions,
): Promise<DeliverResult> {
  const scope = context.settings.named ? inTurns(context, options.scope) : options.scope;
  return new Delivery(context, client, lease, { ...options, scope }).run();
}

type GateState = Awaited<ReturnType<SendGate['lately']>>;

/** The facts that stay the same for all steps of a turn, and the findings of those steps. */
interface Turn {
  gate: GateState;
  stuck: Fact | null;
  found: Findings;
  /** When it looked for messages to send, and the count of news then. */
  lookedAtMs: number;
  news: number;
}

/** Does what `nextStep` says, step by step, until it says that delivery has ended. */
class Delivery {
  readonly #parts: DeliveryParts;
  readonly #requests: Requests;
  readonly #waits: Waits;
  /** Until when we paused the lane for a limit that is used up. */
  #limitUntilMs = 0;
  #toldHeld: GateState['notLive'] | undefined;

  constructor(context: JobContext, client: ServiceClient, lease: ServiceLease, options: DeliverOptions) {
    const gate = new SendGate(context, lease, options.trial ? null : options.erp.identity());
    const exchange = new Exchange(context, lease, gate);
    const tally = new DeliveryTally(context.log, options.onProgress);
    const claims = new Claims(context, lease, tally, options.erp);
    this.#parts = { context, client, lease, options, gate, exchange, tally, claims };
    this.#requests = new Requests(this.#parts);
    this.#waits = new Waits(context, exchange, options);
  }

  async run(): Promise<DeliverResult> {
    const { client, lease, options, gate, exchange, tally } = this.#parts;
    const { signal } = options;
    // Requests that wait for a slot are let go, unsent: a slot of a long window may be hours away.
    const stop = () => {
      gate.stop();
      client.rateLimiter.reconsider();
      this.#waits.end();
    };
    signal?.addEventListener('abort', stop, { once: true });
    const endWait = () => this.#waits.end();
    lease.lostSignal.addEventListener('abort', endWait, { once: true });
    if (signal?.aborted) stop();
    try {
      await lease.membership?.begin(client.rateLimiter);
      while (!signal?.aborted && !lease.lost) {
        const ended = await this.#turn();
        if (ended !== null) {
          tally.result.stopped = ended === 'drained' ? null : ended;
          break;
        }
      }
      if (signal?.aborted) tally.result.stopped = { code: 'stopping' };
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      lease.markLost();
    } finally {
      // Always wait for the requests under way and put their outcomes on record.
      stop();
      await exchange.allEnded();
      await exchange.outcomes.flushed();
      signal?.removeEventListener('abort', stop);
      lease.lostSignal.removeEventListener('abort', endWait);
      this.#waits.close();
    }
    if (lease.lost) tally.result.stopped = { code: 'lease_lost' };
    return tally.result;
  }

  /** From a look at the gate to a wait, to new requests or to the end. @returns why delivery ends, or null to go on */
  async #turn(): Promise<'drained' | Fact | null> {
    const { context, options, gate, exchange } = this.#parts;
    exchange.outcomes.resume();
    const state = await gate.lately();
    if (!isDeepStrictEqual(state.notLive, this.#toldHeld)) options.onHeld?.(state.notLive);
    this.#toldHeld = state.notLive;
    await this.#lookAtWay(state);
    const lookedAtMs = context.clock.monotonicMs();
    const turn: Turn = { gate: state, stuck: this.#stuck(), found: {}, lookedAtMs, news: this.#waits.news };
    for (;;) {
      const step = nextStep(this.#see(turn), turn.found);
      if (step.do === 'end') return step.why;
      if (await this.#take(step, turn)) return null;
    }
  }

  /** A node tries by itself what it alone has met: when the pause of all is over, or there is a credential that may pass. */
  async #lookAtWay({ pauses }: GateState): Promise<void> {
    const { context, client, lease } = this.#parts;
    const way = lease.membership?.way;
    if (!way) return;
    way.heedPauses(pauses);
    const { trouble } = way;
    if (pauses.some(({ lane, cause }) => lane === 'service' && cause === 'credential'))
      await tryNewCredential(context, client, lease, true);
    else if (trouble?.cause === 'credential' && client.credentialReplacedSince(trouble.sinceMs)) way.tryNow();
  }

  /** All that the next step depends on, as it is now. */
  #see({ gate: state, stuck, lookedAtMs }: Turn): Snapshot {
    const { context, client, lease, options, gate, exchange, claims } = this.#parts;
    const { rateLimiter } = client;
    const blocked = gate.blockedBy(state, 'deliver');
    const { rests = false, tries = false } = lease.membership ?? {};
    const isProbing = rests || state.pauses.some((pause) => pause.cause === 'outage');
    const allowed = lease.allowed(rateLimiter);
    const { atOnce } = claims;
    // Fewer large records are held, and yet as many as a slow service takes at once.
    const halfOfConcurrency = Math.ceil(concurrencyOf(allowed) / 2);
    const held = Math.max(atOnce, Math.min(context.store.dialect.messagesAtOnce, halfOfConcurrency));
    const target = claimTarget(allowed, rateLimiter.sentInLastSecond, held);
    return {
      untilDrained: options.untilDrained,
      retryHorizonMs: options.retryHorizonMs,
      stuck,
      blocked: blocked && { reason: blocked.reason, forMs: msUntil(blocked.untilMs, context.nowMs()) },
      isClockSet: claims.isClockSet,
      mayStartRequest: lease.mayStartRequest(),
      isAtRest: rests && !tries,
      isLimitUsedUp: rateLimiter.usedUp !== null,
      isProbing,
      underWay: exchange.count,
      patient: exchange.patient,
      unsettled: exchange.unsettled,
      target,
      // A kill makes doubtful what has ended and is not on record yet, too.
      most: Math.max(target, mostUnsettled(allowed, held)),
      atOnce,
      sinceClaimedMs: this.#requests.sinceClaimedMs,
      // A probe takes what is not due yet, and a dispatcher of its own may know of more.
      isNothingDue: this.#waits.nothingDue && !isProbing && options.dispatcher === undefined,
      lookedForMs: context.clock.monotonicMs() - lookedAtMs,
    };
  }

  /** Takes a step. @returns true if the turn ends with it */
  async #take(step: Exclude<Step, { do: 'end' }>, turn: Turn): Promise<boolean> {
    const { context, client, lease, gate, exchange, claims } = this.#parts;
    const { found } = turn;
    switch (step.do) {
      case 'next_turn':
        return true;
      case 'wait':
        if (Number.isFinite(step.pausedForMs)) this.#requests.slowDown(step.pausedForMs as number);
        await this.#waits.until(step.ms, step.count, step.all);
        return true;
      case 'rest':
        await this.#rest(step.idleMs, turn.news);
        return true;
      case 'flush':
        await exchange.outcomes.flushed();
        found.isFlushed = true;
        return step.endsTurn ?? false;
      case 'ask_for_place':
        found.lacksPlace = (await lease.membership?.lacksPlace(client.rateLimiter)) ?? false;
        return false;
      case 'pause_for_limit':
        // Its pause was ended before its time: an operator knows better than the service's own headers.
        if (this.#limitUntilMs > context.nowMs()) client.rateLimiter.forgetAdvice();
        this.#limitUntilMs = (await pauseWhenUsedUp(context, client.rateLimiter)) ?? 0;
        found.isPausedForLimit = this.#limitUntilMs > 0;
        return false;
      case 'ask_for_probe_turn':
        found.hasProbeTurn = lease.probeTurns.take(context.clock.monotonicMs());
        return false;
      case 'claim':
      case 'claim_probe':
        turn.lookedAtMs = context.clock.monotonicMs();
        turn.news = this.#waits.news;
        found.begun = await (step.do === 'claim' ? this.#requests.claim(step) : this.#requests.claimProbe());
        if (step.do === 'claim_probe' && found.begun === 0) lease.probeTurns.giveBack();
        return false;
      case 'park_forgotten':
        found.parked = await claims.parkForgotten();
        return false;
      case 'look_up':
        found.lookUps = await this.#requests.lookUp();
        return false;
      case 'ask_when_due':
        found.dueInMs = await this.#dueInMs();
        return false;
      case 'ask_gate': {
        const stopped = gate.blockedBy(await gate.state(), 'deliver');
        found.stopped = stopped && stopped.untilMs === null ? stopped.reason : null;
        return false;
      }
    }
  }

  async #rest(idleMs: number, news: number): Promise<void> {
    const { context, lease, options, claims } = this.#parts;
    const wakeAt = await nextLookUpAt(context, options.scope.only);
    await this.#waits.rest(idleMs, news, wakeAt, () => claims.isClockSet || lease.lost);
  }

  /** The time until the next message or look-up is due. */
  async #dueInMs(): Promise<number> {
    const { context, options } = this.#parts;
    const dueAt = await nextDueAt(context.store, options.scope);
    const lookUpAt = await nextLookUpAt(context, options.scope.only);
    const now = context.nowMs();
    return Math.min(msUntil(dueAt, now), msUntil(lookUpAt, now));
  }

  /** With untilDrained: why it is no use to go on, when nothing has come to an end for as long as a wait may last. */
  #stuck(): Fact | null {
    const { context, options, exchange, tally } = this.#parts;
    const idleMs = tally.idleMs(context.clock.monotonicMs());
    if (!options.untilDrained || exchange.count > 0) return null;
    const patienceMs = Math.max(options.retryHorizonMs, 1_000);
    if (idleMs <= patienceMs) return null;
    const seconds = Math.round(patienceMs / 1000);
    return { code: 'nothing_went_through', seconds, reason: tally.lastTrouble };
  }
}

/** @param at null: never */
function msUntil(at: number | null, nowMs: number): number {
  return at === null ? Number.POSITIVE_INFINITY : at - nowMs;
}
