import type { EventEmitter } from 'node:events';
import { sourceNames } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { noReason } from '../../store/clock.js';
import { type Ask, asks } from '../../store/job-runs.js';
import { placeholders } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';

/**
 * Tells if the time of any message comes until `dueBy`, ready or not: a few looks into one index. In the same statement
 * what else a daemon looks for all the time. @returns `dueAt`: the time of one of these messages, not always the first;
 * null: there is none
 */
export async function lookForWork(
  tx: Tx,
  dueBy: number,
  sources: readonly string[],
): Promise<{ dueAt: number | null; asks: Ask[] }> {
  const rows = await tx.rows<{ ask: Ask; at: 0 } | { ask: 'due'; at: number }>(
    `${asks} UNION ALL SELECT 'due', next_attempt_at FROM
       (SELECT next_attempt_at FROM outbox_message
         WHERE state IN ('pending','in_doubt') AND entity IN ('customer','order') AND source IN ${placeholders(sources.length)}
           AND is_backlog IN (0,1) AND next_attempt_at<=? LIMIT 1) AS d`,
    [...sources, dueBy],
  );
  return {
    dueAt: rows.find(({ ask }) => ask === 'due')?.at ?? null,
    asks: rows.flatMap(({ ask }) => (ask === 'due' ? [] : [ask])),
  };
}

/** While nothing is due, delivery looks at everything once in so long: pauses, clocks, keys that the service may have forgotten. */
const fullLookMs = 60_000;
/** And so often whether another process has written something that is due, or asks for something. */
const lookMs = 2_000;

type UnderWay = { readonly count: number; readonly unsettled: number };

/** Delivery's waits: for requests to end, for its time, or for news. */
export class Waits {
  /** The number of announcements of something new. */
  news = 0;
  /** The last wait was as long a rest as there may be, and nothing came due. */
  nothingDue = false;
  #isResting = false;
  /** Ends the wait. */
  end: () => void = () => undefined;

  constructor(
    private readonly context: Pick<JobContext, 'store' | 'clock' | 'nowMs' | 'settings'>,
    private readonly exchange: { readonly count: number; onEnd: (exchange: UnderWay) => void },
    private readonly told: { signal?: AbortSignal; news?: EventEmitter },
  ) {
    told.news?.on('due', this.#hear);
  }

  /**
   * Waits so long, or until no more requests than this are under way, or as many with those that wait to be put on
   * record, or to stop.
   */
  async until(ms: number, untilCount = this.exchange.count - 1, untilAll = -1): Promise<null> {
    this.nothingDue = false;
    const over = new AbortController();
    this.end = () => over.abort(noReason);
    this.exchange.onEnd = ({ count, unsettled }) => {
      if (count <= untilCount || count + unsettled <= untilAll) over.abort(noReason);
    };
    if (this.told.signal?.aborted) over.abort(noReason);
    await this.context.clock.sleep(ms, over.signal);
    return null;
  }

  /**
   * Until something is due; a minute, or until `wakeAt`, at most. One statement a look, whose `asks` are handed on as news; null
   * says that it has stopped looking.
   * @param pauseMs what is due now was just looked through in vain, and is left alone for so long, unless there were news since `news`
   */
  async rest(pauseMs: number, news: number, wakeAt: number | null, isDisturbed: () => boolean): Promise<null> {
    const { store, clock, nowMs, settings } = this.context;
    const sources = sourceNames(settings);
    const begunAtMs = clock.monotonicMs();
    const lookedThroughAt = nowMs();
    const leftOf = (ms: number) => begunAtMs + ms - clock.monotonicMs();
    const restMs = Math.min(fullLookMs, (wakeAt ?? Number.POSITIVE_INFINITY) - nowMs());
    this.nothingDue = false;
    this.#isResting = true;
    try {
      while (leftOf(restMs) > 0) {
        if (this.told.signal?.aborted || isDisturbed()) return null;
        const heard = this.news;
        const { dueAt, asks } = await store.read('look for work', (tx) => lookForWork(tx, nowMs() + lookMs, sources));
        this.told.news?.emit('asks', asks);
        const isInVain = dueAt !== null && dueAt <= lookedThroughAt && heard === news;
        const dueInMs = isInVain ? leftOf(pauseMs) : (dueAt ?? Number.POSITIVE_INFINITY) - nowMs();
        if (dueInMs <= 0) return null;
        // News that came meanwhile is looked for at once.
        if (this.news === heard) await this.until(Math.min(lookMs, dueInMs, leftOf(restMs)));
      }
      this.nothingDue = restMs === fullLookMs;
      return null;
    } finally {
      this.#isResting = false;
      if (!this.told.signal?.aborted) this.told.news?.emit('asks', null);
    }
  }

  close(): void {
    this.told.news?.off('due', this.#hear);
  }

  readonly #hear = () => {
    this.news++;
    if (this.#isResting) this.end();
  };
}
