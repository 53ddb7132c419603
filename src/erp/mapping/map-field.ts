import type { ErpRow } from '../../db/erp-database.js';
import type { ColumnKind } from '../../db/sql.js';
import { type EmptyColumn, firstFew, type RowFact } from '../../model/facts/rows.js';
import { type Outside, outside } from '../../model/outside.js';
import type { JsonValue } from '../../model/record.js';
import { parseWrittenTime } from '../../model/written-time.js';
import { formatDate, formatInstant, formatWrittenTime, instantToWall, writtenToInstant } from '../time/wall-time.js';
import { type Decimal, isSafe, parseDecimal, plainScaled, type Rounding, toScaledInteger } from './money.js';
import { cutText, lengthOf, shapeText, type TextShape } from './shape-text.js';

export type FieldType = 'text' | 'integer' | 'amount' | 'boolean' | 'date' | 'datetime';

/** A column, and those that stand in for it, in this order, where it is empty. */
interface ColumnSource {
  column: string;
  kind: ColumnKind;
  orElse?: readonly ColumnSource[] | undefined;
}

/** The mapping of one field, with its column found in the query. */
export interface FieldPlan {
  name: string;
  source: ColumnSource | { constant: Constant };
  type: FieldType;
  optional: boolean;
  /** The service needs it, so the settings refuse to make it optional. */
  isRequired?: boolean;
  maxLength?: number | undefined;
  /** Ends a text that is cut to `maxLength`; undefined: longer text is refused. */
  cut?: string | undefined;
  shape?: TextShape | undefined;
  /** The service's words for the codes of the column; '' is the code of an empty one. `path` names the setting in messages. */
  when?: { path: string; words: ReadonlyMap<string, Constant>; otherwise: Constant | undefined } | undefined;
}

type Constant = string | number | boolean;

export interface FieldContext {
  timeZone: string;
  scale: number;
  rounding: Rounding;
}

export type Outcome<T> = { value: T } | { problem: RowFact };

/** Value of one column, or in which way it is empty. */
type ColumnOutcome = Outcome<Constant> | { empty: EmptyColumn };

/** The earliest year that is believed. Before it lie the stand-ins for "no date": 1000-01-01, 1753-01-01, 1899-12-30, 1900-01-01. */
const EARLIEST_YEAR = '1901';
const WHOLE = { scale: 0, rounding: 'refuse' } as const;
const TRUE = new Set(['1', 'true', 't', 'yes', 'y']);
const FALSE = new Set(['0', 'false', 'f', 'no', 'n']);

/** The fields of one record or line, and everything that is wrong with it, to be corrected in one go. */
export function mapFields(row: ErpRow, fields: readonly FieldPlan[], context: FieldContext) {
  const values: Record<string, JsonValue> = {};
  const problems: RowFact[] = [];
  for (const field of fields) {
    const outcome = mapField(row, field, context);
    if ('problem' in outcome) problems.push(outcome.problem);
    else if (outcome.value !== undefined) values[field.name] = outcome.value;
  }
  return { values, problems };
}

/** Makes one field from a row; undefined leaves it out. */
export function mapField(row: ErpRow, field: FieldPlan, context: FieldContext): Outcome<JsonValue | undefined> {
  if ('constant' in field.source) return { value: field.source.constant };
  const first = mapColumn(row, field.source, field, context);
  if (!('empty' in first)) return first;
  const empty = [first.empty];
  for (const source of field.source.orElse ?? []) {
    const outcome = mapColumn(row, source, field, context);
    if (!('empty' in outcome)) return outcome;
    empty.push(outcome.empty);
  }
  // The values in `otherwise` stand for a code; a column without one says nothing.
  const word = field.when?.words.get('');
  if (word !== undefined) return { value: word };
  if (field.optional) return { value: undefined };
  const columns = firstFew(empty);
  return { problem: { code: 'value_missing', field: field.name, columns, mayBeOptional: !field.isRequired } };
}

/** The column that a field is made from in this row; undefined where all of them are empty. */
export function columnOf(row: ErpRow, { source }: FieldPlan): string | undefined {
  if ('constant' in source) return undefined;
  return [source, ...(source.orElse ?? [])].find(({ column }) => (row[column] ?? '').trim() !== '')?.column;
}

/** True if no column of the field holds more than blanks. */
export function isEmpty(row: ErpRow, field: FieldPlan): boolean {
  return !('constant' in field.source) && columnOf(row, field) === undefined;
}

/** True if a field of numbers is empty, or exactly zero before it is rounded. */
export function isNothing(row: ErpRow, field: FieldPlan): boolean {
  if ('constant' in field.source) return field.source.constant === 0;
  const column = columnOf(row, field);
  return column === undefined || parseDecimal(row[column] ?? '')?.digits === 0n;
}

function mapColumn(
  row: ErpRow,
  { column, kind }: ColumnSource,
  field: FieldPlan,
  context: FieldContext,
): ColumnOutcome {
  const text = row[column] ?? null;
  if (text === null || text === '') return { empty: { column, value: 'nothing' } };
  switch (field.type) {
    case 'text':
      return mapText(wallTextOf(text, kind, context.timeZone), column, field);
    case 'integer':
      return mapNumber(readScaled(text, WHOLE, { code: 'not_whole', ...found(column, text) }), found(column, text));
    case 'amount':
      return mapNumber(
        readAmount(text, column, field.name === 'price' ? 'price' : 'amount', context),
        found(column, text),
      );
    case 'boolean':
      if (TRUE.has(text.toLowerCase())) return { value: true };
      if (FALSE.has(text.toLowerCase())) return { value: false };
      return { problem: { code: 'neither_yes_nor_no', ...found(column, text) } };
    default:
      return mapTime(text, column, kind, field.type, context.timeZone);
  }
}

function wordFor(code: string, column: string, { path, words, otherwise }: NonNullable<FieldPlan['when']>) {
  const value = words.get(code) ?? otherwise;
  if (value !== undefined) return { value };
  return { problem: { code: 'code_without_word', ...found(column, code), setting: path } } as const;
}

/** A TIMESTAMP is read in UTC; as a text it is the wall time that the ERP shows. */
function wallTextOf(text: string, kind: ColumnKind, timeZone: string): string {
  const written = kind === 'timestamp' ? parseWrittenTime(text) : null;
  if (written === null || isStandIn(text)) return text;
  return formatWrittenTime({ ...written, wallSeconds: instantToWall(written.wallSeconds, timeZone) });
}

function mapText(text: string, column: string, field: FieldPlan): ColumnOutcome {
  if (text.includes('\0')) return { problem: { code: 'not_text', column } };
  const shaped = field.shape === undefined ? text : shapeText(text, field.shape);
  if (shaped === '') return { empty: { column, value: 'no_text' } };
  if (field.when !== undefined) return wordFor(shaped, column, field.when);
  const { maxLength = Number.POSITIVE_INFINITY, cut } = field;
  const length = shaped.length <= maxLength ? shaped.length : lengthOf(shaped);
  if (length <= maxLength) return { value: shaped };
  if (cut !== undefined) return { value: cutText(shaped, maxLength, cut) };
  return { problem: { code: 'text_too_long', column, length, maxLength } };
}

/** An amount of the ERP in minor units. */
export function readAmount(
  text: string,
  column: string,
  of: 'price' | 'amount' | 'total',
  context: FieldContext,
): Outcome<bigint | number> {
  const { scale } = context;
  return readScaled(text, context, { code: 'too_many_decimals', ...found(column, text), scale, of });
}

/** A number, and as it is written. */
export interface WrittenDecimal {
  decimal: Decimal;
  text: string;
}

/** A number of the ERP with all its decimals. */
export function readDecimal(row: ErpRow, field: FieldPlan | undefined, context: FieldContext): Outcome<WrittenDecimal> {
  const read = field && mapField(row, { ...field, type: 'text', maxLength: undefined }, context);
  if (read && 'problem' in read) return read;
  const text = `${read?.value ?? ''}`.trim();
  const decimal = parseDecimal(text);
  if (decimal !== null) return { value: { decimal, text } };
  return { problem: notANumber((field && columnOf(row, field)) ?? '', text) };
}

/** @param tooPrecise the problem of a number that has more decimals than may be sent */
function readScaled(
  text: string,
  { scale, rounding }: Pick<FieldContext, 'scale' | 'rounding'>,
  tooPrecise: RowFact & { column: string },
): Outcome<bigint | number> {
  const plain = plainScaled(text, scale);
  if (plain !== null) return { value: plain };
  const decimal = parseDecimal(text);
  if (decimal === null) return { problem: notANumber(tooPrecise.column, text) };
  const value = toScaledInteger(decimal, scale, rounding);
  return value === null ? { problem: tooPrecise } : { value };
}

function notANumber(column: string, text: string): RowFact {
  const isSpecial = /^(NaN|[+-]?Infinity)$/i.test(text);
  return { code: 'not_a_number', ...found(column, text), ...(isSpecial && { special: text }) };
}

function mapNumber(read: Outcome<bigint | number>, found: { column: string; value: Outside }): Outcome<number> {
  if ('problem' in read) return read;
  if (isSafe(read.value)) return { value: Number(read.value) };
  return { problem: { code: 'number_too_large', ...found } };
}

function mapTime(text: string, column: string, kind: ColumnKind, type: FieldType, timeZone: string): ColumnOutcome {
  if (isStandIn(text)) return { empty: { column, value: quote(text) } };
  const written = parseWrittenTime(text);
  if (written === null) return { problem: { code: 'not_a_date', ...found(column, text) } };
  const sameFrame = written.offsetMinutes === null && kind !== 'timestamp';
  if (type === 'date' && sameFrame) return { value: formatDate(written.wallSeconds) };
  const instant = writtenToInstant(written, kind, timeZone);
  if (type === 'date') return { value: formatDate(instantToWall(instant, timeZone)) };
  return { value: formatInstant(instant, written.fraction, timeZone) };
}

/** Zero dates, dates with a zero month or day, years in which no such business was done, and the ends of all time. */
function isStandIn(text: string): boolean {
  if (text === 'infinity' || text === '-infinity') return true;
  return /^\d{4}-\d{2}-\d{2}/.test(text) && (text.slice(0, 4) < EARLIEST_YEAR || /^\d{4}-(00|\d{2}-00)/.test(text));
}

/** A value of the ERP as facts keep it: at most 40 characters. */
export function quote(text: string): Outside {
  return outside(text, 40);
}

/** A column and its value, for a problem. */
export function found(column: string, text: string): { column: string; value: Outside } {
  return { column, value: quote(text) };
}
