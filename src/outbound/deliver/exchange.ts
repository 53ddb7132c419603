import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import type { Sent } from '../../service/service-client.js';
import { LeaseLost } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import type { LaneOutcome } from './lane-effects.js';
import type { SendGate } from './send-gate.js';
import type { ServiceLease } from './service-lease.js';

/** One request that came to its end. */
export interface Ended<About, Answer> {
  /** What it was about, with its attempt on record. */
  about: About;
  sent: Sent<Answer>;
  isProbe: boolean;
}

/** What follows from the outcomes of one kind of request: a write, a look-up or a read. */
export interface Settler<About = unknown, Answer = unknown> {
  /**
   * Ends the attempts and writes all that follows, in the transaction that checked the epoch. It may run again when the
   * database asks for that.
   */
  settle(tx: Tx, ended: readonly Ended<About, Answer>[], at: number): Promise<Settled>;
}

export interface Settled {
  /** What it means for everything behind these requests. */
  heard: LaneOutcome[];
  /** Called after the commit. */
  committed?: () => void;
}

/** How a request goes out: to see whether the service is back; or as one of a backlog that lets everything else pass. */
export interface Manner {
  isProbe?: boolean;
  isPatient?: boolean;
}

interface Outcome {
  settler: Settler;
  ended: Ended<unknown, unknown>;
}

const maxBatch = 300;
/** A moment in which outcomes gather, so that one commit carries several. */
const gatherMs = 5;

/**
 * The one way of every request to the service. Its attempt is on record before; then gate → slot → send → verdict (all in
 * `ServiceClient`), and one transaction for the outcome, the audit and the effects on the lanes. Delivery has many under
 * way and settles them in batches (`begin`); a read is settled by itself, at once (`run`).
 */
export class Exchange {
  readonly #underWay = new Set<Promise<void>>();
  #patient = 0;
  #oneEnded: () => void = () => undefined;
  #waiting: Outcome[] = [];
  #flushing: Promise<void> | null = null;

  constructor(
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    private readonly gate: SendGate,
  ) {}

  /** Requests that were sent and have not ended. */
  get count(): number {
    return this.#underWay.size;
  }

  /** Those of the backlog that let everything else pass. */
  get patient(): number {
    return this.#patient;
  }

  async allEnded(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** Resolves when the next one ends. Not a race of all: each that ends would cost as many reactions as there are others. */
  oneEnds(): Promise<void> {
    return new Promise((resolve) => {
      this.#oneEnded = resolve;
    });
  }

  /** Sends, and hands the outcome over to the next batch. */
  begin<About, Answer extends { kind: string }>(
    settler: Settler<About, Answer>,
    about: About,
    send: () => Promise<Sent<Answer>>,
    { isProbe = false, isPatient = false }: Manner,
  ): void {
    if (isPatient) this.#patient++;
    const ending = this.#send(send)
      .then((sent) => {
        if (sent.startedAtMs !== null) killPoint('after-answer');
        this.#add({ settler: settler as Settler, ended: { about, sent, isProbe } });
        // The very next request heeds a "slow down" or a refusal, not the one after the next commit.
        const { kind } = sent.verdict;
        if (kind !== 'delivered' && kind !== 'not_sent') this.gate.holdUntil(this.flushed());
      })
      .finally(() => {
        if (isPatient) this.#patient--;
        this.#underWay.delete(ending);
        this.#oneEnded();
      });
    this.#underWay.add(ending);
  }

  /** Sends, and puts the outcome on record. @throws LeaseLost, and when the store fails */
  async run<About, Answer extends { kind: string }>(
    settler: Settler<About, Answer>,
    about: About,
    send: () => Promise<Sent<Answer>>,
    { isProbe = false }: Manner,
  ): Promise<Sent<Answer>> {
    const sent = await this.#send(send);
    await this.#settle([{ settler: settler as Settler, ended: { about, sent, isProbe } }]);
    return sent;
  }

  /** Resolves when every outcome so far is on record. */
  async flushed(): Promise<void> {
    while (this.#flushing) await this.#flushing;
  }

  /** Never throws: whatever goes wrong unforeseen, the request may have left, and its outcome goes on record. */
  async #send<Answer>(send: () => Promise<Sent<Answer>>): Promise<Sent<Answer>> {
    const startedAtMs = this.context.nowMs();
    return send().catch((error: Error) => {
      this.context.log.error('A request failed in an unforeseen way', { error: error.message });
      const verdict = { kind: 'in_doubt' as const, reason: error.message };
      return { verdict, startedAtMs, durationMs: null, status: null, requestId: null, excerpt: null };
    });
  }

  #add(outcome: Outcome): void {
    this.#waiting.push(outcome);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = null;
    });
    // The loop sees the failure in flushed(); without this line Node would call it unhandled first.
    this.#flushing.catch(() => undefined);
  }

  async #flush(): Promise<void> {
    const { clock, log } = this.context;
    await clock.sleep(gatherMs);
    while (this.#waiting.length > 0 && !this.lease.lost) {
      const batch = this.#waiting.slice(0, maxBatch);
      try {
        await this.#settle(batch);
      } catch (error) {
        if (error instanceof LeaseLost) {
          this.lease.markLost();
          break;
        }
        // The outcomes are in memory only: try as long as the lease is ours. Later the successor calls them "in doubt".
        if (clock.monotonicMs() > this.lease.lease.endsAtMonotonicMs) throw error;
        log.error('Outcomes could not be put on record; trying again', { error: (error as Error).message });
        await clock.sleep(500);
        continue;
      }
      this.#waiting.splice(0, batch.length);
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
      this.lease.write('put outcomes on record', async (tx) => {
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
