import type { JsonValue } from '../../model/record.js';
import type { ErpRow } from '../erp-database.js';
import type { ColumnKind } from '../sql.js';
import { formatDate, formatInstant, instantToWall, parseWrittenTime, writtenToInstant } from '../time/wall-time.js';
import { isSafe, parseDecimal, type Rounding, toScaledInteger } from './money.js';

export type FieldType = 'text' | 'integer' | 'amount' | 'boolean' | 'date' | 'datetime';

/** How one field is made, with its column found in the query. */
export interface FieldPlan {
  name: string;
  source: { column: string; kind: ColumnKind } | { constant: string | number | boolean };
  type: FieldType;
  optional: boolean;
  maxLength?: number | undefined;
}

export interface FieldContext {
  timeZone: string;
  scale: number;
  rounding: Rounding;
}

/** `value: undefined` leaves the field out. A problem reads on after "order 4711: " and says what to do. */
export type FieldOutcome = { value: JsonValue | undefined } | { problem: string };

/** The earliest year that is believed. Before it lie the stand-ins for "no date": 1000-01-01, 1753-01-01, 1899-12-30, 1900-01-01. */
const EARLIEST_YEAR = '1901';

/** Makes one field from a row. */
export function mapField(row: ErpRow, field: FieldPlan, context: FieldContext): FieldOutcome {
  if ('constant' in field.source) return { value: field.source.constant };
  const { column, kind } = field.source;
  const text = row[column] ?? null;
  if (text === null || text === '') return missing(field, `${column} is empty`);
  switch (field.type) {
    case 'text':
      return mapText(text, column, field.maxLength);
    case 'integer':
      return mapInteger(text, column);
    case 'amount':
      return mapAmount(text, column, field.name, context);
    case 'boolean':
      return mapBoolean(text, column);
    default:
      return mapTime(text, column, kind, field, context.timeZone);
  }
}

function missing(field: FieldPlan, what: string): FieldOutcome {
  if (field.optional) return { value: undefined };
  return { problem: `${what}; correct it in the ERP, or set optional: true for ${field.name}` };
}

function mapText(text: string, column: string, maxLength = Number.POSITIVE_INFINITY): FieldOutcome {
  if (text.includes('\0')) return { problem: `${column} holds bytes that are not text; correct it in the ERP` };
  const length = text.length <= maxLength ? text.length : [...text].length;
  if (length > maxLength) {
    return { problem: `${column} has ${length} characters, more than the ${maxLength} allowed; shorten it in the ERP` };
  }
  return { value: text };
}

function mapInteger(text: string, column: string): FieldOutcome {
  const decimal = parseDecimal(text);
  if (decimal === null) return { problem: `${column} ${quote(text)} is not a number; correct it in the ERP` };
  const value = toScaledInteger(decimal, 0, 'refuse');
  if (value === null) return { problem: `${column} ${text} is not a whole number; correct it in the ERP` };
  if (!isSafe(value)) return { problem: `${column} ${text} is too large to be sent exactly; correct it in the ERP` };
  return { value: Number(value) };
}

function mapAmount(text: string, column: string, name: string, { scale, rounding }: FieldContext): FieldOutcome {
  const decimal = parseDecimal(text);
  if (decimal === null) return { problem: `${column} ${quote(text)} is not a number; correct it in the ERP` };
  const value = toScaledInteger(decimal, scale, rounding);
  if (value === null) {
    const what = name === 'price' ? 'the price' : 'the amount';
    return { problem: `${column} ${text} has more than ${scale} decimals; fix ${what} or set amounts.rounding` };
  }
  if (!isSafe(value)) return { problem: `${column} ${text} is too large to be sent exactly; correct it in the ERP` };
  return { value: Number(value) };
}

const TRUE = new Set(['1', 'true', 't', 'yes', 'y']);
const FALSE = new Set(['0', 'false', 'f', 'no', 'n']);

function mapBoolean(text: string, column: string): FieldOutcome {
  const word = text.toLowerCase();
  if (TRUE.has(word)) return { value: true };
  if (FALSE.has(word)) return { value: false };
  return { problem: `${column} ${quote(text)} is neither yes nor no; correct it in the ERP` };
}

function mapTime(text: string, column: string, kind: ColumnKind, field: FieldPlan, timeZone: string): FieldOutcome {
  if (isStandIn(text)) return missing(field, `${column} is ${text}, which is no date`);
  const written = parseWrittenTime(text);
  if (written === null) return { problem: `${column} ${quote(text)} is not a date; correct it in the ERP` };
  const sameFrame = written.offsetMinutes === null && kind !== 'timestamp';
  if (field.type === 'date' && sameFrame) return { value: formatDate(written.wallSeconds) };
  const instant = writtenToInstant(written, kind, timeZone);
  if (field.type === 'date') return { value: formatDate(instantToWall(instant, timeZone)) };
  return { value: formatInstant(instant, written.fraction, timeZone) };
}

/** Zero dates, dates with a zero month or day, and years in which no such business was done. */
function isStandIn(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}/.test(text) && (text.slice(0, 4) < EARLIEST_YEAR || /^\d{4}-(00|\d{2}-00)/.test(text));
}

function quote(text: string): string {
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return JSON.stringify(shown);
}

/** The fields of one record or line, and everything that is wrong with it: who corrects it wants to hear it at once. */
export interface MappedFields {
  values: Record<string, JsonValue>;
  problems: string[];
}

export function mapFields(row: ErpRow, fields: readonly FieldPlan[], context: FieldContext): MappedFields {
  const values: Record<string, JsonValue> = {};
  const problems: string[] = [];
  for (const field of fields) {
    const outcome = mapField(row, field, context);
    if ('problem' in outcome) problems.push(outcome.problem);
    else if (outcome.value !== undefined) values[field.name] = outcome.value;
  }
  return { values, problems };
}
