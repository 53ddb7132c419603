import type { JobContext } from '../../ops/job-context.js';
import { type Horizon, horizonOf, lookAtClocks, type PassedTime } from '../../store/elapsed-time.js';
import { placeholders, upsertRows } from '../../store/rows.js';
import type { Tx } from '../../store/store.js';
import { readStoreInfo, writeStoreInfo } from '../../store/store-info.js';
import { quotaLeft, spendQuota } from '../prune-quota.js';
import { type Counted, type EndedFigure, endedBetween, onRecord } from './attempt-figures.js';
import { readBacklog } from './bounded-counts.js';
import { bucketWidths, readBuckets, type Width } from './read-figures.js';
import { addBuckets, type Bucket, emptyBucket, gather, spanEndsS } from './series.js';

/** Attempts, and lines of the audit, at a time: few enough that nothing waits for it. */
const mostAtOnce = 5_000;
/** The rest is counted a minute later. */
const mostTurns = 40;
const mostCounted = 100_000;
/** For how long hours are kept. */
const hourDays = bucketWidths.hour.keptMs / 86_400_000;

/** Adds what was done since the last time to the figures, with the backlog of now. Asked for once a minute. */
export async function recordFigures(context: JobContext): Promise<void> {
  for (let turn = 0; turn < mostTurns; turn++) if (!(await recordSome(context, turn === 0))) return;
}

/** @returns whether more is to be counted */
async function recordSome(context: JobContext, looksAtBacklog: boolean): Promise<boolean> {
  const { store } = context;
  const nowMs = context.nowMs();
  const found = await store.read('count what was done', async (tx) => {
    const known = await readStoreInfo(tx, 'figures');
    const counted = parseCounted(known);
    const last = await onRecord(tx, nowMs, counted ?? undefined);
    // A store that began to count only now, or that was replaced by an older copy, has no past to add.
    const after = { ...last };
    const upTo = { ...last };
    for (const of of ['attemptId', 'lineId'] as const) {
      after[of] = Math.min(counted?.[of] ?? last[of], last[of]);
      upTo[of] = Math.min(after[of] + mostAtOnce, last[of]);
    }
    return {
      known,
      upTo,
      hasMore: upTo.attemptId < last.attemptId || upTo.lineId < last.lineId,
      figures: await endedBetween(tx, after, upTo),
      backlog: looksAtBacklog ? await readBacklog(tx, mostCounted) : null,
    };
  });
  const buckets = gather(
    found.figures.map((one) => bucketOf(one, nowMs)),
    (at) => at,
  );
  if (found.backlog) {
    const { waiting, oldestAt } = found.backlog;
    const oldestS = oldestAt === null ? 0 : Math.max(0, Math.round((nowMs - oldestAt) / 1_000));
    buckets.push({ ...emptyBucket(nowMs), waiting, oldestS });
  }
  await store.transaction('write the figures', async (tx) => {
    // Another process may have counted the same attempts.
    if ((await readStoreInfo(tx, 'figures', true)) !== found.known) return;
    const time = await lookAtClocks(tx, context);
    for (const width of ['minute', 'hour'] as const) await addTo(tx, width, buckets, time);
    await writeStoreInfo(tx, 'figures', JSON.stringify(found.upTo));
  });
  return found.hasMore;
}

function parseCounted(text: string | null): Counted | null {
  return text === null ? null : (JSON.parse(text) as Counted);
}

/** A clock that was set must not put anything behind or far before the figures. */
function bucketOf(figure: EndedFigure, nowMs: number): Bucket {
  const { at, delivered, notDelivered, requests, spanNth } = figure;
  const bucket = { ...emptyBucket(Math.min(at, nowMs)), delivered, notDelivered, requests };
  if (delivered > 0 && spanNth !== null) bucket.spans[Math.min(spanNth, spanEndsS.length)] = delivered;
  return bucket;
}

async function addTo(tx: Tx, width: Width, added: readonly Bucket[], time: PassedTime): Promise<void> {
  const { ms, keptMs } = bucketWidths[width];
  const oldest = horizonOf(time, keptMs / 86_400_000);
  const fresh = gather(added, (at) => at - (at % ms)).filter(({ at }) => at >= oldest);
  const [first, last] = [fresh[0], fresh.at(-1)];
  if (first && last) {
    const known = new Map((await readBuckets(tx, width, first.at, last.at)).map((one) => [one.at, one]));
    const rows = fresh.map((one) => addBuckets(known.get(one.at) ?? emptyBucket(one.at), one));
    await upsertRows(
      tx,
      'figure',
      ['width', 'at'],
      rows.map(({ spans, ...rest }) => ({ width, ...rest, spans: spans.join(',') })),
    );
  }
  await removeFigures(tx, width, { oldest, newestMs: time.latestMs + ms }, time);
}

/** Removes what is too old, and what a clock that ran ahead has left; both only as far as all clocks of a day agree. */
async function removeFigures(
  tx: Tx,
  width: Width,
  { oldest, newestMs }: { oldest: Horizon; newestMs: number },
  { elapsed }: PassedTime,
): Promise<void> {
  const where = 'width=? AND (at<? OR at>?)';
  const over = Number(
    await tx.value<number>(`SELECT COUNT(*) AS n FROM figure WHERE ${where}`, [width, oldest, newestMs]),
  );
  if (over === 0) return;
  // Minutes are kept for a day: a share of them would be no limit.
  const left = width === 'minute' ? over : await quotaLeft(tx, 'figure', hourDays, elapsed);
  const most = Math.min(over, left);
  const rows = await tx.rows<{ at: number }>(`SELECT at FROM figure WHERE ${where} ORDER BY at LIMIT ${most}`, [
    width,
    oldest,
    newestMs,
  ]);
  const removed = rows.map(({ at }) => at);
  if (removed.length === 0) return;
  await tx.run(`DELETE FROM figure WHERE width=? AND at IN ${placeholders(removed.length)}`, [width, ...removed]);
  await spendQuota(tx, 'figure', removed.length);
}
