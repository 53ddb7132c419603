import type { Fact } from '../../model/facts/fact.js';
import type { JobContext } from '../../ops/job-context.js';
import { type LanePause, type PauseRow, pauseColumns, pauseOf } from '../../store/lane-pauses.js';
import type { Lease } from '../../store/lease.js';
import type { Tx } from '../../store/store.js';
import { recoveryProblem } from '../recovery/store-witness.js';
import { goLiveProblem } from './go-live.js';
import type { ServiceLease } from './service-lease.js';

/** The store's answer to a request that wants to leave. */
export interface GateState {
  pauses: readonly LanePause[];
  /** Why a production service may not be written to, or null. */
  notLive: Fact | null;
  /** The lease is still this process's own. A machine that was suspended does not notice by its own clocks that time has passed. */
  isHeld: boolean;
}

/**
 * Pauses, the store's own facts that go-live depends on, and the lease: one statement, because it is asked for each
 * request.
 */
async function readGateRows(
  tx: Tx,
  { name, epoch }: Pick<Lease, 'name' | 'epoch'>,
): Promise<{ pauses: LanePause[]; facts: string; isHeld: boolean }> {
  type GateRow = ({ what: 'pause' } & PauseRow) | { what: 'fact' | 'lease'; name: string; value: string };
  const rows = await tx.select<GateRow>(
    `SELECT 'pause' AS what, NULL AS name, NULL AS value, ${pauseColumns} FROM lane_pause
      UNION ALL SELECT 'fact', name, value, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM store_info
       WHERE name IN ('recovery', 'go_live', 'source_keys.customer', 'source_keys.order')
      UNION ALL SELECT 'lease', name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM lease
       WHERE name=? AND epoch=? AND holder IS NOT NULL`,
    [name, epoch],
  );
  const facts = rows.flatMap((row) => (row.what === 'fact' ? `${row.name}=${row.value}` : []));
  const pauses = rows.flatMap((row) => (row.what === 'pause' ? pauseOf(row) : []));
  const isHeld = rows.some(({ what }) => what === 'lease');
  return { pauses: pauses.sort((a, b) => a.since_at - b.since_at), facts: facts.sort().join('\n'), isHeld };
}

/** The store's answer, and the time of the question. */
export interface Answer {
  state: GateState;
  askedAtMs: number;
}

/** For so long the store's answer counts for requests that ask. */
export const answerCountsMs = 20;
/** An answer that took longer to come is old, and a request asks once more. `pauseJobs` returns only after it: then none passes any more. */
export const oldAnswerMs = 250;

/** The store's answers: requests that ask without one that counts share the one read that begins after it, one at a time. */
export class GateAnswers {
  #reading: Promise<unknown> = Promise.resolve();
  #next: Promise<Answer> | null = null;
  /** The last answer. */
  #known: (Answer & { lanes: number }) | null = null;
  /** The number of times that the answer was to be forgotten. */
  #forgotten = 0;
  /** The store's last answer that it is live, and it was. */
  #liveBy: string | null = null;

  /** @param liveErp the ERP that has to be live before anything is written; null: reads and trials need no go-live */
  constructor(
    private readonly context: JobContext,
    private readonly lease: ServiceLease,
    private readonly liveErp: string | null,
  ) {}

  /** From now on only what the store is asked after this counts. */
  forget(): void {
    this.#known = null;
    this.#forgotten++;
  }

  /** The last answer, if it still counts. */
  get recent(): Answer | null {
    const { context, lease } = this;
    if (this.#known === null || this.#known.lanes !== lease.lane.changes) return null;
    return context.clock.monotonicMs() - this.#known.askedAtMs < answerCountsMs ? this.#known : null;
  }

  /** The store's answer now. */
  ask(): Promise<Answer> {
    this.#next ??= this.#reading.then(() => {
      this.#next = null;
      const read = this.#read();
      this.#reading = read.catch(() => undefined);
      return read;
    });
    return this.#next;
  }

  async #read(): Promise<Answer> {
    const forgotten = this.#forgotten;
    const lanes = this.lease.lane.changes;
    const { store, clock } = this.context;
    const answer = await store.read('read the pauses', async (tx) => {
      // Not before: waiting for a session makes no answer older.
      const askedAtMs = clock.monotonicMs();
      return { askedAtMs, state: await this.#readState(tx) };
    });
    if (forgotten === this.#forgotten) this.#known = { ...answer, lanes };
    return answer;
  }

  async #readState(tx: Tx): Promise<GateState> {
    const { pauses, facts, isHeld } = await readGateRows(tx, this.lease.lease);
    if (facts === this.#liveBy) return { pauses, notLive: null, isHeld };
    // A trial needs no go-live. But a store that lost what it knew may send nothing at all.
    const { liveErp } = this;
    const notLive =
      liveErp === null ? await recoveryProblem(tx) : await goLiveProblem(tx, this.context.settings, liveErp);
    this.#liveBy = notLive === null ? facts : null;
    return { pauses, notLive, isHeld };
  }
}
