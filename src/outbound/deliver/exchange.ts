import type { Fact } from '../../model/facts/fact.js';
import { outside } from '../../model/outside.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { type RequestEnded, requestEnded } from '../../ops/request-ended.js';
import { concurrencyOf } from '../../service/rate-limit/sliding-slots.js';
import type { Sent } from '../../service/service-client.js';
import { noReason } from '../../store/clock.js';
import { LeaseLost } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import type { LaneOutcome } from './lane-effects.js';
import type { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';

/** One request that came to its end. */
export interface Ended<About, Answer> {
  /** The subject of the exchange, with its attempt on record. */
  about: About;
  sent: Sent<Answer>;
  isProbe: boolean;
}

/** The consequences of the outcomes of one kind of request: a write, a look-up or a read. */
export interface Settler<About = unknown, Answer = unknown> {
  /** The purpose of such a request, as its attempt says it. */
  purposeOf(about: About): string;
  /**
   * Ends the attempts and writes all that follows, in the transaction that checked the epoch. It may run again when the
   * database asks for that.
   */
  settle(tx: Tx, ended: readonly Ended<About, Answer>[], at: number): Promise<Settled>;
}

export interface Settled {
  /** The consequences for everything behind these requests. */
  heard: LaneOutcome[];
  /** Called after the commit. */
  committed?: () => void;
}

/** The way in which a request goes out: to see if the service is back; or as one of a backlog that lets everything else pass. */
export interface Manner {
  isProbe?: boolean;
  isPatient?: boolean;
}

/** A request that is still to be sent. */
interface Begun {
  settler: Settler;
  about: unknown;
  send: (about: unknown, manner: Manner) => Promise<Sent<{ kind: string }>>;
  manner: Manner;
}

/** Requests that begin one after the other, so many at once. */
interface Lane {
  waiting: Begun[];
  sending: number;
}

interface Outcome {
  settler: Settler;
  ended: Ended<unknown, unknown>;
}

/** The number of outcomes at once that shows a drain, which makes garbage faster than little room for it is worth. */
const drainBatch = 10;
/** The number of requests that are begun beyond those that may be under way: begun, each holds some 30 kB until it ends. */
const startedAhead = 8;
/**
 * A moment in which outcomes gather, so that one commit carries many, and what came of one is judged beside the others.
 * Deliveries gather for longer, because nothing waits for them; a kill in between makes them "may have been sent". If a
 * commit takes long, as on a slow disk whose SQLite stops this process meanwhile, they gather for so long that it takes
 * a fraction of the time.
 */
const gatherMs = { least: 5, long: 30, most: 200, settlements: 5 };

/**
 * The one way of every request to the service. Its attempt is on record before; then gate → slot → send → verdict (all in
 * `ServiceClient`), and one transaction for the outcome, the audit and the effects on the lanes. Delivery has many under
 * way and settles them in batches (`begin`); a read is settled by itself, at once (`run`).
 */
export class Exchange {
  #count = 0;
  #allEnded: () => void = () => undefined;
  #patient = 0;
  #ended: (exchange: Pick<Exchange, 'count' | 'unsettled'>) => void = () => undefined;
  #waiting: Outcome[] = [];
  #flushing: Promise<void> | null = null;
  #settlingMs = 0;
  /** Nothing is gathered any more until all is on record. */
  #isHurried = false;
  /** Ends the gathering. */
  #gathering = new AbortController();
  /** Claimed messages wait here before anything is made for their requests; patient ones never stand before the others. */
  readonly #lanes: { usual: Lane; patient: Lane } = {
    usual: { waiting: [], sending: 0 },
    patient: { waiting: [], sending: 0 },
  };
  /** Outcomes of one transaction. */
  readonly #maxBatch: number;
  /** The number that is sent at once: a few more than may be under way, so that the rate limiter always has the next ones. */
  readonly #places: number;

  constructor(
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    private readonly gate: SendGate,
  ) {
    this.#maxBatch = (context.store.dialect.messagesAtOnce * 3) / 4;
    this.#places = concurrencyOf(context.settings.service) + startedAhead;
  }

  /** Requests that were sent and have not ended. */
  get count(): number {
    return this.#count;
  }

  /** Requests that have ended, and whose outcome is not on record yet. */
  get unsettled(): number {
    return this.#waiting.length;
  }

  /** Those of the backlog that let everything else pass. */
  get patient(): number {
    return this.#patient;
  }

  async allEnded(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => (this.#allEnded = resolve));
  }

  /** Told of each request that ends, and when outcomes are on record, until another one is to be told. */
  set onEnd(ended: (exchange: Pick<Exchange, 'count' | 'unsettled'>) => void) {
    this.#ended = ended;
  }

  /** Sends, and hands the outcome over to the next batch. */
  begin<About, Answer extends { kind: string }>(
    settler: Settler<About, Answer>,
    about: About,
    send: (about: About, manner: Manner) => Promise<Sent<Answer>>,
    manner: Manner,
  ): void {
    this.#count++;
    // It was claimed just now, and must heed what was on record by then.
    this.gate.forget();
    if (manner.isPatient) this.#patient++;
    const lane = this.#lanes[manner.isPatient ? 'patient' : 'usual'];
    lane.waiting.push({ settler: settler as Settler, about, send: send as Begun['send'], manner });
    if (lane.sending < this.#places) void this.#sendAll(lane);
  }

  /** Sends what waits, one after the other. Never throws. */
  async #sendAll(lane: Lane): Promise<void> {
    lane.sending++;
    for (let next = lane.waiting.shift(); next; next = lane.waiting.shift()) {
      const { settler, about, send, manner } = next;
      const sent = await this.#send(settler, send, about, manner);
      if (sent.startedAtMs !== null) killPoint('after-answer');
      this.#add({ settler, ended: { about, sent, isProbe: manner.isProbe ?? false } });
      // The very next request heeds a "slow down" or a refusal, not the one after the next commit.
      const { kind } = sent.verdict;
      if (kind !== 'delivered') this.#hurry();
      if (kind !== 'delivered' && kind !== 'not_sent') this.gate.holdUntil(this.flushed());
      if (manner.isPatient) this.#patient--;
      if (--this.#count === 0) this.#allEnded();
      this.#ended(this);
    }
    lane.sending--;
  }

  /** Sends, and puts the outcome on record. @throws LeaseLost, and when the store fails */
  async run<About, Answer extends { kind: string }>(
    settler: Settler<About, Answer>,
    about: About,
    send: () => Promise<Sent<Answer>>,
    { isProbe = false }: Manner,
  ): Promise<Sent<Answer>> {
    const sent = await this.#send(settler, send, about, {});
    await this.#settle([{ settler: settler as Settler, ended: { about, sent, isProbe } }]);
    return sent;
  }

  /** Resolves when every outcome so far is on record. */
  async flushed(): Promise<void> {
    this.#hurry();
    this.resume();
    while (this.#flushing) {
      await this.#flushing;
      this.resume();
    }
  }

  #hurry(): void {
    this.#isHurried = true;
    this.#gathering.abort(noReason);
  }

  /** Never throws: whatever goes wrong unforeseen, the request may have left, and its outcome goes on record. */
  async #send<About, Answer extends { kind: string }>(
    settler: Settler<About, Answer>,
    send: (about: About, manner: Manner) => Promise<Sent<Answer>>,
    about: About,
    manner: Manner,
  ): Promise<Sent<Answer>> {
    const startedAtMs = this.context.nowMs();
    let sent: Sent<Answer>;
    try {
      sent = await send(about, manner);
    } catch (error) {
      const { message } = error as Error;
      this.context.log.error('A request failed in an unforeseen way', { error: message });
      const reason: Fact = { code: 'request_failed', message: outside(message) };
      const verdict = { kind: 'in_doubt' as const, reason };
      sent = { verdict, startedAtMs, durationMs: null, status: null, requestId: null, excerpt: null };
    }
    if (requestEnded.hasSubscribers) {
      const { verdict, durationMs } = sent;
      const ended: RequestEnded = { purpose: settler.purposeOf(about), verdict: verdict.kind, durationMs };
      requestEnded.publish(ended);
    }
    return sent;
  }

  #add(outcome: Outcome): void {
    // A full batch gains nothing by waiting.
    if (this.#waiting.push(outcome) >= this.#maxBatch) this.#gathering.abort(noReason);
    this.resume();
  }

  /** Puts on record what is not. To be called in every turn: a flush that failed has left its outcomes, and may be the last one. */
  resume(): void {
    if (this.#flushing || this.#waiting.length === 0 || this.lease.lost) return;
    this.#flushing = this.#flush().finally(() => {
      this.#flushing = null;
      this.context.thread.inDrain(false);
    });
    // The loop sees the failure in flushed(); without this line Node would call it unhandled first. Once: a drain is one long flush.
    this.#flushing.catch(() => undefined);
  }

  async #flush(): Promise<void> {
    const { clock, log } = this.context;
    this.#isHurried = false;
    while (this.#waiting.length > 0 && !this.lease.lost) {
      if (this.#waiting.length < this.#maxBatch) {
        const longMs = Math.min(gatherMs.most, Math.max(gatherMs.long, this.#settlingMs * gatherMs.settlements));
        await clock.sleep(gatherMs.least);
        this.#gathering = new AbortController();
        const mayGather = !this.#isHurried && this.#waiting.length < this.#maxBatch;
        if (mayGather) await clock.sleep(longMs - gatherMs.least, this.#gathering.signal);
      }
      await this.context.thread.turn();
      const batch = this.#waiting.slice(0, this.#maxBatch);
      const begunAtMs = clock.monotonicMs();
      try {
        await this.#settle(batch);
      } catch (error) {
        if (error instanceof LeaseLost) {
          this.lease.markLost();
          break;
        }
        log.error('Outcomes could not be put on record; trying again', { error: (error as Error).message });
        // The outcomes are in memory only: try as long as the lease is ours. Later the successor calls them "in doubt".
        if (clock.monotonicMs() > this.lease.lease.endsAtMonotonicMs) throw error;
        await clock.sleep(500);
        continue;
      }
      this.#waiting.splice(0, batch.length);
      this.#ended(this);
      this.#settlingMs = clock.monotonicMs() - begunAtMs;
      this.context.thread.inDrain(batch.length >= drainBatch);
    }
  }

  /** The one transaction. */
  async #settle(batch: readonly Outcome[]): Promise<void> {
    const bySettler = new Map<Settler, Ended<unknown, unknown>[]>();
    for (const { settler, ended } of batch) {
      const some = bySettler.get(settler);
      if (some) some.push(ended);
      else bySettler.set(settler, [ended]);
    }
    const all = await this.lease.lane.inTurn((heed) =>
      this.lease.writeBeside('put outcomes on record', async (tx) => {
        const at = this.context.nowMs();
        const settled: Settled[] = [];
        for (const [settler, ended] of bySettler) settled.push(await settler.settle(tx, ended, at));
        await heed(
          tx,
          settled.flatMap(({ heard }) => heard),
          at,
        );
        return settled;
      }),
    );
    for (const { committed } of all) committed?.();
  }
}
