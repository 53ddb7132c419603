import type { ErpDatabase, ErpSnapshot } from '../../../db/erp-database.js';
import { rawSql, sql } from '../../../db/sql.js';
import {
  type Catalogue,
  type CatalogueColumn,
  type CatalogueTable,
  countValues,
  nameOf,
  tableSql,
  type ValueCount,
} from '../../../erp/catalogue.js';
import type { Choice } from './interview.js';
import { saysCompany } from './words.js';

/** A column of few values: it may tell orders from offers, removed rows from others, or one company from the next. */
export interface FewValued {
  column: string;
  values: CountedValue[];
  /** All values are listed. Else there are empty ones and others. */
  isWhole: boolean;
}

export interface CountedValue extends ValueCount {
  /** The words of the table that the column points to: `Quotation`. */
  words?: string;
}

/** Kinds of documents have up to eight values in the ERPs that were looked at; companies can be more. */
const FEW = 12;
const COMPANIES = 30;

/**
 * Lists the columns of a table that hold few values, with how often each is there.
 * @param skipped columns that play a role of their own, such as keys and amounts
 */
export async function fewValued(
  database: ErpDatabase,
  catalogue: Catalogue,
  table: CatalogueTable,
  skipped: readonly string[],
): Promise<FewValued[]> {
  const told = table.columns.filter((column) => mayTell(column) && !skipped.includes(column.name));
  return database.snapshot(async (snapshot) => {
    const found: FewValued[] = [];
    for (const column of told) {
      const one = await valuesOf(snapshot, catalogue, table, column);
      if (one !== null) found.push(one);
    }
    return found;
  });
}

const mayTell = ({ kind }: CatalogueColumn) => kind !== 'other';
const isFraction = ({ kind, isInteger, isFloat, type }: CatalogueColumn) =>
  kind === 'number' && !isInteger && (isFloat || !/^(decimal|numeric)\(\d+(, *0)?\)|^bit/i.test(type));
const isTime = ({ kind }: CatalogueColumn) => kind === 'time' || kind === 'date';

async function valuesOf(
  snapshot: ErpSnapshot,
  catalogue: Catalogue,
  table: CatalogueTable,
  column: CatalogueColumn,
): Promise<FewValued | null> {
  const from = rawSql(tableSql(snapshot.dialect, table));
  const name = rawSql(snapshot.dialect.quoteIdentifier(column.name));
  // Times tell something by being there: a row that was removed has one.
  if (isTime(column)) return emptyOrNot(snapshot, table, column.name);
  const most = saysCompany(column.name) ? COMPANIES : FEW;
  // The limit makes the database read few rows of a column with many values.
  const limit = { text: `${most + 1}`, kind: 'number' } as const;
  const { rows } = await snapshot.query(
    sql`SELECT DISTINCT ${name} AS v FROM ${from} LIMIT ${limit}`,
    'look for marks',
  );
  if (rows.length < 2) return null;
  if (rows.length > most) return column.isInteger ? emptyOrNot(snapshot, table, column.name) : null;
  const values = await countValues(snapshot, from, name, { limit: most });
  const total = values.reduce((sum, { count }) => sum + count, 0);
  // If each row has a value of its own, the column is a number or a name of the row.
  if (column.kind !== 'boolean' && !/^enum/i.test(column.type) && values.length === total) return null;
  // An amount that many rows happen to share tells nothing; a factor that is nearly always 1 does.
  if (isFraction(column) && ![null, 0, 1].includes(numberIn(values[0]?.value))) return null;
  return { column: column.name, values: await inWords(snapshot, catalogue, table, column.name, values), isWhole: true };
}

const numberIn = (value: string | null | undefined) => (value == null ? null : Number(value));

/** Counts rows with and without a value; null unless there are both. */
async function emptyOrNot(snapshot: ErpSnapshot, table: CatalogueTable, column: string): Promise<FewValued | null> {
  const name = rawSql(snapshot.dialect.quoteIdentifier(column));
  const { rows } = await snapshot.query(
    sql`SELECT COUNT(*) AS n, COUNT(${name}) AS filled FROM ${rawSql(tableSql(snapshot.dialect, table))}`,
    `look for empty values of ${column}`,
  );
  const [all, filled] = [Number(rows[0]?.n ?? 0), Number(rows[0]?.filled ?? 0)];
  if (filled === 0 || filled === all) return null;
  return {
    column,
    values: [
      { value: null, count: all - filled },
      { value: FILLED, count: filled },
    ],
    isWhole: false,
  };
}

/** Stands for all values that are not NULL. */
export const FILLED = 'NOT NULL';

/** The values, with the words of the table that the column points to. */
async function inWords(
  snapshot: ErpSnapshot,
  { tables }: Catalogue,
  table: CatalogueTable,
  column: string,
  values: ValueCount[],
): Promise<CountedValue[]> {
  const key = table.foreignKeys.find(({ columns }) => columns.length === 1 && columns[0] === column);
  const target = tables.find((one) => nameOf(one) === key?.table);
  const texts = target?.columns.filter(({ name, kind }) => kind === 'text' && name !== key?.referenced[0]) ?? [];
  const text = texts.find(({ name }) => /name|desc|title|label|bezeich/i.test(name)) ?? texts[0];
  if (!key || !target || !text) return values;
  const [id, words] = [key.referenced[0] ?? '', text.name].map((name) =>
    rawSql(snapshot.dialect.quoteIdentifier(name)),
  );
  if (!id || !words) return values;
  const from = rawSql(tableSql(snapshot.dialect, target));
  const limit = { text: '200', kind: 'number' } as const;
  const { rows } = await snapshot.query(
    sql`SELECT ${id} AS id, ${words} AS words FROM ${from} LIMIT ${limit}`,
    `read the words of ${nameOf(target)}`,
  );
  const wordsOf = new Map(rows.map((row) => [row.id, row.words]));
  return values.map(({ value, count }) => {
    const found = value === null ? undefined : wordsOf.get(value);
    return { value, count, ...(found != null && { words: found }) };
  });
}

/** `open: 7, NULL: 2`, `2 (Quotation): 5` */
export const countsInWords = (values: readonly CountedValue[]): string =>
  values.map(({ value, count, words }) => `${shownValue(value)}${words ? ` (${words})` : ''}: ${count}`).join(', ');

/** As a person types it: NULL, and '' for the empty text. */
export const shownValue = (value: string | null): string => (value === '' ? "''" : (value ?? 'NULL'));

export const choicesOf = (values: readonly CountedValue[]): Choice[] =>
  values.map(({ value, count, words }) => ({
    value: shownValue(value),
    note: `${words ? `${words}, ` : ''}${inRows(count, 'order')}`,
  }));

export const inRows = (count: number, what: 'order' | 'row') => (count === 1 ? `1 ${what}` : `${count} ${what}s`);
