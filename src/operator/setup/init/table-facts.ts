import type { ErpSnapshot } from '../../../db/erp-database.js';
import { type ColumnKind, joinSql, rawSql, sql } from '../../../db/sql.js';
import {
  type Catalogue,
  type CatalogueColumn,
  type CatalogueTable,
  countValues,
  nameOf,
  tableSql,
} from '../../../erp/catalogue.js';
import { instantOfValue } from '../../../erp/time/time-form.js';
import type { CountedValue, Evidence } from '../../../model/setup-questions.js';

/** The evidence of a table's rows about one of its columns. */
export interface ColumnFacts {
  column: CatalogueColumn;
  /** Rows with a value, and the different values, among the rows looked at. */
  filled: number;
  different: number;
  /** Lowest and highest value of numbers and times. */
  low: string | null;
  high: string | null;
  /** The kind of its times, as the database tells it. */
  kind: ColumnKind;
  samples: readonly string[];
  /** The values of a column with few of them, be it one; null: it has too many, or none. */
  few: readonly CountedValue[] | null;
  /** `few` lists all values. Else there are empty ones and others. */
  isWhole: boolean;
  /** The values may tell orders from offers, removed rows from others, or one company from the next. */
  tells: boolean;
}

export interface TableFacts {
  table: CatalogueTable;
  /** Rows looked at. */
  rows: number;
  columns: readonly ColumnFacts[];
}

/** A first look takes as many rows: that a column has many values shows soon. */
const LOOKED_AT = 100_000;
/** Kinds of documents have up to eight values in the ERPs that were looked at; companies and states can be more. */
const FEW = 12;
const FEW_IN_WORDS = 30;
const SAMPLED = 50;
const LONGEST_SAMPLE = 40;
/** The beginning of a text tells it apart. */
const LONGEST_TEXT = 200;

/** Stands for all values that are not NULL. */
export const FILLED = 'NOT NULL';

export const columnOf = (facts: TableFacts, name: string | undefined): ColumnFacts | undefined =>
  facts.columns.find(({ column }) => column.name === name);

export const isBytes = ({ kind, type }: CatalogueColumn) => kind === 'other' && /binary|bytea|blob/i.test(type);
const isTime = ({ kind }: CatalogueColumn) => kind === 'time' || kind === 'date';
export const isFraction = ({ kind, isInteger, isFloat, type }: CatalogueColumn) =>
  kind === 'number' && !isInteger && (isFloat || !/^(decimal|numeric)\(\d+(, *0)?\)|^bit/i.test(type));

/** Looks at every column of a table: how many rows have a value, how many differ, some samples, and lists of few values. */
export async function readTable(
  snapshot: ErpSnapshot,
  catalogue: Catalogue,
  table: CatalogueTable,
): Promise<TableFacts> {
  const { dialect } = snapshot;
  const from = rawSql(tableSql(dialect, table));
  const seen = table.columns.filter((column) => column.kind !== 'other' || isBytes(column));
  const quoted = (name: string) => dialect.quoteIdentifier(name);
  const named = seen.map(
    ({ name, kind }, at) =>
      `${kind === 'text' ? `SUBSTR(${dialect.asText(quoted(name))}, 1, ${LONGEST_TEXT})` : quoted(name)} AS c${at}`,
  );
  const hasEnds = (column: CatalogueColumn) => column.kind === 'number' || isTime(column);
  const counts = seen.flatMap((column, at) => [
    `COUNT(c${at}) AS n${at}, COUNT(DISTINCT c${at}) AS d${at}`,
    ...(hasEnds(column) ? [`MIN(c${at}) AS a${at}, MAX(c${at}) AS b${at}`] : []),
  ]);
  const doing = `look at the columns of ${nameOf(table)}`;
  const some = sql`SELECT ${rawSql(named.join(', ') || '1 AS c')} FROM ${from} LIMIT ${{ text: `${LOOKED_AT}`, kind: 'number' }}`;
  const counted = await snapshot.query(
    sql`SELECT COUNT(*) AS n, ${joinSql(counts.map(rawSql))} FROM (${some}) s`,
    doing,
  );
  const samples = await snapshot.query(
    sql`SELECT ${rawSql(named.join(', ') || '1 AS c')} FROM ${from} LIMIT ${{ text: `${SAMPLED}`, kind: 'number' }}`,
    doing,
  );
  const row = counted.rows[0] ?? {};
  const rows = Number(row.n ?? 0);
  const kindOf = (name: string) => counted.columns.find((one) => one.name === name)?.kind ?? 'text';
  const columns: ColumnFacts[] = [];
  for (const [at, column] of seen.entries()) {
    const filled = Number(row[`n${at}`] ?? 0);
    const different = Number(row[`d${at}`] ?? 0);
    const read = samples.rows.flatMap((one) => one[`c${at}`]?.trim().slice(0, LONGEST_SAMPLE) || []);
    columns.push({
      ...{ column, filled, different, low: row[`a${at}`] ?? null, high: row[`b${at}`] ?? null },
      kind: kindOf(`b${at}`),
      samples: isBytes(column) ? [] : [...new Set(read)].slice(0, 3),
      ...(await fewOf(snapshot, catalogue, table, { column, filled, different })),
    });
  }
  return { table, rows, columns };
}

/** Lists the values of a column with few of them. */
async function fewOf(
  snapshot: ErpSnapshot,
  catalogue: Catalogue,
  table: CatalogueTable,
  { column, filled, different }: Pick<ColumnFacts, 'column' | 'filled' | 'different'>,
): Promise<Pick<ColumnFacts, 'few' | 'isWhole' | 'tells'>> {
  const none = { few: null, isWhole: false, tells: false };
  if (column.kind === 'other' || filled === 0) return none;
  const from = rawSql(tableSql(snapshot.dialect, table));
  const name = rawSql(snapshot.dialect.quoteIdentifier(column.name));
  const key = table.foreignKeys.find(({ columns }) => columns.length === 1 && columns[0] === column.name);
  const most = key === undefined ? FEW : FEW_IN_WORDS;
  // Times tell something by being there: a row that was removed has one. So do the keys of a parent.
  if (isTime(column) || different > most) {
    if (!isTime(column) && !column.isInteger) return none;
    // The rows that were looked at may all be alike.
    const { rows: counted } = await snapshot.query(
      sql`SELECT COUNT(*) AS n, COUNT(${name}) AS filled FROM ${from}`,
      `look for empty values of ${column.name}`,
    );
    const [all, full] = [Number(counted[0]?.n ?? 0), Number(counted[0]?.filled ?? 0)];
    if (full === 0 || full === all) return none;
    return {
      few: [
        { value: null, count: all - full },
        { value: FILLED, count: full },
      ],
      ...{ isWhole: false, tells: true },
    };
  }
  const values = await countValues(snapshot, from, name, { limit: most + 1 });
  if (values.length > most) return none;
  const total = values.reduce((sum, { count }) => sum + count, 0);
  // If each row has a value of its own, the column is a number or a name of the row.
  const isName = column.kind !== 'boolean' && !/^enum/i.test(column.type) && values.length === total;
  // An amount that many rows happen to share tells nothing; a factor that is nearly always 1 does.
  const first = values[0]?.value == null ? null : Number(values[0].value);
  const isAmount = isFraction(column) && ![null, 0, 1].includes(first);
  return {
    few: await inWords(snapshot, catalogue, table, column.name, values),
    ...{ isWhole: true, tells: values.length > 1 && !isName && !isAmount },
  };
}

/** The values, with the words of the table that the column points to. */
async function inWords(
  snapshot: ErpSnapshot,
  { tables }: Catalogue,
  table: CatalogueTable,
  column: string,
  values: readonly CountedValue[],
): Promise<readonly CountedValue[]> {
  const key = table.foreignKeys.find(({ columns }) => columns.length === 1 && columns[0] === column);
  const target = tables.find((one) => nameOf(one) === key?.table);
  const text = target?.columns.find(({ name, kind }) => kind === 'text' && name !== key?.referenced[0]);
  if (!key || !target || !text) return values;
  const [id, words] = [key.referenced[0] ?? '', text.name].map((name) =>
    rawSql(snapshot.dialect.quoteIdentifier(name)),
  );
  if (!id || !words) return values;
  const { rows } = await snapshot.query(
    sql`SELECT ${id} AS id, ${words} AS words FROM ${rawSql(tableSql(snapshot.dialect, target))} LIMIT ${{ text: '200', kind: 'number' }}`,
    `read the words of ${nameOf(target)}`,
  );
  const wordsOf = new Map(rows.map((row) => [row.id, row.words]));
  return values.map(({ value, count }) => {
    const found = value === null ? undefined : wordsOf.get(value);
    return { value, count, ...(found != null && { words: found }) };
  });
}

/** Evidence of a column: how full it is, and samples. */
export const filledOf = ({ filled, different, samples }: ColumnFacts, { rows }: TableFacts): Evidence => ({
  ...{ of: 'filled', filled, rows, different, samples },
});

/** Evidence of a column of times: its newest value, and its age where the zone is known. */
export function newestOf({ high, kind }: ColumnFacts, timeZone: string | null, nowMs: number): Evidence[] {
  if (high === null) return [];
  const at = timeZone === null ? null : instantOfValue(high, kind, timeZone);
  const minutesAgo = at === null ? null : Math.round((nowMs / 1000 - at.seconds) / 60);
  return [{ of: 'newest', value: high, minutesAgo, timeZone }];
}

/** True if every row has a value of its own. */
export const isUnique = ({ filled, different }: ColumnFacts, { rows }: TableFacts) =>
  rows > 0 && different === rows && filled === rows;

/** Puts columns whose values are unique first. */
export const byUnique = (table: TableFacts) => (a: ColumnFacts, b: ColumnFacts) =>
  Number(isUnique(b, table)) - Number(isUnique(a, table));
