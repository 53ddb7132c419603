import type { Writable } from 'node:stream';
import { countAuditSince } from '../audit/read-audit.js';
import type { JobContext } from '../ops/job-context.js';

/** The interval at which the store is asked for news: once for all pages that are open. */
const everyMs = 5_000;
/** Each open page is one; a browser that is turned away tries again. */
const mostOpen = 64;
/** Then the browser comes again, and has to be signed in still. */
const longestMs = 600_000;
const mostCounted = 1_000;

/** Tells open pages how much has happened since they were made. They are not changed under the reader's eyes. */
export class Live {
  readonly #open = new Map<Writable, { since: number; endsAtMs: number }>();
  #timer: NodeJS.Timeout | null = null;
  #isTelling = false;

  constructor(
    private readonly context: JobContext,
    private readonly time: (ms: number) => string,
  ) {}

  /** @returns false: too many are open */
  add(response: Writable, since: number): boolean {
    if (this.#open.size >= mostOpen) return false;
    this.#open.set(response, { since, endsAtMs: this.context.nowMs() + longestMs });
    response.on('close', () => this.#remove(response));
    response.write('retry: 5000\n\n');
    this.#timer ??= setInterval(() => void this.tell(), everyMs).unref();
    void this.tell();
    return true;
  }

  close(): void {
    for (const response of this.#open.keys()) response.end();
    this.#open.clear();
    this.#stop();
  }

  /** Counts for each page what is on record since. A store that cannot be read is told as nothing at all: the page grows stale. */
  async tell(): Promise<void> {
    if (this.#isTelling || this.#open.size === 0) return;
    this.#isTelling = true;
    try {
      const { store, nowMs } = this.context;
      const asked = new Set([...this.#open.values()].map(({ since }) => since));
      const counts = await store.read('look whether anything has happened', async (tx) => {
        const found = new Map<number, number>();
        for (const since of asked) found.set(since, await countAuditSince(tx, since, mostCounted));
        return found;
      });
      for (const [response, { since, endsAtMs }] of this.#open) {
        const count = counts.get(since);
        if (nowMs() >= endsAtMs) response.end();
        else if (count !== undefined)
          response.write(
            `data: ${JSON.stringify({ count, isMore: count >= mostCounted, at: this.time(nowMs()) })}\n\n`,
          );
      }
    } catch {
      // The next look tries again.
    } finally {
      this.#isTelling = false;
    }
  }

  #remove(response: Writable): void {
    this.#open.delete(response);
    if (this.#open.size === 0) this.#stop();
  }

  #stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }
}
