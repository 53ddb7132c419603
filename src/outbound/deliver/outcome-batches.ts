import type { JobContext } from '../../ops/job-context.js';
import type { Sent } from '../../service/service-client.js';
import { noReason } from '../../store/clock.js';
import { LeaseLost } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import type { LaneOutcome } from './lane-effects.js';
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

/** A request that came to its end, and who knows what follows. */
export interface Outcome {
  settler: Settler;
  ended: Ended<unknown, unknown>;
}

/** The number of outcomes at once that shows a drain, which makes garbage faster than little room for it is worth. */
const drainBatch = 10;
/**
 * A moment in which outcomes gather, so that one commit carries many, and what came of one is judged beside the others.
 * Deliveries gather for longer, because nothing waits for them; a kill in between makes them "may have been sent". If a
 * commit takes long, as on a slow disk whose SQLite stops this process meanwhile, they gather for so long that it takes
 * a fraction of the time.
 */
const gatherMs = { least: 5, long: 30, most: 200, settlements: 5 };

/** Puts outcomes on record: those of a moment in one transaction. */
export class OutcomeBatches {
  #waiting: Outcome[] = [];
  #flushing: Promise<void> | null = null;
  #settlingMs = 0;
  /** Nothing is gathered any more until all is on record. */
  #isHurried = false;
  /** Ends the gathering. */
  #gathering = new AbortController();
  /** Outcomes of one transaction. */
  readonly #maxBatch: number;

  /** @param onRecord called whenever outcomes are on record */
  constructor(
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    private readonly onRecord: () => void,
  ) {
    this.#maxBatch = (context.store.dialect.messagesAtOnce * 3) / 4;
  }

  /** Outcomes that are not on record yet. */
  get count(): number {
    return this.#waiting.length;
  }

  add(outcome: Outcome): void {
    // A full batch gains nothing by waiting.
    if (this.#waiting.push(outcome) >= this.#maxBatch) this.#gathering.abort(noReason);
    this.resume();
  }

  /** Resolves when every outcome so far is on record. */
  async flushed(): Promise<void> {
    this.hurry();
    this.resume();
    while (this.#flushing) {
      await this.#flushing;
      this.resume();
    }
  }

  /** Gathers nothing more until all is on record. */
  hurry(): void {
    this.#isHurried = true;
    this.#gathering.abort(noReason);
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
        await this.settle(batch);
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
      this.onRecord();
      this.#settlingMs = clock.monotonicMs() - begunAtMs;
      this.context.thread.inDrain(batch.length >= drainBatch);
    }
  }

  /** Puts these on record in one transaction. @throws LeaseLost, and when the store fails */
  async settle(batch: readonly Outcome[]): Promise<void> {
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
