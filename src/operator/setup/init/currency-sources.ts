import type { ErpSnapshot } from '../../../db/erp-database.js';
import { joinSql, rawSql, type Sql, sql } from '../../../db/sql.js';
import {
  type Catalogue,
  type CatalogueTable,
  countRows,
  countValues,
  nameOf,
  ROWS_LOOKED_AT,
  tableSql,
  type ValueCount,
} from '../../../erp/catalogue.js';
import type { Link } from './links.js';

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

/** A table of currencies has fewer rows. */
const MOST_CURRENCIES = 1000;

/** Lists the places that hold codes of currencies, by their values. */
export async function currencySources(
  snapshot: ErpSnapshot,
  { tables }: Catalogue,
  orders: CatalogueTable,
  { table: customers, link }: { table: CatalogueTable; link: Link },
): Promise<CurrencySource[]> {
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
    if ((await countRows(snapshot, table, MOST_CURRENCIES)) === MOST_CURRENCIES) continue;
    const [code] = await columnsOfCodes(snapshot, table);
    if (code === undefined) continue;
    const join = `\nLEFT JOIN ${tableSql(snapshot.dialect, table)} cur ON cur.${quote(referenced[0] ?? '')} = o.${quote(key)}`;
    await add({ label: key, sql: `cur.${quote(code)}`, join, table, columns: [key] });
  }
  // The currency of a customer is not that of an order that has one of its own.
  if (found.length > 0) return found;
  const on = link.columns.map((name, at) => `c.${quote(link.referenced[at] ?? '')} = o.${quote(name)}`);
  const join = `\nLEFT JOIN ${tableSql(snapshot.dialect, customers)} c ON ${on.join(' AND ')}`;
  for (const name of await columnsOfCodes(snapshot, customers))
    await add({ label: `${nameOf(customers)}.${name}`, sql: `c.${quote(name)}`, join, table: null, columns: [] });
  return found;
}

/** The text columns in which at least half of the different values are codes of currencies. */
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
    const ends = [rows[0]?.[`a${at}`], rows[0]?.[`b${at}`]].map(currencyIn);
    if (ends.every((one) => one === null)) continue;
    const values = (await countValues(snapshot, from, code(name))).filter(({ value }) => value !== null);
    if (values.filter(({ value }) => currencyIn(value) !== null).length * 2 >= values.length) found.push(name);
  }
  return found;
}
