import type { Fact } from '../../model/facts/fact.js';
import { outside } from '../../model/outside.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import { type RequestEnded, requestEnded } from '../../ops/request-ended.js';
import { concurrencyOf } from '../../service/rate-limit/sliding-slots.js';
import type { Sent } from '../../service/service-client.js';
import { OutcomeBatches, type Settler } from './outcome-batches.js';
import type { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';

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

/** The number of requests that are begun beyond those that may be under way: begun, each holds some 30 kB until it ends. */
const startedAhead = 8;
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
  /** Claimed messages wait here before anything is made for their requests; patient ones never stand before the others. */
  readonly #lanes: { usual: Lane; patient: Lane } = {
    usual: { waiting: [], sending: 0 },
    patient: { waiting: [], sending: 0 },
  };
  /** Requests that have ended, until their outcomes are on record. */
  readonly outcomes: OutcomeBatches;
  /** The number that is sent at once: a few more than may be under way, so that the rate limiter always has the next ones. */
  readonly #places: number;

  constructor(
    private readonly context: JobContext,
    lease: ServiceLease,
    private readonly gate: SendGate,
  ) {
    this.outcomes = new OutcomeBatches(context, lease, () => this.#ended(this));
    this.#places = concurrencyOf(context.settings.service) + startedAhead;
  }

  /** Requests that were sent and have not ended. */
  get count(): number {
    return this.#count;
  }

  /** Requests that have ended, and whose outcome is not on record yet. */
  get unsettled(): number {
    return this.outcomes.count;
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
      this.outcomes.add({ settler, ended: { about, sent, isProbe: manner.isProbe ?? false } });
      // The very next request heeds a "slow down" or a refusal, not the one after the next commit.
      const { kind } = sent.verdict;
      if (kind !== 'delivered') this.outcomes.hurry();
      if (kind !== 'delivered' && kind !== 'not_sent') this.gate.holdUntil(this.outcomes.flushed());
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
    await this.outcomes.settle([{ settler: settler as Settler, ended: { about, sent, isProbe } }]);
    return sent;
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
}
