import type { UpdateFrom } from '../db/store-dialect.js';
import { foldKey } from '../model/record.js';
import { schemaTables } from './schema.js';
import type { SqlValue, Tx } from './store.js';

/**
 * Columns that hold words for people: a text that is too long for one is cut. Every other column identifies something and is
 * never cut, so what does not fit there has to be refused where it comes in.
 */
const wordColumns = [
  'outbox_message.number',
  'outbox_message.source_changed_at',
  'outbox_message.request_id',
  'binding.said_by',
  'adoption.actor',
  'attempt.request_id',
  'attempt.excerpt',
  'audit_log.actor',
  'lane_pause.actor',
  'wake_up.actor',
  'invoice.left_status',
  'invoice_pull.states',
  'reconciliation.actor',
  'reconcile_finding.number',
] as const;

type WordColumn = (typeof wordColumns)[number];

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
    new RegExp(`\\b${name} (VARCHAR|TEXT)(?:\\((\\d+)\\))?`).exec(schemaTables[table] ?? '') ?? [];
  if (type === undefined) throw new Error(`The schema has no column of text ${column}.`);
  return type === 'TEXT' ? textWidth : Number(width);
}

/** Table → column → type, where a database has to be told. */
const types = new Map(
  Object.entries(schemaTables).map(([table, definition]) => {
    const columns = definition.matchAll(/\b([a-z_]+) ([A-Z]+)/g);
    return [table, new Map(Array.from(columns, ([, column = '', type = '']) => [column, type]))];
  }),
);

/** The first word of a column's type; the id of a table is a BIGINT. */
function typeOf(table: string, column: string): string {
  return types.get(table)?.get(column) ?? 'BIGINT';
}

/** A text as its column takes it; for SQL that names its columns itself. */
export function boundedText<T extends string | null | undefined>(column: WordColumn, text: T): T {
  return typeof text === 'string' ? (bounded(column, text) as T) : text;
}

/** A value as its column takes it; only words and cursors ever change. Pure. */
export function bounded(column: string, value: SqlValue): SqlValue {
  return cut(value, bounds.get(column));
}

function cut(value: SqlValue, bound: Bound | undefined): SqlValue {
  // A text has at most as many code points as code units.
  if (bound === undefined || typeof value !== 'string' || value.length <= bound.width) return value;
  const { width, mark } = bound;
  const points = Array.from(value.slice(0, 2 * width + 2));
  return points.length <= width ? value : points.slice(0, width - mark.length).join('') + mark;
}

export type Row = Record<string, SqlValue | undefined>;

/** Values in one statement: SQLite takes 32,766, and a MySQL packet should stay small. */
const maxValues = 8_000;
/** Characters in one statement: a MariaDB server takes 16 MB, and a character may have four bytes. */
const maxCharacters = 2_000_000;

/**
 * Inserts many rows with as few statements as fit. All rows have the fields that the first one defines; `sourceKey` is the
 * column `source_key`, as in the rows that are read. Words that are too long for their column are cut (`bounded`).
 */
export async function insertRows(tx: Tx, table: string, rows: readonly Row[]): Promise<void> {
  await eachChunk(tx, table, rows, (count, columns) => insertInto(table, count, columns));
}

/** Inserts many rows; where the key is there already, or comes again, the other columns take the new values. */
export async function upsertRows(tx: Tx, table: string, keys: readonly string[], rows: readonly Row[]): Promise<void> {
  const fields = Object.keys(rows[0] ?? {}).filter((field) => keys.includes(columnOf(field)));
  // PostgreSQL refuses a statement that meets a row twice.
  const last = new Map(rows.map((row) => [JSON.stringify(fields.map((field) => row[field])), row]));
  await eachChunk(tx, table, [...last.values()], (count, columns) => {
    const rest = columns.filter((column) => !keys.includes(column));
    const assignments = rest.map((column) => `${column}=${tx.dialect.inserted(column)}`);
    const update = `${tx.dialect.onTaken(keys)} ${assignments.join(',')}`;
    return `${insertInto(table, count, columns)} ${update}`;
  });
}

function insertInto(table: string, count: number, columns: readonly string[]): string {
  const values = `${placeholders(columns.length)},`.repeat(count).slice(0, -1);
  return `INSERT INTO ${table} (${columns.join(',')}) VALUES ${values}`;
}

interface UpdateTerms {
  /** Condition over table `t`: other rows stay as they are. */
  guard?: string;
  guardParameters?: readonly SqlValue[];
  /** SQL over `t` and the new row `v` for columns that do not just take the new value. */
  judged?: Readonly<Record<string, string>>;
}

/**
 * Sets the columns of many rows, found by their keys: one UPDATE that joins 200 is a dozen times faster than 200 UPDATEs.
 * @returns how many rows matched
 */
export async function updateRows(
  tx: Tx,
  table: string,
  keys: readonly string[],
  rows: readonly Row[],
  { guard = '1=1', guardParameters = [], judged = {} }: UpdateTerms = {},
): Promise<number> {
  const statement = (count: number, columns: readonly string[]) => {
    const rest = columns.filter((column) => !keys.includes(column));
    return tx.dialect.updateFrom(table, {
      set: Object.fromEntries(rest.map((column) => [column, judged[column] ?? `v.${column}`])),
      source: tx.dialect.parameterRows(columns, count, (column) => typeOf(table, column)),
      on: keys.map((key) => `t.${key}=v.${key}`).join(' AND '),
      where: guard,
    });
  };
  return eachChunk(tx, table, rows, statement, { moreParameters: guardParameters, maxRows: 400 });
}

/** Updates a table by the rows of a SELECT. @returns how many rows matched */
export async function updateFrom(
  tx: Tx,
  table: string,
  update: UpdateFrom,
  parameters: readonly SqlValue[],
): Promise<number> {
  return tx.run(tx.dialect.updateFrom(table, update), parameters);
}

/** Tables that hold the folded form of their source keys as well. */
const foldedTables = new Set(['outbox_message', 'binding']);

/** Renames keys of records; the new keys must not exist yet. */
export async function renameKeys(
  tx: Tx,
  table: string,
  column: 'source_key' | 'customer_key',
  entity: string,
  renames: ReadonlyMap<string, string>,
): Promise<void> {
  if (renames.size === 0) return;
  const isFolded = column === 'source_key' && foldedTables.has(table);
  const chosen = `CASE ${column} ${'WHEN ? THEN ? '.repeat(renames.size)} ELSE`;
  const folded = isFolded ? [...renames].flatMap(([from, to]) => [from, foldKey(to)]) : [];
  // MySQL sees what an earlier assignment has set.
  await tx.run(
    `UPDATE ${table} SET ${isFolded ? `folded_key=${chosen} folded_key END,` : ''} ${column}=${chosen} ${column} END
      WHERE entity=? AND ${column} IN ${placeholders(renames.size)}`,
    [...folded, ...[...renames].flat(), entity, ...renames.keys()],
  );
}

const lists: string[] = [];

/** `(?,?,…)` for an IN list. */
export function placeholders(count: number): string {
  const list = lists[count] ?? `(${Array.from({ length: count }, () => '?').join(',')})`;
  if (count < 2_000) lists[count] = list;
  return list;
}

/** The condition that keeps a WHERE from rows of these ids; nothing if there are none. */
export function notAmong(column: string, values: readonly unknown[]): string {
  return values.length === 0 ? '' : ` AND ${column} NOT IN ${placeholders(values.length)}`;
}

/** The values of an IN list, repeated up to a power of two, so that lists of all lengths make few statements. */
export function padded<T>(values: readonly T[]): readonly T[] {
  const size = values.length === 0 ? 0 : 2 ** Math.ceil(Math.log2(values.length));
  return size === values.length ? values : [...values, ...Array<T>(size - values.length).fill(values[0] as T)];
}

/** A piece of SQL with its parameters. A condition that is compared with undefined filters nothing. */
export type Condition = readonly [sql: string, ...parameters: (SqlValue | undefined)[]];

/** One condition of many. No condition at all is met by every row with AND, and by none with OR. */
export function joinConditions(
  by: 'AND' | 'OR',
  conditions: readonly Condition[],
): { where: string; parameters: SqlValue[] } {
  const wanted = conditions.filter((condition) => !condition.includes(undefined));
  if (wanted.length === 0) return { where: by === 'AND' ? '1=1' : '1=0', parameters: [] };
  return {
    where: wanted.map(([sql]) => `(${sql})`).join(` ${by} `),
    parameters: wanted.flatMap(([, ...parameters]) => parameters as SqlValue[]),
  };
}

/**
 * A condition on rows of these records; none at all when the list is empty, and any where it is undefined.
 * @param table such as `m.`; '' where the columns need no table
 */
export function ofRecords(
  records: readonly { entity: string; sourceKey: string }[] | undefined,
  table: 'm.' | '' = '',
): Condition {
  if (records === undefined) return ['1=1', undefined];
  const keysOf = new Map<string, string[]>();
  for (const { entity, sourceKey } of records) keysOf.set(entity, [...(keysOf.get(entity) ?? []), sourceKey]);
  // The entity is named, because the indexes of keys begin with it.
  const either = joinConditions(
    'OR',
    [...keysOf].map(
      ([entity, keys]): Condition => [
        `${table}entity=? AND ${table}source_key IN ${placeholders(keys.length)}`,
        entity,
        ...keys,
      ],
    ),
  );
  return [either.where, ...either.parameters];
}

/** Runs the statement for as many rows at a time as fit, each text bounded by its column. @returns how many rows all of them matched */
async function eachChunk(
  tx: Tx,
  table: string,
  rows: readonly Row[],
  statement: (count: number, columns: readonly string[]) => string,
  { moreParameters = [], maxRows = 1_000 }: { moreParameters?: readonly SqlValue[]; maxRows?: number } = {},
): Promise<number> {
  const first = rows[0];
  if (!first) return 0;
  const fields = Object.keys(first).filter((field) => first[field] !== undefined);
  const columns = fields.map(columnOf);
  const limits = columns.map((column) => bounds.get(`${table}.${column}`));
  const width = fields.length;
  const values: SqlValue[] = [];
  for (const row of rows) for (let i = 0; i < width; i++) values.push(cut(row[fields[i] as string] ?? null, limits[i]));
  const size = Math.max(1, Math.min(maxRows, Math.floor(maxValues / width)));
  let matched = 0;
  for (let start = 0, end = 0; start < rows.length; start = end) {
    for (let characters = 0; end < rows.length && end - start < size; end++) {
      for (let i = end * width; i < (end + 1) * width; i++) characters += lengthOf(values[i]);
      if (end > start && characters > maxCharacters) break;
    }
    // Preparing a statement of forty rows takes as long as running it. There are few powers of two, and they stay
    // prepared.
    if (tx.dialect.keepsStatements) end = start + 2 ** Math.floor(Math.log2(end - start));
    const chunk = values.slice(start * width, end * width);
    matched += await tx.run(statement(end - start, columns), chunk.concat(moreParameters));
  }
  return matched;
}

const lengthOf = (value: SqlValue | undefined) => (typeof value === 'string' ? value.length : 0);
const columnNames = new Map<string, string>();

/** `source_key` of `sourceKey`. */
function columnOf(field: string): string {
  const known = columnNames.get(field);
  if (known !== undefined) return known;
  const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  columnNames.set(field, column);
  return column;
}

/** Rows as they come, so many at a time; none where there is no source. */
export async function* inChunks<T>(rows: AsyncIterable<T> | null, size: number): AsyncGenerator<T[]> {
  let chunk: T[] = [];
  for await (const row of rows ?? []) {
    chunk.push(row);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
