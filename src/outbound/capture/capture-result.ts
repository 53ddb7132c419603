import type { RowFilter } from '../../erp/erp-reader.js';
import type { Entity } from '../../model/record.js';
import type { TouchedRecord } from './capture-page.js';
import type { SkippedRecord } from './plan-row.js';

export interface CaptureResult {
  read: { customers: number; orders: number };
  captured: { customers: number; orders: number };
  unchanged: number;
  parked: number;
  /** How many of the parked records wait for `waybill confirm`. */
  held: number;
  /** Orders that wait for their lines. */
  waiting: number;
  skipped: SkippedRecord[];
  /** The records that were written: all of a partial pass, else a sample, because a first pass may write a million. */
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

export interface CaptureOptions {
  /** Without it the pass follows the cursors; with it only these rows are read, and no cursor moves. */
  filter?: { entity: Entity } & RowFilter;
  /** Stops after so many orders (or customers, with a filter for them) were written; no cursor moves. */
  limit?: number;
  /** Sends unchanged records again, where that can't make a second one. */
  force?: boolean;
  /** Decides everything and writes nothing. */
  dryRun?: boolean;
  /** Reads everything eligible, whenever the last sweep was. */
  sweep?: boolean;
  signal?: AbortSignal;
  /** What one page wrote, or would write in a dry run. */
  onTouched?: (records: readonly TouchedRecord[]) => void;
  onProgress?: (progress: { entity: Entity; read: number; total: number | null }) => void;
}
