import { randomBytes } from 'node:crypto';
import type { Outcome, Preview } from '../../operator/actions/action.js';
import type { ActionName } from '../../operator/actions/actions.js';

/** A preview that a person was shown, until they answer. */
export interface KeptPreview {
  name: ActionName;
  /** Another person can't carry it out. */
  person: string;
  preview: Preview;
  /** null: it is not about money. */
  totals: Map<string, bigint> | null;
  /** Once it was begun; so that sending a form twice does it once. */
  run: Promise<Outcome & { reason: string }> | null;
}

/** A preview of 10,000 messages takes a megabyte. */
const mostKept = 20;
const keptMs = 3_600_000;

/** Previews in memory alone: after a restart people look again. */
export class KeptPreviews {
  readonly #kept = new Map<string, KeptPreview & { madeAtMs: number }>();

  constructor(private readonly nowMs: () => number) {}

  keep(preview: Omit<KeptPreview, 'run'>): string {
    const id = randomBytes(16).toString('base64url');
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= mostKept && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(id, { ...preview, madeAtMs: this.nowMs(), run: null });
    return id;
  }

  /** null: it is not this person’s, or not kept any more. */
  find(id: string, person: string): KeptPreview | null {
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.person !== person) return null;
    return this.nowMs() - kept.madeAtMs < keptMs ? kept : null;
  }
}
