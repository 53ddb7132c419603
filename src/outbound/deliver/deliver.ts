import type { JobContext } from '../../ops/job-context.js';
import type { ServiceClient } from '../../service/service-client.js';
import { LeaseLost } from '../../store/lease.js';
import type { ErpPresence } from '../capture/capture-removals.js';
import type { ClaimedMessage } from './claim-messages.js';
import { Claims } from './claims.js';
import { type DeliverResult, DeliveryTally } from './deliver-result.js';
import {
  backlogTurn,
  type ClaimScope,
  claimTarget,
  countInDoubt,
  dueMessageIds,
  nextDueAt,
  orderClaims,
  probeMessageId,
  probeOrder,
} from './due-messages.js';
import { Exchange, type Manner } from './exchange.js';
import { pauseWhenUsedUp } from './lane-keeper.js';
import { LookUps, nextLookUpAt } from './look-up.js';
import { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';
import { MessageSettler } from './settle-messages.js';

export interface DeliverOptions {
  /** Ends when nothing is due any more (`sync`); otherwise it goes on until it is stopped (`daemon`). */
  untilDrained: boolean;
  scope: ClaimScope;
  /** With untilDrained: how long to wait for a message whose next try lies in the future, or for anything to go through. */
  retryHorizonMs: number;
  /** Delivers to a production service that is not live: only for the few records of a trial. */
  trial: boolean;
  erp: ErpPresence;
  signal?: AbortSignal;
  onProgress?: (result: DeliverResult) => void;
  /** Told at the beginning, and when it changes, why nothing may be delivered; null: it may. */
  onHeld?: (reason: string | null) => void;
}

/** How long the loop sleeps at most before it looks again: new captures, pauses and resumes come from other processes. */
const pollMs = 500;
const maxIdleMs = 10_000;
/** How often it looks for news while a backlog is under way. */
const newsPollMs = 100;
/** How often it looks whether it is its turn to probe. */
const probeTurnMs = 100;
/** Look-ups under way at once: they are few. */
const maxLookUps = 50;

/** Claims due messages and sends them, under the service lease. One at a time. */
export async function deliver(
  context: JobContext,
  client: ServiceClient,
  lease: ServiceLease,
  options: DeliverOptions,
): Promise<DeliverResult> {
  return new Delivery(context, client, lease, options).run();
}

class Delivery {
  readonly #gate: SendGate;
  readonly #exchange: Exchange;
  readonly #tally: DeliveryTally;
  readonly #settler: MessageSettler;
  readonly #lookUps: LookUps;
  readonly #claims: Claims;
  readonly #target: number;
  #newsSinceTurn = 0;
  #filledAt = Number.NEGATIVE_INFINITY;
  #progress = '';
  #progressAt: number;
  #probes = 0;
  /** How many conflicts there had been when none was left to look up, and when to look again. */
  #conflictsLookedUp = 0;
  #lookUpsAt = 0;
  /** Until when we paused the lane for a limit that is used up. */
  #limitUntilMs = 0;
  #toldHeld: string | null | undefined;

  constructor(
    private readonly context: JobContext,
    private readonly client: ServiceClient,
    private readonly lease: ServiceLease,
    private readonly options: DeliverOptions,
  ) {
    this.#gate = new SendGate(context, lease, options.trial ? null : options.erp.identity());
    this.#exchange = new Exchange(context, lease, this.#gate);
    this.#tally = new DeliveryTally(context.log, options.onProgress);
    this.#settler = new MessageSettler(context, lease.epoch, this.#tally);
    const parts = { client, gate: this.#gate, exchange: this.#exchange, tally: this.#tally };
    this.#lookUps = new LookUps(context, lease, parts, options.scope.only);
    this.#claims = new Claims(context, lease, this.#tally, options.erp);
    this.#target = claimTarget(context.settings.service);
    this.#progressAt = context.clock.monotonicMs();
  }

  async run(): Promise<DeliverResult> {
    const { signal } = this.options;
    // Requests that wait for a slot are let go, unsent: a slot of a long window may be hours away.
    const stop = () => {
      this.#gate.stop();
      this.client.rateLimiter.reconsider();
    };
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    try {
      while (!signal?.aborted && !this.lease.lost) {
        const ended = await this.#turn();
        if (ended !== null) {
          this.#tally.result.stopped = ended === 'drained' ? null : ended;
          break;
        }
      }
      if (this.lease.lost) this.#tally.result.stopped = 'the delivery lease went to another process';
      else if (signal?.aborted) this.#tally.result.stopped = 'stopping';
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      this.lease.markLost();
      this.#tally.result.stopped = 'the delivery lease went to another process';
    } finally {
      // Always wait for the requests under way and put their outcomes on record.
      stop();
      await this.#exchange.allEnded();
      await this.#exchange.flushed();
      signal?.removeEventListener('abort', stop);
    }
    return this.#tally.result;
  }

  /** One turn of the loop: `drained`, a reason to end, or null to go on. */
  async #turn(): Promise<string | null> {
    const { nowMs, clock, store } = this.context;
    const { rateLimiter } = this.client;
    const state = await this.#gate.state();
    if (state.notLive !== this.#toldHeld) this.options.onHeld?.(state.notLive);
    this.#toldHeld = state.notLive;
    const blocked = this.#gate.blockedBy(state, 'deliver');
    const stuck = this.#stuck();
    if (stuck) return stuck;
    if (blocked) {
      if (this.#exchange.count > 0) return this.#wait();
      await this.#exchange.flushed();
      // The pause may be one of a clock that was wrong; it ends where that is noticed.
      if (this.#claims.isClockSet) {
        await this.#claims.parkForgotten();
        return null;
      }
      const restMs = blocked.untilMs === null ? Number.POSITIVE_INFINITY : blocked.untilMs - nowMs();
      if (this.options.untilDrained && restMs > this.options.retryHorizonMs) return blocked.reason;
      return this.#wait(Math.max(restMs, 1));
    }
    if (rateLimiter.usedUp !== null) {
      // What has a slot already may still be at the gate: a pause would take its turn away.
      if (this.#exchange.count > 0) return this.#wait();
      // Its pause was ended before its time: an operator knows better than the service's own headers.
      if (this.#limitUntilMs > nowMs()) rateLimiter.forgetAdvice();
      this.#limitUntilMs = (await pauseWhenUsedUp(this.context, rateLimiter)) ?? 0;
      if (this.#limitUntilMs > 0) return null;
    }
    // While the service is down, one message at a time goes to see whether it is back.
    const probing = state.pauses.some((pause) => pause.cause === 'outage');
    const room = probing ? 1 : this.#target - this.#exchange.count;
    // Half a batch at least, so that claims are few and the pipeline never runs dry.
    if (room < 1 || (!probing && room < this.#target / 2)) return this.#wait();
    const isEarly = this.#exchange.patient > this.#target / 4 && clock.monotonicMs() < this.#filledAt + newsPollMs;
    if (!probing && isEarly) return this.#wait();
    // What the last one found is heeded first; but none waits for one that hangs.
    if (probing) await this.#exchange.flushed();
    if (probing && !this.lease.probeTurns.take(clock.monotonicMs())) return this.#wait(probeTurnMs);

    const lookedAt = clock.monotonicMs();
    const started = probing ? await this.#probe() : await this.#fill(room);
    if (started > 0) return null;
    if (probing) this.lease.probeTurns.giveBack();
    if (this.#exchange.count > 0) return this.#wait();
    await this.#exchange.flushed();
    if ((await this.#claims.parkForgotten()) > 0) return null;
    // What was settled just now may have become a conflict.
    if (!probing && (await this.#lookUps.begin(maxLookUps)) > 0) return null;

    // Nothing was ready. With a hundred thousand orders behind one parked customer even looking is work: rest ten times as long.
    const idleMs = Math.min(maxIdleMs, Math.max(pollMs, 10 * (clock.monotonicMs() - lookedAt)));
    if (!this.options.untilDrained) return this.#wait(idleMs, idleMs);
    const due = await nextDueAt(store, this.options.scope);
    const lookUpDue = await nextLookUpAt(this.context, this.options.scope.only);
    const restMs = Math.min(due ?? Number.POSITIVE_INFINITY, lookUpDue ?? Number.POSITIVE_INFINITY) - nowMs();
    if (restMs > this.options.retryHorizonMs) {
      // The last outcome may have stopped the lane until a person looks.
      const stopped = this.#gate.blockedBy(await this.#gate.state(), 'deliver');
      return stopped && stopped.untilMs === null ? stopped.reason : 'drained';
    }
    return this.#wait(Math.max(restMs, 1));
  }

  /** With untilDrained: why it is no use to go on, when nothing has come to an end for as long as a wait may last. */
  #stuck(): string | null {
    const { delivered, adopted, parked } = this.#tally.result;
    const now = this.context.clock.monotonicMs();
    const progress = JSON.stringify([delivered, adopted, parked]);
    if (progress !== this.#progress) {
      this.#progress = progress;
      this.#progressAt = now;
    }
    if (!this.options.untilDrained || this.#exchange.count > 0) return null;
    const patienceMs = Math.max(this.options.retryHorizonMs, 1_000);
    if (now - this.#progressAt <= patienceMs) return null;
    const seconds = Math.round(patienceMs / 1000);
    return `nothing went through for ${seconds} s: ${this.#tally.lastTrouble ?? 'no answer'}`;
  }

  /** @returns how many requests it began */
  async #fill(room: number): Promise<number> {
    const { store, nowMs, clock } = this.context;
    this.#filledAt = clock.monotonicMs();
    // Half of what is under way at most, so that there is always room for news.
    const backlogRoom = Math.max(0, Math.floor(this.#target / 2) - this.#exchange.patient);
    const most = Math.min(room, Math.max(backlogRoom, Math.ceil(room / backlogTurn)));
    const { claims, newsSinceTurn } = await store.read('look for due messages', async (tx) => {
      const due = (limit: number, isBacklog: boolean) =>
        dueMessageIds(tx, nowMs(), limit, this.options.scope, this.#claims.forgottenBefore, isBacklog);
      return orderClaims(await due(room, false), await due(most, true), room, backlogRoom, this.#newsSinceTurn);
    });
    this.#newsSinceTurn = newsSinceTurn;
    const claimed = await this.#claims.claim(claims.map(({ id }) => id));
    const patient = new Set(claims.flatMap(({ id, isUrgent }) => (isUrgent ? [] : [id])));
    for (const message of claimed) this.#send(message, { isPatient: patient.has(message.id) });
    return claimed.length + (await this.#lookUpsBesides(Math.min(room - claimed.length, maxLookUps)));
  }

  #send(message: ClaimedMessage, manner: Manner): void {
    const { isProbe = false, isPatient = false } = manner;
    const sending = {
      ...message,
      serviceId: message.boundServiceId,
      priority: isPatient ? -1 : 0,
      isProbe,
      gate: this.#gate.of('deliver', isProbe, message),
    };
    this.#exchange.begin(this.#settler, message, () => this.client.send(sending), manner);
  }

  /** Looking for look-ups is a transaction: where none was found, it is left out for a while, or until there is a conflict. */
  async #lookUpsBesides(room: number): Promise<number> {
    const { conflictsMet } = this.#tally;
    const now = this.context.clock.monotonicMs();
    if (conflictsMet === this.#conflictsLookedUp && now < this.#lookUpsAt) return 0;
    const started = await this.#lookUps.begin(room);
    if (started > 0 || room < 1) return started;
    this.#conflictsLookedUp = conflictsMet;
    this.#lookUpsAt = now + maxIdleMs;
    return 0;
  }

  /**
   * One request that goes to see whether the service is back. It does not wait until one is due again: after hours of outage
   * that may be long after the service is back. @returns how many it began
   */
  async #probe(): Promise<number> {
    const { store } = this.context;
    const inDoubt = await store.read('count what is in doubt', (tx) => countInDoubt(tx));
    const probe = this.#probes++;
    for (const kind of probeOrder(probe, inDoubt)) {
      if (kind === 'look_up') {
        if ((await this.#lookUps.begin(1, true)) > 0) return 1;
        continue;
      }
      // Where the oldest of the new ones are those at which it fails, the latest may not be.
      const which = kind === 'pending' && probe % 2 === 1 ? 'last untried' : 'first';
      const id = await store.read('look for a message to probe with', (tx) =>
        probeMessageId(tx, kind, which, this.options.scope, this.#claims.forgottenBefore),
      );
      const [message] = await this.#claims.claim(id === null ? [] : [id]);
      if (!message) continue;
      this.#send(message, { isProbe: true });
      return 1;
    }
    return 0;
  }

  /** Until a request ends, but no longer than the poll. */
  async #wait(ms = pollMs, mostMs = pollMs): Promise<null> {
    const timer = new AbortController();
    const rest = this.context.clock.sleep(Math.min(ms, mostMs), timer.signal);
    const stopped = new Promise<void>((resolve) => {
      this.options.signal?.addEventListener('abort', () => resolve(), { once: true, signal: timer.signal });
    });
    await Promise.race([rest, stopped, this.#exchange.oneEnds()]);
    timer.abort();
    return null;
  }
}
