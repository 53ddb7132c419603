import type { Fact } from '../../../model/facts/fact.js';

/** From so many readings in a row on that failed, another node leads. One that is refused would be again. */
const mostFailures = 3;
/** After so long a node may lead again: what was wrong may be over, and it reads nothing meanwhile. */
const forgetMs = 600_000;

/** Tells whether this node can read the ERP, as far as the readings that it did itself say so. Times are monotonic. */
export class CaptureFailures {
  readonly #inRow = new Map<string, number>();
  #failure: { reason: Fact; untilMs: number } | null = null;

  /** @param job the capture of a source; @param failure null: it succeeded */
  note(job: string, failure: Fact | null, atMs: number): void {
    if (failure === null) {
      this.#inRow.delete(job);
      if (this.#inRow.size === 0) this.#failure = null;
      return;
    }
    const failures = (this.#inRow.get(job) ?? 0) + 1;
    this.#inRow.set(job, failures);
    if (failures >= mostFailures || failure.code === 'capture_refused')
      this.#failure = { reason: failure, untilMs: atMs + forgetMs };
  }

  /** Why it cannot lead, or null. */
  failure(atMs: number): Fact | null {
    if (this.#failure !== null && atMs >= this.#failure.untilMs) {
      this.#failure = null;
      this.#inRow.clear();
    }
    return this.#failure?.reason ?? null;
  }
}
