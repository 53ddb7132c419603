import type { ErpDialect, ErpSnapshot } from '../../../db/erp-database.js';
import { allEqual, allOf, joinSql, rawSql, sql } from '../../../db/sql.js';
import { type CatalogueColumn, type CatalogueTable, nameOf, tableSql } from '../../../erp/catalogue.js';
import { isBytes } from './table-facts.js';

/** Columns of a table that hold the key of another. */
export interface Link {
  columns: readonly string[];
  /** The key of the other table, in the same order. */
  referenced: readonly string[];
}

/** A link, with how many of its different values are keys of the other table. */
export interface TestedLink extends Link {
  found: number;
  looked: number;
}

/** The declared keys from one table to another. */
export function declaredLinks(from: CatalogueTable, to: CatalogueTable): Link[] {
  return from.foreignKeys
    .filter(({ table }) => table === nameOf(to))
    .map(({ columns, referenced }) => ({ columns, referenced }));
}

/** The column that stands for a link of several: people name a link by one column. */
export const namedBy = ({ columns }: Pick<Link, 'columns'>): string => columns.at(-1) ?? '';

const fold = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/**
 * Ways in which a column that a person named can lead to the other table: a declared key if there is one, else a key of
 * several columns with the same names, else each key of one column of its kind.
 */
export function linksBy(column: string, from: CatalogueTable, to: CatalogueTable): Link[] {
  const declared = declaredLinks(from, to).filter(({ columns }) => columns.includes(column));
  if (declared.length > 0) return declared.slice(0, 1);
  const keys = keysOf(to);
  for (const key of keys) {
    const columns = key.map((part) => from.columns.find(({ name }) => fold(name) === fold(part))?.name);
    if (key.length > 1 && columns.includes(column) && !columns.includes(undefined))
      return [{ columns: columns.flatMap((name) => name ?? []), referenced: key }];
  }
  const called = (table: CatalogueTable, name: string | undefined) => table.columns.find((one) => one.name === name);
  return keys
    .filter((key) => key.length === 1 && isComparable(called(from, column), called(to, key[0])))
    .map((key) => ({ columns: [column], referenced: key }));
}

/** The columns that may hold a key of the other table by their kind. The table's own key, where it is one column, is none. */
export function columnsForLink(from: CatalogueTable, to: CatalogueTable): string[] {
  const isOwnKey = (name: string) => from.primaryKey.length === 1 && from.primaryKey[0] === name;
  return from.columns.flatMap(({ name }) => (isOwnKey(name) || linksBy(name, from, to).length === 0 ? [] : [name]));
}

/** Its primary key, and what is unique; of a table without any, each column that may hold a key. */
export function keysOf(table: CatalogueTable): (readonly string[])[] {
  const unique = table.indexes.filter(({ isUnique }) => isUnique).map(({ columns }) => columns);
  const keys = [...(table.primaryKey.length > 0 ? [table.primaryKey] : []), ...unique];
  const different = keys.filter((key, at) => keys.findIndex((one) => one.join() === key.join()) === at);
  return different.length > 0 ? different : table.columns.filter(isKeyLike).map(({ name }) => [name]);
}

/** A whole number, a text or bytes: no amount and no time. */
export const isKeyLike = (column: CatalogueColumn): boolean =>
  column.kind === 'text' ||
  column.isInteger ||
  isBytes(column) ||
  /^(decimal|numeric)\(\d+(, *0)?\)$/i.test(column.type);

// PostgreSQL compares no uuid with a text.
const isUuid = ({ type }: CatalogueColumn) => /^uuid/i.test(type);
const isComparable = (a: CatalogueColumn | undefined, b: CatalogueColumn | undefined): boolean =>
  a !== undefined && b !== undefined && a.kind === b.kind && isKeyLike(a) && isKeyLike(b) && isUuid(a) === isUuid(b);

/** A column of a key as it is compared and sent: bytes as hexadecimal digits. @param prefix such as `o.` */
export function keySql(dialect: ErpDialect, table: CatalogueTable, name: string, prefix = ''): string {
  const quoted = `${prefix}${dialect.quoteIdentifier(name)}`;
  const column = table.columns.find((one) => one.name === name);
  return column !== undefined && isBytes(column) ? dialect.asHex(quoted) : quoted;
}

/** As many different values of a column are looked for in another table. */
const LOOKED_FOR = 200;

/** Counts the different values of a link that are keys of the other table. */
export async function testLink(
  snapshot: ErpSnapshot,
  from: CatalogueTable,
  to: CatalogueTable,
  link: Link,
): Promise<TestedLink> {
  const { columns, referenced } = link;
  const none = { ...link, looked: 0, found: 0 };
  const called = (table: CatalogueTable, name: string | undefined) => table.columns.find((one) => one.name === name);
  if (columns.some((name, at) => called(from, name)?.kind !== called(to, referenced[at])?.kind)) return none;
  const { dialect } = snapshot;
  const own = columns.map((name) => rawSql(keySql(dialect, from, name)));
  const keys = referenced.map((name) => rawSql(keySql(dialect, to, name)));
  const doing = `look for keys of ${nameOf(to)}`;
  const filled = allOf(columns.map((name) => sql`${rawSql(dialect.quoteIdentifier(name))} IS NOT NULL`));
  const values = joinSql(own.map((one, at) => sql`${one} AS ${rawSql(`v${at}`)}`));
  const { rows } = await snapshot.query(
    sql`SELECT DISTINCT ${values} FROM ${rawSql(tableSql(dialect, from))} WHERE ${filled} LIMIT ${{ text: `${LOOKED_FOR}`, kind: 'number' }}`,
    doing,
  );
  if (rows.length === 0) return none;
  const kindOf = (key: string) => (called(to, key)?.kind === 'number' ? 'number' : 'text');
  const wanted = rows.map((row) =>
    allEqual(
      keys,
      referenced.map((key, at) => ({ text: row[`v${at}`] ?? '', kind: kindOf(key) })),
    ),
  );
  const found = await snapshot.query(
    sql`SELECT DISTINCT ${joinSql(keys)} FROM ${rawSql(tableSql(dialect, to))} WHERE ${joinSql(wanted, ' OR ')}`,
    doing,
  );
  return { ...link, looked: rows.length, found: found.rows.length };
}
