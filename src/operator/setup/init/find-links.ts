import { type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import { fold, numberingPart } from './words.js';

/** Columns of a table that hold the key of another. */
export interface Link {
  columns: readonly string[];
  /** The key of the other table, in the same order. */
  referenced: readonly string[];
}

/** The declared keys from one table to another. */
export function declaredLinks(from: CatalogueTable, to: CatalogueTable): Link[] {
  return from.foreignKeys
    .filter(({ table }) => table === nameOf(to))
    .map(({ columns, referenced }) => ({ columns, referenced }));
}

/** The column that stands for a link of several: people name a link by one column. */
export const namedBy = ({ columns }: Pick<Link, 'columns'>): string => numberingPart(columns) ?? columns.at(-1) ?? '';

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
  const kindOf = (table: CatalogueTable, name: string | undefined) =>
    table.columns.find((one) => one.name === name)?.kind;
  const kind = kindOf(from, column);
  return keys
    .filter((key) => key.length === 1 && kindOf(to, key[0]) === kind)
    .map((key) => ({ columns: [column], referenced: key }));
}

/** The columns that may hold a key of the other table by their kind. The table's own key, where it is one column, is none. */
export function columnsForLink(from: CatalogueTable, to: CatalogueTable): string[] {
  const isOwnKey = (name: string) => from.primaryKey.length === 1 && from.primaryKey[0] === name;
  return from.columns.flatMap(({ name }) => (isOwnKey(name) || linksBy(name, from, to).length === 0 ? [] : [name]));
}

/** Its primary key, else what is unique; a table without any may have a column that is called like one. */
export function keysOf(table: CatalogueTable): (readonly string[])[] {
  const unique = table.indexes.filter(({ isUnique }) => isUnique).map(({ columns }) => columns);
  const keys = [...(table.primaryKey.length > 0 ? [table.primaryKey] : []), ...unique];
  const different = keys.filter((key, at) => keys.findIndex((one) => one.join() === key.join()) === at);
  if (different.length > 0) return different;
  return table.columns.filter(({ name }) => isCalledKey(name)).map(({ name }) => [name]);
}

/** Columns that are called like a key: `customer_id`, `KDNR`. */
export const isCalledKey = (name: string) => /(id|nr|no|num|number|nummer|code|key|ref|uuid)$/.test(fold(name));
