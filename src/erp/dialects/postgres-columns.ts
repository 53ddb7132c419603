import { type FieldDef, types } from 'pg';
import { type ErpColumn, inexact } from '../erp-database.js';
import { isNumberText } from '../sql.js';
import { parseWrittenTime } from '../time/wall-time.js';

const { BOOL, BPCHAR, BYTEA, CHAR, DATE, FLOAT4, FLOAT8, INT2, INT4, INT8, JSON: JSON_, JSONB, MONEY } = types.builtins;
const { NUMERIC, OID, TEXT, TIMESTAMP, TIMESTAMPTZ, UUID, VARCHAR } = types.builtins;
/** The type of names in the catalogue. The driver has no word for it. */
const NAME = 19;

/** What the catalogue says of a type that the driver doesn't know by heart: those of extensions and of the ERP itself. */
export interface PostgresType {
  name: string;
  /** `A` array, `C` composite, `E` enum, `S` string, `R` range, … */
  category: string;
  /** Whether its operators are found without naming a schema. */
  isVisible: boolean;
}

const NUMBERS = new Set<number>([INT2, INT4, INT8, NUMERIC, OID]);
const TEXTS = new Set<number>([TEXT, VARCHAR, BPCHAR, NAME]);
const FLOATS = new Map<number, 'FLOAT' | 'DOUBLE'>([
  [FLOAT4, 'FLOAT'],
  [FLOAT8, 'DOUBLE'],
]);
const TIMES = new Map<number, 'timestamp' | 'datetime' | 'date'>([
  [TIMESTAMPTZ, 'timestamp'],
  [TIMESTAMP, 'datetime'],
  [DATE, 'date'],
]);
const AS_TEXT = 'write CAST(… AS text) in the query';
const WHOLE_JSON =
  "holds more than one value; take one out in the query, such as name->>'en_US', or write CAST(… AS text)";

/** Whether what a column of this type is must be looked up in the catalogue. */
export function isUnlisted({ dataTypeID: type }: FieldDef): boolean {
  return ![NUMBERS, TEXTS, FLOATS, TIMES].some((known) => known.has(type)) && !SINGLE.has(type);
}

/** Types of one kind each: what keeps them from being a key, or from being a value at all, and what they take. */
const SINGLE = new Map<number, Partial<ErpColumn>>([
  [BOOL, { accepts: (text) => /^(t|f|true|false)$/i.test(text) }],
  [UUID, { accepts: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) }],
  [BYTEA, { keyProblem: "it holds bytes, not text; write encode(…, 'hex') in the query" }],
  [JSON_, { valueProblem: `is a json, which ${WHOLE_JSON}` }],
  [JSONB, { valueProblem: `is a jsonb, which ${WHOLE_JSON}` }],
  [MONEY, { valueProblem: 'is a money, written as the server likes; write CAST(… AS numeric) in the query' }],
  [CHAR, { keyProblem: `a "char" is one byte; ${AS_TEXT}` }],
]);

/** @param type of a column that `isUnlisted` */
export function postgresColumn(field: FieldDef, type: PostgresType | undefined): ErpColumn {
  const { name, dataTypeID: oid, dataTypeModifier } = field;
  const time = TIMES.get(oid);
  const float = FLOATS.get(oid) ?? null;
  const column: ErpColumn = {
    name,
    kind: time ?? (NUMBERS.has(oid) || float !== null ? 'number' : 'text'),
    fractionDigits: time === undefined ? null : time === 'date' ? 0 : dataTypeModifier < 0 ? 6 : dataTypeModifier,
    keyProblem: float === null ? null : inexact(float),
    float,
    accepts: time === undefined ? isText : isTime,
  };
  return { ...column, ...(SINGLE.get(oid) ?? (type && problemsOf(type))) };
}

/** No text of PostgreSQL holds a NUL: it would refuse the statement that asks for one. */
function isText(text: string): boolean {
  return !text.includes('\0');
}

function isTime(text: string): boolean {
  return parseWrittenTime(text) !== null || /^-?infinity$/.test(text);
}

function problemsOf({ name, category, isVisible }: PostgresType): Partial<ErpColumn> {
  if (category === 'A')
    return { valueProblem: `is a list (${name}); write array_to_string(…, ', ') in the query, or a join` };
  if (category === 'C') return { valueProblem: `is a whole row (${name}); name one of its columns in the query` };
  if (category === 'E')
    return { keyProblem: `an ENUM is sorted by place and compared with its own words only; ${AS_TEXT}` };
  if (name.replace(/^.*\./, '') !== 'citext') return { keyProblem: `a ${name} is not compared as a text; ${AS_TEXT}` };
  // Outside the search_path it would be sorted as citext and compared as text: pages would lose rows.
  return isVisible
    ? {}
    : { keyProblem: `citext is outside the search_path of erp.user; add its schema, or ${AS_TEXT}` };
}

const INSTANT = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/;

/** A value as the server wrote it, in the form that the mapping knows; see `ColumnKind`. */
export function postgresText(text: string, { dataTypeID: type }: FieldDef, digits: number | null): string {
  // As the database writes it where it is cast to text.
  if (type === BOOL) return text === 't' ? 'true' : 'false';
  // Blanks at the end of a char(n) mean nothing.
  if (type === BPCHAR) return text.replace(/ +$/, '');
  if (type !== TIMESTAMP && type !== TIMESTAMPTZ) return text;
  const [, date, time, fraction = '', sign, hours = '0', minutes = '0', seconds = '0'] =
    INSTANT.exec(type === TIMESTAMP ? `${text}+00` : text) ?? [];
  if (date === undefined) return text;
  const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * (sign === '-' ? -1 : 1);
  const utc = new Date(Date.parse(`${date}T${time}Z`) - offset * 1000).toISOString();
  const padded = fraction.padEnd(digits ?? 6, '0');
  return `${utc.slice(0, 19).replace('T', ' ')}${padded === '' ? '' : `.${padded}`}`;
}

/** A value for a statement: a number as it stands, where it is one, because the server compares it by its own type. */
export function postgresValue({ text, kind }: { text: string; kind: string }): { sql: string } | { value: string } {
  if (kind === 'number' && isNumberText(text)) return { sql: text };
  return { value: kind === 'timestamp' && parseWrittenTime(text)?.offsetMinutes === null ? `${text}+00` : text };
}
