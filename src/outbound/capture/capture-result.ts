import type { RowFilter } from '../../erp/erp-reader.js';
import type { HeldFact } from '../../model/facts/alerts.js';
import type { Fact } from '../../model/facts/fact.js';
import type { WorkFact } from '../../model/facts/work.js';
import { defaultSource, type Entity, inSource, pluralOf } from '../../model/record.js';
import type { JobContext } from '../../ops/job-context.js';
import { killPoint } from '../../ops/kill-point.js';
import {
  type CaptureCursor,
  type CursorName,
  changeCursorColumn,
  isSweepAsked,
  noteCursorColumn,
  readNotedCursor,
  writeCursor,
} from '../../store/job-runs.js';
import { Lease } from '../../store/lease.js';
import { sha256 } from '../outbox/content-hash.js';
import type { CapturePageResult, TouchedRecord } from './capture-page.js';
import type { JudgedPage } from './judged-rows.js';
import type { SkippedRecord } from './plan-row.js';

export interface CaptureResult {
  read: { customers: number; orders: number };
  captured: { customers: number; orders: number };
  /** Records that were cancelled or deleted in the ERP, and what follows was written; not among the captured. */
  removed: { customers: number; orders: number };
  unchanged: number;
  parked: number;
  /** The number of parked records that wait for `waybill confirm`. */
  held: number;
  /** The reasons for which the pass as a whole is on hold. */
  holds: HeldFact[];
  /** Orders that wait for their lines. A dry run captures them as well, as if the wait were over. */
  waiting: number;
  skipped: SkippedRecord[];
  /** Lines of the captured orders that `orders.lines.text` leaves out. */
  skippedLines: number;
  /** The messages that were written: all of a partial pass, else a sample, because a first pass may write a million. */
  touched: TouchedRecord[];
  /** Set when the pass did not run or did not end. */
  stopped: { reason: Fact } | null;
  /** Another process is capturing right now. */
  busy: boolean;
  /** An operator has paused capture; delivering may go on. */
  paused: boolean;
  /** The sources that could not be read, if there are several. */
  failed: { source: string; reason: Fact }[];
}

/** A pass that has read nothing yet. */
export function emptyCaptureResult(): CaptureResult {
  return {
    read: { customers: 0, orders: 0 },
    captured: { customers: 0, orders: 0 },
    removed: { customers: 0, orders: 0 },
    unchanged: 0,
    parked: 0,
    held: 0,
    holds: [],
    waiting: 0,
    skipped: [],
    skippedLines: 0,
    touched: [],
    stopped: null,
    busy: false,
    paused: false,
    failed: [],
  };
}

/** Adds what came of a page of rows. @param waiting keys of the orders that were met waiting for their lines */
export function addPage(result: CaptureResult, waiting: Set<string>, work: CapturePageResult): void {
  result.captured.customers += work.captured.customers;
  result.captured.orders += work.captured.orders;
  result.unchanged += work.unchanged;
  result.parked += work.parked;
  result.held += work.held.length;
  result.skipped.push(...work.skipped);
  result.skippedLines += work.skippedLines;
  // An order that waits is met twice: by its key, and among the changes.
  for (const key of work.waiting) waiting.add(key);
  result.waiting = waiting.size;
}

/**
 * Adds what was written, and counts the removals among it. Every record that was named is kept, and a sample of the rest: a
 * first pass may write a million. Removals come at its end, and have a sample of their own.
 */
export function addTouched(result: CaptureResult, touched: readonly TouchedRecord[], isNamed: boolean): void {
  const removed = touched.filter(({ because }) => because !== null);
  const kept = removed.length > 0 ? result.removed.customers + result.removed.orders : result.touched.length;
  if (isNamed || kept < 200) result.touched.push(...touched);
  for (const { entity, parked } of removed) {
    result.removed[pluralOf(entity)]++;
    if (parked !== null) result.parked++;
  }
}

export interface CaptureOptions {
  /** Without it the pass follows the cursors; with it only these rows are read, and no cursor moves. */
  filter?: { entity: Entity } & RowFilter;
  /** Stops after so many orders (or customers, with a filter for them) were written; no cursor moves. */
  limit?: number;
  /** Sends unchanged records again, where that can't make a second one. */
  force?: boolean;
  /** Reads everything eligible, decides everything and writes nothing. */
  dryRun?: boolean;
  /** The only source of the pass, if there are several. */
  source?: string;
  /** Reads everything eligible, whenever the last sweep was. */
  sweep?: boolean;
  signal?: AbortSignal;
  /** The messages that one page wrote, or would write in a dry run. */
  onTouched?: (records: readonly TouchedRecord[]) => void;
  /** The decisions of a dry run about each row, page by page. */
  onJudged?: (page: JudgedPage) => void | Promise<void>;
  onProgress?: (progress: { entity: Entity; read: number; total: number | null }) => void;
}

/** The number of records of this kind that a pass with a limit may still write. */
export function roomOf({ captured, waiting }: CaptureResult, options: CaptureOptions, entity: Entity): number {
  if (options.limit === undefined) return Number.POSITIVE_INFINITY;
  // The limit counts what was asked for; the customers of five orders come along.
  const counted = options.filter?.entity ?? 'order';
  if (counted !== entity) return 0;
  // Five orders that wait for their lines are five as well, or a trial would read the whole ERP. A dry run has captured them.
  const waited = options.dryRun ? 0 : waiting;
  return options.limit - (counted === 'order' ? captured.orders + waited : captured.customers);
}

/**
 * The end of the last pass over an entity. It begins anew where the settings name another column of changes since.
 * @param lease null in a dry run, which writes nothing
 */
export async function openCursor(
  { store, settings }: JobContext,
  lease: Lease | null,
  entity: Entity,
): Promise<CaptureCursor & { isAnew: boolean }> {
  const name = inSource(entity, settings.source);
  const column = sha256(settings[pluralOf(entity)].changedAt ?? '');
  const { cursor, column: noted } = await store.read('read the cursor', (tx) => readNotedCursor(tx, name));
  const isAnew = noted !== null && noted !== column;
  if (noted !== column)
    await lease?.write('note the column of the cursor', (tx) =>
      isAnew ? changeCursorColumn(tx, name, column) : noteCursorColumn(tx, name, column),
    );
  return isAnew ? { changedAt: null, sweptAt: null, isAnew } : { ...cursor, isAnew };
}

/** Puts on record that a sweep came to its end. @throws LeaseLost */
export async function moveCursor(
  lease: Lease,
  cursor: CursorName,
  reached: { changedAt: string | null; sweptAt: number },
): Promise<void> {
  await lease.write('move the cursor', async (tx) => {
    // A request for another one meanwhile is heard: this one may have passed the record by then.
    const isAsked = await isSweepAsked(tx, cursor);
    await writeCursor(tx, cursor, isAsked ? { changedAt: reached.changedAt } : reached);
    killPoint('before-cursor-commit');
  });
  killPoint('after-cursor-commit');
}

/** The right to capture from a source, one process at a time. @returns the lease, or in words who holds it instead */
export async function acquireCaptureLease(
  context: JobContext,
): Promise<Lease | Extract<WorkFact, { code: 'capturing_elsewhere' }>> {
  const { store, settings, actor } = context;
  const name = inSource('capture', settings.source ?? defaultSource);
  const answer = await Lease.acquire(store, name, actor, settings.delivery.leaseSeconds * 1000, context);
  if (answer.held) return answer.lease;
  return { code: 'capturing_elsewhere', holder: answer.holder, freeInMs: answer.freeInMs };
}
