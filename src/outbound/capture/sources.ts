import type { Settings } from '../../config/settings.js';
import type { ErpReader } from '../../erp/erp-reader.js';
import { outside } from '../../model/outside.js';
import { settingsOf, sourceNames, sourceOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { capturedSources } from '../../store/job-runs.js';
import type { Tx } from '../../store/store.js';
import { type CaptureOptions, type CaptureResult, emptyCaptureResult } from './capture-result.js';

type Capture = (context: JobContext, reader: ErpReader, options: CaptureOptions) => Promise<CaptureResult>;

/**
 * Runs a pass over each source: with its own reader, and the settings as it sees them. A source that fails does not keep the next
 * one from its turn.
 * @throws what the last one threw, where each fails
 */
export async function overSources(
  context: JobContext,
  bySource: ReadonlyMap<string, ErpReader>,
  options: CaptureOptions,
  capture: Capture,
): Promise<CaptureResult> {
  const { filter, source, limit = Number.POSITIVE_INFINITY } = options;
  const sum = emptyCaptureResult();
  let error: unknown;
  let passes = 0;
  for (const [name, own] of bySource) {
    const keys = filter?.keys?.filter((key) => sourceOf(key) === name);
    const left = limit - sum.captured.orders - sum.waiting;
    if (keys?.length === 0 || (source ?? name) !== name || left <= 0 || options.signal?.aborted) continue;
    passes++;
    try {
      const settings = settingsOf(context.settings, name);
      const result = await capture({ ...context, settings }, own, {
        ...options,
        ...(filter && { filter: { ...filter, ...(keys && { keys }) } }),
        ...(options.limit !== undefined && { limit: left }),
      });
      // A fault that stops one source, such as a database that was changed, stops no other.
      const isOwn = result.stopped !== null && !result.busy && !result.paused && !options.signal?.aborted;
      if (isOwn && result.stopped) sum.failed.push({ source: name, reason: result.stopped.reason });
      addResult(sum, isOwn ? { ...result, stopped: null } : result);
    } catch (caught) {
      error = caught;
      const { message } = caught as Error;
      sum.failed.push({ source: name, reason: { code: 'failed', message: outside(message, 1_000) } });
      context.log.error('A source could not be read', { source: name, error: message });
    }
  }
  if (passes > 0 && sum.failed.length === passes) {
    if (error !== undefined) throw error;
    sum.stopped = { reason: { code: 'sources_not_read', reasons: sum.failed.map(({ reason }) => reason) } };
  }
  return sum;
}

/** A source that the settings no longer name, though messages of it are still to be sent; null: there is none. */
export async function vanishedSource(tx: Tx, settings: Pick<Settings, 'named'>): Promise<string | null> {
  const names = sourceNames(settings);
  for (const source of await capturedSources(tx)) {
    if (names.includes(source)) continue;
    const open = await tx.value(
      `SELECT id FROM outbox_message
        WHERE state IN ('pending','sending','in_doubt') AND entity IN ('customer','order') AND source=? LIMIT 1`,
      [source],
    );
    if (open !== undefined) return source;
  }
  return null;
}

/** As if both passes were one. */
function addResult(sum: CaptureResult, one: CaptureResult): void {
  for (const counts of ['read', 'captured', 'removed'] as const)
    for (const kind of ['customers', 'orders'] as const) sum[counts][kind] += one[counts][kind];
  for (const count of ['unchanged', 'parked', 'held', 'waiting', 'skippedLines'] as const) sum[count] += one[count];
  sum.holds.push(...one.holds);
  sum.skipped.push(...one.skipped);
  sum.touched.push(...one.touched);
  sum.stopped ??= one.stopped;
  sum.busy ||= one.busy;
  sum.paused ||= one.paused;
}
