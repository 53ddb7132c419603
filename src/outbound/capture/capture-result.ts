import type { Entity } from '../../model/record.js';
import type { CapturePageResult, TouchedRecord } from './capture-page.js';
import type { SkippedRecord } from './plan-row.js';

export interface CaptureResult {
  read: { customers: number; orders: number };
  captured: { customers: number; orders: number };
  unchanged: number;
  parked: number;
  /** Of these, what waits for `waybill confirm`. */
  held: number;
  /** Orders that wait for their lines. */
  waiting: number;
  skipped: SkippedRecord[];
  /** What was written; only partial passes keep it, because a first pass may write a million. */
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
    unchanged: 0,
    parked: 0,
    held: 0,
    waiting: 0,
    skipped: [],
    touched: [],
    stopped: null,
    busy: false,
    paused: false,
  };
}

/**
 * Adds what a page has come to.
 * @param page `isNamed`: of what is to be sent by name all is needed; of the rest an excerpt will do, a first pass may write a million
 */
export function addPage(
  result: CaptureResult,
  page: { entity: Entity; rows: number; isNamed: boolean },
  work: CapturePageResult,
): void {
  result.read[page.entity === 'order' ? 'orders' : 'customers'] += page.rows;
  result.captured.customers += work.captured.customers;
  result.captured.orders += work.captured.orders;
  result.unchanged += work.unchanged;
  result.parked += work.parked;
  result.held += work.held.length;
  result.skipped.push(...work.skipped);
  if (page.isNamed || result.touched.length < 200) result.touched.push(...work.touched);
}
