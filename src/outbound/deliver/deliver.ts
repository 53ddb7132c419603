import type { Fact } from '../../model/facts/fact.js';
import type { JobContext } from '../../ops/job-context.js';
import { concurrencyOf } from '../../service/rate-limit/sliding-slots.js';
import type { ServiceClient } from '../../service/service-client.js';
import { LeaseLost } from '../../store/lease.js';
import type { ClaimedMessage } from './claim-messages.js';
import { Claims } from './claims.js';
import { type DeliverOptions, type DeliverResult, DeliveryTally } from './deliver-result.js';
import type { Dispatcher, ListDue } from './dispatcher.js';
import { listDue, nextDueAt, StoreDispatcher } from './due-messages.js';
import { Exchange, type Manner } from './exchange.js';
import {
  claimTarget,
  countInDoubt,
  mostUnsettled,
  pauseWhenUsedUp,
  probeMessageId,
  probeOrder,
} from './lane-keeper.js';
import { LookUps, nextLookUpAt } from './look-up.js';
import { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';
import { MessageSettler } from './settle-messages.js';
import { inTurns } from './source-turns.js';
import { Waits } from './waits.js';

export type { DeliverOptions };

/** Why a delivery ends. */
type End = 'drained' | Fact;

/** The longest sleep of the loop before it looks again: new captures, pauses and resumes come from other processes. */
const pollMs = 500;
const maxIdleMs = 10_000;
/** Poll interval while due messages are blocked. */
const idlePollMs = 2_000;
/** The interval at which it looks for news while a backlog is under way, and for its turn to probe. */
const newsPollMs = 100;
/** Claims in a row that may come back empty before the loop rests. */
const mostInVain = 5;
/** Look-ups under way at once: they are few. */
const maxLookUps = 50;

/** A turn that began no request. */
interface FruitlessTurn {
  probing: boolean;
  /** It did not even look, because nothing was due. */
  nothingDue: boolean;
  /** The count of news when it looked. */
  news: number;
  lookedAtMs: number;
}

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

class Delivery {
  readonly #gate: SendGate;
  readonly #exchange: Exchange;
  readonly #tally: DeliveryTally;
  readonly #settler: MessageSettler;
  readonly #lookUps: LookUps;
  readonly #claims: Claims;
  readonly #waits: Waits;
  readonly #dispatcher: Dispatcher;
  #target = 0;
  /** The number of times in a row that all that the dispatcher named was gone. */
  #inVain = 0;
  #filledAt = Number.NEGATIVE_INFINITY;
  #probes = 0;
  /** The number of conflicts when none was left to look up, and the time to look again. */
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
    this.#waits = new Waits(context, this.#exchange, options);
    this.#claims = new Claims(context, lease, this.#tally, options.erp);
    this.#dispatcher = options.dispatcher ?? new StoreDispatcher(context.clock);
  }

  async run(): Promise<DeliverResult> {
    const { signal } = this.options;
    // Requests that wait for a slot are let go, unsent: a slot of a long window may be hours away.
    const stop = () => {
      this.#gate.stop();
      this.client.rateLimiter.reconsider();
      this.#waits.end();
    };
    signal?.addEventListener('abort', stop, { once: true });
    this.lease.onLost = () => this.#waits.end();
    if (signal?.aborted) stop();
    try {
      await this.lease.membership?.begin(this.client.rateLimiter);
      while (!signal?.aborted && !this.lease.lost) {
        const ended = await this.#turn();
        if (ended !== null) {
          this.#tally.result.stopped = ended === 'drained' ? null : ended;
          break;
        }
      }
      if (signal?.aborted) this.#tally.result.stopped = { code: 'stopping' };
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      this.lease.markLost();
    } finally {
      // Always wait for the requests under way and put their outcomes on record.
      stop();
      await this.#exchange.allEnded();
      await this.#exchange.flushed();
      signal?.removeEventListener('abort', stop);
      this.#waits.close();
    }
    if (this.lease.lost) this.#tally.result.stopped = { code: 'lease_lost' };
    return this.#tally.result;
  }

  /** One turn of the loop: `drained`, a reason to end, or null to go on. */
  async #turn(): Promise<End | null> {
    const { nowMs, clock, store } = this.context;
    const { rateLimiter } = this.client;
    this.#exchange.resume();
    const state = await this.#gate.lately();
    if (state.notLive !== this.#toldHeld) this.options.onHeld?.(state.notLive);
    this.#toldHeld = state.notLive;
    const blocked = this.#gate.blockedBy(state, 'deliver');
    const stuck = this.#stuck();
    if (stuck) return stuck;
    if (blocked) return this.#waitWhileBlocked(blocked);
    // A message that is claimed now could not leave, and would be given back at once. On a full or broken disk that
    // lasts.
    if (!this.lease.mayStartRequest()) return this.#waits.until(idlePollMs);
    if (await this.lease.membership?.lacksPlace(rateLimiter)) return this.#waits.until(pollMs, 0);
    if (rateLimiter.usedUp !== null) {
      // A request that has a slot already may still be at the gate: a pause would take its turn away.
      if (this.#exchange.count > 0) return this.#waits.until(pollMs, 0);
      // Its pause was ended before its time: an operator knows better than the service's own headers.
      if (this.#limitUntilMs > nowMs()) rateLimiter.forgetAdvice();
      this.#limitUntilMs = (await pauseWhenUsedUp(this.context, rateLimiter)) ?? 0;
      if (this.#limitUntilMs > 0) return null;
    }
    // While the service is down, one message at a time goes to see whether it is back.
    const probing = state.pauses.some((pause) => pause.cause === 'outage');
    const allowed = this.lease.allowed(rateLimiter);
    const { atOnce } = this.#claims;
    // Fewer large records are held, and yet as many as a slow service takes at once.
    const held = Math.max(atOnce, Math.min(store.dialect.messagesAtOnce, Math.ceil(concurrencyOf(allowed) / 2)));
    this.#target = claimTarget(allowed, rateLimiter.sentInLastSecond, held);
    const { count, unsettled } = this.#exchange;
    // Half a batch at least, so that claims are few and the pipeline never runs dry.
    if (!probing && count > this.#target / 2) return this.#waits.until(pollMs, Math.floor(this.#target / 2));
    // A kill makes doubtful what has ended and is not on record yet, too.
    const most = Math.max(this.#target, mostUnsettled(allowed, held));
    const room = probing ? 1 : Math.min(this.#target - count, most - count - unsettled);
    if (!probing && room < this.#target / 4) return this.#waits.until(pollMs, -1, Math.floor(most - this.#target / 4));
    const earlyMs = this.#filledAt + newsPollMs - clock.monotonicMs();
    if (!probing && this.#exchange.patient > this.#target / 4 && earlyMs > 0)
      return this.#waits.until(earlyMs, Math.floor(this.#exchange.count / 2));
    // The findings of the last one are heeded first; but none waits for one that hangs.
    if (probing) await this.#exchange.flushed();
    if (probing && !this.lease.probeTurns.take(clock.monotonicMs())) return this.#waits.until(newsPollMs);
    const { news } = this.#waits;
    // A probe takes what is not due yet, and a dispatcher of its own may know of more.
    const nothingDue = this.#waits.nothingDue && !probing && this.options.dispatcher === undefined;
    const lookedAt = clock.monotonicMs();
    if (!nothingDue) {
      const started = probing ? await this.#probe() : await this.#fill(Math.min(room, atOnce));
      if (started > 0) return null;
    }
    if (probing) this.lease.probeTurns.giveBack();
    return this.#whenNothingStarted({ probing, nothingDue, news, lookedAtMs: lookedAt });
  }

  async #waitWhileBlocked(blocked: NonNullable<ReturnType<SendGate['blockedBy']>>): Promise<End | null> {
    const { nowMs } = this.context;
    if (this.#exchange.count > 0) return this.#waits.until(pollMs, 0);
    await this.#exchange.flushed();
    // The pause may be one of a clock that was wrong; it ends where that is noticed.
    if (this.#claims.isClockSet) {
      await this.#claims.parkForgotten();
      return null;
    }
    const restMs = blocked.untilMs === null ? Number.POSITIVE_INFINITY : blocked.untilMs - nowMs();
    if (blocked.untilMs !== null) this.#dispatcher.slowDown(restMs);
    if (this.options.untilDrained && restMs > this.options.retryHorizonMs) return blocked.reason;
    return this.#waits.until(Math.min(Math.max(restMs, 1), pollMs));
  }

  /** The end of a turn that began no request: wait for what is under way, look for other work, rest, or end. */
  async #whenNothingStarted({ probing, nothingDue, news, lookedAtMs }: FruitlessTurn): Promise<End | null> {
    const { nowMs, clock, store } = this.context;
    // Messages that end may make others ready: customers their orders.
    if (this.#exchange.count > 0) return this.#waits.until(newsPollMs, Math.floor(this.#exchange.count / 2));
    if (this.#exchange.unsettled > 0) {
      await this.#exchange.flushed();
      return null;
    }
    if ((await this.#claims.parkForgotten()) > 0) return null;
    if (!probing && !nothingDue && (await this.#lookUps.begin(maxLookUps)) > 0) return null;

    // Nothing was ready. With a hundred thousand orders behind one parked customer even looking is work: rest ten times as long.
    const idleMs = Math.min(maxIdleMs, Math.max(idlePollMs, 10 * (clock.monotonicMs() - lookedAtMs)));
    if (!this.options.untilDrained) {
      const wakeAt = await nextLookUpAt(this.context, this.options.scope.only);
      return this.#waits.rest(nothingDue ? 0 : idleMs, news, wakeAt, () => this.#claims.isClockSet || this.lease.lost);
    }
    const due = await nextDueAt(store, this.options.scope);
    const lookUpDue = await nextLookUpAt(this.context, this.options.scope.only);
    const restMs = Math.min(due ?? Number.POSITIVE_INFINITY, lookUpDue ?? Number.POSITIVE_INFINITY) - nowMs();
    if (restMs > this.options.retryHorizonMs) {
      // The last outcome may have stopped the lane until a person looks.
      const stopped = this.#gate.blockedBy(await this.#gate.state(), 'deliver');
      return stopped && stopped.untilMs === null ? stopped.reason : 'drained';
    }
    return this.#waits.until(Math.min(Math.max(restMs, 1), pollMs));
  }

  /** With untilDrained: why it is no use to go on, when nothing has come to an end for as long as a wait may last. */
  #stuck(): Fact | null {
    const idleMs = this.#tally.idleMs(this.context.clock.monotonicMs());
    if (!this.options.untilDrained || this.#exchange.count > 0) return null;
    const patienceMs = Math.max(this.options.retryHorizonMs, 1_000);
    if (idleMs <= patienceMs) return null;
    const seconds = Math.round(patienceMs / 1000);
    return { code: 'nothing_went_through', seconds, reason: this.#tally.lastTrouble };
  }

  /** @returns how many requests it began; 1 also where others were faster, and there may be more at once */
  async #fill(room: number): Promise<number> {
    await this.context.thread.turn();
    this.#filledAt = this.context.clock.monotonicMs();
    // Half of what is under way at most, so that there is always room for news.
    const backlogRoom = Math.max(0, Math.floor(this.#target / 2) - this.#exchange.patient);
    const claims = await this.#dispatcher.next({ room, backlogRoom, perSecond: this.#target }, this.#listDue);
    const ids = claims.map(({ id }) => id);
    let claimed: ClaimedMessage[] = [];
    try {
      claimed = await this.#claims.claim(ids, 'due');
    } finally {
      this.#dispatcher.claimed(claimed.length);
    }
    const patient = new Set(claims.flatMap(({ id, isUrgent }) => (isUrgent ? [] : [id])));
    // In one turn: then they share the one look at the gate that none of them may do without.
    for (const message of claimed)
      this.#exchange.begin(this.#settler, message, this.#send, { isPatient: patient.has(message.id) });
    this.#inVain = claims.length > 0 && claimed.length === 0 ? this.#inVain + 1 : 0;
    const begun = claimed.length + (await this.#lookUpsBesides(Math.min(room - claimed.length, maxLookUps)));
    return begun === 0 && this.#inVain > 0 && this.#inVain <= mostInVain ? 1 : begun;
  }

  readonly #listDue: ListDue = (most, mostOfBacklog, isForAll = false) => {
    const list: ListDue = (...wider) => listDue(this.context, wider, this.options.scope, this.#claims.resends);
    // A list for all nodes sees to it by itself that they do not reach for the same.
    const membership = isForAll ? null : this.lease.membership;
    return membership?.part([most, mostOfBacklog], list) ?? list(most, mostOfBacklog);
  };

  /** Called when its turn comes, so that what waits is little. */
  readonly #send = (message: ClaimedMessage, { isProbe = false, isPatient = false }: Manner) => {
    const { entity, operation, idempotencyKey, method, body, keyField } = message;
    const { record, total, boundServiceId: serviceId } = message;
    const gate = this.#gate.of('deliver', isProbe, message);
    // If the first answer was odd as well, the settings are wrong, and a person has to hear of it.
    const isRepeated = message.wasSent === 1 && message.invalidAnswers === 0;
    const frozen = { idempotencyKey, method, body, keyField, record, total, serviceId, isRepeated };
    return this.client.send({ entity, operation, ...frozen, gate, isProbe, priority: isPatient ? -1 : 0 });
  };

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
      // If the oldest of the new ones are those at which it fails, the latest may not be.
      const which = kind === 'pending' && probe % 2 === 1 ? 'last untried' : 'first';
      const id = await store.read('look for a message to probe with', (tx) =>
        probeMessageId(tx, kind, which, this.options.scope, this.#claims.resends),
      );
      const [message] = await this.#claims.claim(id === null ? [] : [id], 'ever');
      if (!message) continue;
      this.#exchange.begin(this.#settler, message, this.#send, { isProbe: true });
      return 1;
    }
    return 0;
  }
}
