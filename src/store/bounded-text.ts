import { initialTables } from './migrations/1700000000000-initial.js';
import type { SqlValue } from './store.js';

/**
 * Columns that hold words for people: a text that is too long for one is cut. Every other column identifies something and is
 * never cut, so what does not fit there has to be refused where it comes in.
 */
const wordColumns = [
  'outbox_message.number',
  'outbox_message.source_changed_at',
  'outbox_message.reason',
  'outbox_message.flag',
  'binding.read_flag',
  'adoption.actor',
  'attempt.reason',
  'attempt.request_id',
  'attempt_excerpt.excerpt',
  'audit_log.actor',
  'capture_cursor.brake_reason',
  'unsettled.reason',
  'lane_pause.reason',
  'lane_pause.actor',
  'wake_up.actor',
  'job_run.failure',
  'alert.message',
  'invoice.left_status',
  'invoice_staging.malformed',
  'invoice_malformed.reason',
  'invoice_pull.reason',
  'invoice_pull.states',
  'webhook_event.outcome',
  'write_back_row.refusal',
  'write_back_target.failure',
] as const;

export type WordColumn = (typeof wordColumns)[number];

/** A change cursor is cut without a mark: what is left sorts before the whole text, so nothing after it is passed over. */
const cursorColumns = ['capture_cursor.changed_at', 'capture_cursor.high_changed_at'] as const;

/** MariaDB's TEXT has room for 65,535 bytes, and a character may have four. */
const textWidth = 16_000;

interface Bound {
  /** In characters as the database counts them: code points. */
  width: number;
  mark: '…' | '';
}

const bounds: ReadonlyMap<string, Bound> = new Map<string, Bound>([
  ...wordColumns.map((column) => [column, { width: widthOf(column), mark: '…' }] as [string, Bound]),
  ...cursorColumns.map((column) => [column, { width: widthOf(column), mark: '' }] as [string, Bound]),
]);

/** The width stands in the schema alone, so that it can't differ from the column. */
function widthOf(column: string): number {
  const [table = '', name = ''] = column.split('.');
  const [, type, width] =
    new RegExp(`\\b${name} (VARCHAR|TEXT)(?:\\((\\d+)\\))?`).exec(initialTables[table] ?? '') ?? [];
  if (type === undefined) throw new Error(`The schema has no column of text ${column}.`);
  return type === 'TEXT' ? textWidth : Number(width);
}

/** A text as its column takes it; for SQL that names its columns itself. */
export function boundedText<T extends string | null | undefined>(column: WordColumn, text: T): T {
  return typeof text === 'string' ? (bounded(column, text) as T) : text;
}

/** A value as its column takes it; only words and cursors ever change. Pure. */
export function bounded(column: string, value: SqlValue): SqlValue {
  const bound = bounds.get(column);
  // A text has at most as many code points as code units.
  if (bound === undefined || typeof value !== 'string' || value.length <= bound.width) return value;
  const { width, mark } = bound;
  const points = Array.from(value.slice(0, 2 * width + 2));
  return points.length <= width ? value : points.slice(0, width - mark.length).join('') + mark;
}
