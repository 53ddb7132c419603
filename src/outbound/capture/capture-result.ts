import type { RowFilter } from '../../erp/erp-reader.js';
import { type Entity, pluralOf } from '../../model/record.js';
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
  /** How many of the parked records wait for `waybill confirm`. */
  held: number;
  /** What the brakes hold of the pass as a whole, and why. */
  brakes: string[];
  /** Orders that wait for their lines. A dry run captures them as well, as if the wait were over. */
  waiting: number;
  skipped: SkippedRecord[];
  /** Lines of the captured orders that `orders.lines.text` leaves out. */
  skippedLines: number;
  /** What was written: all of a partial pass, else a sample, because a first pass may write a million. */
  touched: TouchedRecord[];
  /** Set when the pass did not run or did not end. */
  stopped: { reason: string } | null;
  /** Another process is capturing right now. */
  busy: boolean;
  /** An operator has paused capture; delivering may go on. */
  paused: boolean;
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
    brakes: [],
    waiting: 0,
    skipped: [],
    skippedLines: 0,
    touched: [],
    stopped: null,
    busy: false,
    paused: false,
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
  /** Reads everything eligible, whenever the last sweep was. */
  sweep?: boolean;
  signal?: AbortSignal;
  /** What one page wrote, or would write in a dry run. */
  onTouched?: (records: readonly TouchedRecord[]) => void;
  /** What a dry run decided of each row, page by page. */
  onJudged?: (page: JudgedPage) => void | Promise<void>;
  onProgress?: (progress: { entity: Entity; read: number; total: number | null }) => void;
}
