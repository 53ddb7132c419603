import type { ErpDatabase, ErpSnapshot } from '../../../db/erp-database.js';
import { joinSql, rawSql, type Sql, sql } from '../../../db/sql.js';
import {
  type Catalogue,
  type CatalogueTable,
  countValues,
  nameOf,
  ROWS_LOOKED_AT,
  tableSql,
  type ValueCount,
} from '../../../erp/catalogue.js';
import type { TableTriple } from './choose-tables.js';
import { countsInWords } from './few-values.js';
import type { GivenColumns } from './find-columns.js';
import { InitError, type Interview } from './interview.js';
import { saysCurrency } from './words.js';

/** A place that holds the currency of an order: in its row, in a table that it points to, or with its customer. */
export interface CurrencySource {
  /** The column that people name it by. */
  label: string;
  /** The code as SQL beside the orders as `o` and this join. */
  sql: string;
  join: string;
  /** The table of the currencies, if it is one. */
  table: CatalogueTable | null;
  /** Columns of the orders that it is in. */
  columns: readonly string[];
  /** In the orders, as they are written there. */
  codes: readonly ValueCount[];
}

const currencyCodes = new Set(Intl.supportedValuesOf('currency'));
/** The code as ISO 4217 writes it, or null. ERPs write `eur` as well. */
export const currencyIn = (text: string | null | undefined): string | null => {
  const code = text?.trim().toUpperCase() ?? '';
  return currencyCodes.has(code) ? code : null;
};

/** Lists the places that hold codes of currencies, by their values. */
export async function currencySources(
  database: ErpDatabase,
  { tables }: Catalogue,
  { orders, customers, customerLink }: Pick<TableTriple, 'orders' | 'customers' | 'customerLink'>,
): Promise<CurrencySource[]> {
  return database.snapshot(async (snapshot) => {
    const quote = snapshot.dialect.quoteIdentifier;
    const ordersSql = `${tableSql(snapshot.dialect, orders)} o`;
    const found: CurrencySource[] = [];
    const add = async (source: Omit<CurrencySource, 'codes'>) => {
      const codes = await countValues(snapshot, rawSql(`${ordersSql}${source.join}`), rawSql(source.sql));
      if (codes.some(({ value }) => currencyIn(value) !== null)) found.push({ ...source, codes });
    };
    for (const name of await columnsOfCodes(snapshot, orders))
      await add({ label: name, sql: `o.${quote(name)}`, join: '', table: null, columns: [name] });
    for (const { table: target, columns, referenced } of orders.foreignKeys) {
      const table = tables.find((one) => nameOf(one) === target);
      const [key, ...more] = columns;
      if (!table || table === customers || key === undefined || more.length > 0) continue;
      if (!saysCurrency(key) && !saysCurrency(table.name)) continue;
      const [code] = await columnsOfCodes(snapshot, table);
      if (code === undefined) continue;
      const join = `\nLEFT JOIN ${tableSql(snapshot.dialect, table)} cur ON cur.${quote(referenced[0] ?? '')} = o.${quote(key)}`;
      await add({ label: key, sql: `cur.${quote(code)}`, join, table, columns: [key] });
    }
    // The currency of a customer is not that of an order that has one of its own, readable or not.
    if (found.length > 0 || orders.columns.some(({ name }) => saysCurrency(name))) return found;
    const on = customerLink.columns.map(
      (name, at) => `c.${quote(customerLink.referenced[at] ?? '')} = o.${quote(name)}`,
    );
    const join = `\nLEFT JOIN ${tableSql(snapshot.dialect, customers)} c ON ${on.join(' AND ')}`;
    for (const name of (await columnsOfCodes(snapshot, customers)).filter(saysCurrency))
      await add({ label: name, sql: `c.${quote(name)}`, join, table: null, columns: [] });
    return found;
  });
}

/** The text columns whose values are codes of currencies; one that is called so may hold others beside them. */
async function columnsOfCodes(snapshot: ErpSnapshot, table: CatalogueTable): Promise<string[]> {
  const texts = table.columns.filter(({ kind }) => kind === 'text');
  if (texts.length === 0) return [];
  const from = rawSql(tableSql(snapshot.dialect, table));
  const code = (name: string) => sql`NULLIF(CAST(${rawSql(snapshot.dialect.quoteIdentifier(name))} AS CHAR(10)), '')`;
  const list = (write: (name: string, at: number) => Sql) => joinSql(texts.map(({ name }, at) => write(name, at)));
  const limit = { text: `${ROWS_LOOKED_AT}`, kind: 'number' } as const;
  const some = sql`SELECT ${list((name, at) => sql`${code(name)} AS ${rawSql(`c${at}`)}`)} FROM ${from} LIMIT ${limit}`;
  const ends = list((_, at) => rawSql(`MIN(c${at}) AS a${at}, MAX(c${at}) AS b${at}`));
  const { rows } = await snapshot.query(sql`SELECT ${ends} FROM (${some}) s`, 'look for codes of currencies');
  const found: string[] = [];
  for (const [at, { name }] of texts.entries()) {
    const [lowest, highest] = [rows[0]?.[`a${at}`], rows[0]?.[`b${at}`]].map(currencyIn);
    if (saysCurrency(name) ? lowest == null && highest == null : lowest == null || highest == null) continue;
    const values = await countValues(snapshot, from, code(name));
    if (saysCurrency(name) || values.every(({ value }) => value === null || currencyIn(value) !== null))
      found.push(name);
  }
  return found;
}

/**
 * The place that holds the currency: the only one, else the one that a person chooses. Null: none does.
 * @returns undefined while the question is open
 */
export async function chooseCurrency(
  interview: Interview,
  sources: readonly CurrencySource[],
  orders: CatalogueTable,
  given: GivenColumns,
): Promise<CurrencySource | null | undefined> {
  const named = given['order.currency'];
  const called = (label: string) => sources.find((one) => one.label.toLowerCase() === label.toLowerCase());
  const there = sources.map(({ label }) => label).join(', ') || 'none';
  if (named !== undefined) {
    const source = called(named);
    if (named === 'none' || source !== undefined) return source ?? null;
    throw new InitError(
      `--column order.currency=${named}: ${nameOf(orders)} has no such column that leads to codes of currencies. Columns that do: ${there}`,
    );
  }
  const [first = null] = sources;
  const codes = new Set(sources.flatMap((one) => one.codes.map(({ value }) => currencyIn(value))));
  if (sources.length < 2 || codes.size === 1) return first;
  const answer = await interview.answer(
    {
      ...{ name: 'column', role: 'order.currency' },
      text: `Which column of ${nameOf(orders)} holds the currency of the amounts that are sent? none: no column does.`,
      choices: sources.map(({ label, codes }) => ({ value: `order.currency=${label}`, note: countsInWords(codes) })),
    },
    (text) => {
      const label = text.replace(/^order\.currency=/, '');
      return label === 'none' || called(label) !== undefined ? null : `write one of ${there}, or none`;
    },
  );
  return answer === null ? undefined : (called(answer.replace(/^order\.currency=/, '')) ?? null);
}
