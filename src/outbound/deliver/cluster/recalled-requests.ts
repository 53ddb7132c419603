import type { JobContext } from '../../../ops/job-context.js';
import type { RateLimit } from '../../../service/rate-limit/sliding-slots.js';
import type { NodeRow } from '../../../store/lease-rows.js';
import type { Tx } from '../../../store/store.js';
import { recallAnswers } from '../lane-keeper.js';

/** The requests of nodes and deliverers that are gone, from the record, as long as a long limit still counts them. */
export class RecalledRequests {
  #alive = '';
  /** A time of the monotonic clock. */
  #answeredAtMs: readonly number[] = [];

  constructor(private readonly context: JobContext) {}

  /** The number that this limit still counts. @param alive the nodes at work, whose requests are not among them */
  async count(tx: Tx, { windowMs }: RateLimit, alive: readonly NodeRow[]): Promise<number> {
    const epochs = alive.map(({ epoch }) => epoch);
    const now = () => this.context.clock.monotonicMs();
    if (this.#alive !== epochs.join()) {
      const agesMs = await recallAnswers(tx, this.context, new Set(epochs));
      const recalledAtMs = now();
      this.#alive = epochs.join();
      this.#answeredAtMs = agesMs.map((age) => recalledAtMs - age);
    }
    const from = now() - windowMs;
    return this.#answeredAtMs.filter((at) => at > from).length;
  }
}
