import { type CatalogueColumn, type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import type { GivenColumns } from './find-columns.js';
import { columnWords, fold } from './words.js';

/** Columns of a table that hold the key of another. */
export interface Link {
  columns: readonly string[];
  /** The key of the other table, in the same order. */
  referenced: readonly string[];
  isDeclared: boolean;
  /** Columns, this link's own among them, that may be meant just as well: a person has to say which. Empty: it is certain. */
  unclear?: readonly string[];
}

/** What a link is for. */
export type LinkRole = 'order.customer' | 'line.order';

/** Columns that hold a customer who is not the buyer, somebody of the staff, or another order than one's own. */
const otherRole: Record<LinkRole, RegExp> = {
  'order.customer':
    /agent|vertret|sales(?!order)|seller|verkauf|rep(id|no|nr)?$|commercial|employee|manager|owner|contact|kontakt|ansprech|creat|updat|modif|approv|author|(by|von)(id)?$|ship|deliver|liefer|versand|livr|recip|empf|consign|bill|invoice|rechn|fact|payer|payor|zahl|carrier|sped|broker|referr|parent|orig|prev|^end/,
  'line.order': /repl|ersetz|orig|prev|next|relat|return|retour|credit|parent|source|copy|template|purch|quot/,
};

/**
 * How a row of one table names a row of the other: by a declared key, by columns of the same names, or by a name that says so.
 * Where several do, the names tell which one is meant, or else `unclear` lists them: the order in which a database names its
 * keys says nothing.
 */
export function linkBetween(
  role: LinkRole,
  from: CatalogueTable,
  to: CatalogueTable,
  given: GivenColumns = {},
): Link | null {
  const declared = from.foreignKeys
    .filter(({ table }) => table === nameOf(to))
    .map(({ columns, referenced }): Link => ({ columns, referenced, isDeclared: true }));
  const named = from.columns.find(({ name }) => name.toLowerCase() === given[role]?.toLowerCase());
  const wanted = named && (declared.find(({ columns }) => columns.includes(named.name)) ?? byName(named, to));
  if (wanted) return wanted;
  const links = declared.length > 0 ? declared : undeclared(from, to);
  const rank = (link: Link) => Math.min(...link.columns.map((name) => rankOf(role, name, to, link.referenced)));
  const best = Math.min(...links.map(rank));
  const likeliest = links.filter((link) => rank(link) === best);
  const [first] = likeliest;
  if (first === undefined) return null;
  // A column with the plain name beside a key that has another one: either may be meant.
  const all = [...likeliest, ...(best === PLAIN ? [] : plainOnes(role, from, to))];
  // Of two keys over the same columns, such as with and without the company, one is as good as the other.
  const rivals = all.filter(({ columns }) => !isWithin(columns, first.columns) && !isWithin(first.columns, columns));
  if (rivals.length === 0 && (best !== OTHER || role === 'line.order')) return first;
  const isShared = (name: string) => all.length > 1 && all.every(({ columns }) => columns.includes(name));
  const unclear = all.flatMap(({ columns }) => columns).filter((name) => !isShared(name));
  return { ...first, unclear: [...new Set(unclear)] };
}

const isWithin = (some: readonly string[], all: readonly string[]) => some.every((one) => all.includes(one));

const [PLAIN, UNKNOWN, OTHER] = [0, 1, 2];

/** How well the name of a column says that it is the link of this role. */
function rankOf(role: LinkRole, name: string, to: CatalogueTable, referenced: readonly string[]): number {
  const folded = fold(name);
  const stem = stemOf(to.name);
  const rest = folded.replace(/^fk/, '').replace(KEY_WORD, '');
  const isNamedLikeTable = rest === stem || rest === `${stem}s`;
  const isNamedLikeKey = !isPlainKey(folded) && referenced.some((key) => fold(key) === folded);
  if (isNamedLikeTable || isNamedLikeKey || columnWords[role].some((word) => word.test(folded))) return PLAIN;
  return otherRole[role].test(folded) ? OTHER : UNKNOWN;
}

const KEY_WORD = /(id|nr|no|num|number|nummer|code|key|ref|uuid)$/;
const isPlainKey = (folded: string) => /^(id|nr|no|code|key|name|number|nummer)$/.test(folded);

/** Columns whose name says it, and that are in no declared key. */
function plainOnes(role: LinkRole, from: CatalogueTable, to: CatalogueTable): Link[] {
  const isLinked = (name: string) => from.foreignKeys.some(({ columns }) => columns.includes(name));
  return from.columns
    .filter(({ name }) => !isLinked(name) && columnWords[role].some((word) => word.test(fold(name))))
    .flatMap((column) => byName(column, to) ?? []);
}

/** The columns that may hold a key of the other table by their type: those with a plain name, then as they stand in the table. */
export function columnsForLink(role: LinkRole, from: CatalogueTable, to: CatalogueTable): string[] {
  const isOwnKey = (name: string) => from.primaryKey.length === 1 && from.primaryKey[0] === name;
  const links = from.columns.flatMap((column) => (isOwnKey(column.name) ? [] : (byName(column, to) ?? [])));
  const named = links.flatMap(({ columns, referenced }) =>
    columns.map((name) => ({ name, isPlain: rankOf(role, name, to, referenced) === PLAIN })),
  );
  return [...named.filter(({ isPlain }) => isPlain), ...named.filter(({ isPlain }) => !isPlain)].map(
    ({ name }) => name,
  );
}

/** A column that holds a key of one column. */
function byName({ name, kind }: CatalogueColumn, to: CatalogueTable): Link | null {
  for (const key of keysOf(to)) {
    const isFit = key.length === 1 && to.columns.some((one) => one.name === key[0] && one.kind === kind);
    if (isFit) return { columns: [name], referenced: key, isDeclared: false };
  }
  return null;
}

/** By the names alone: for the first key of the other table that there are columns for. */
function undeclared(from: CatalogueTable, to: CatalogueTable): Link[] {
  for (const key of keysOf(to)) {
    const columns = key.map((name) => sameColumns(from, to, name));
    if (columns.some(({ length }) => length === 0)) continue;
    const [only = [], ...more] = columns;
    const ways = more.length === 0 ? only.map((name) => [name]) : [columns.map(([name = '']) => name)];
    return ways.map((way) => ({ columns: way, referenced: key, isDeclared: false }));
  }
  return [];
}

/** Its primary key, else what is unique; a table without any may have a column that is called like one. */
export function keysOf(table: CatalogueTable): (readonly string[])[] {
  if (table.primaryKey.length > 0) return [table.primaryKey, ...uniqueOf(table)];
  const unique = uniqueOf(table);
  if (unique.length > 0) return unique;
  return table.columns.filter(({ name }) => /(^id|id|nr|no|num|key)$/.test(fold(name))).map(({ name }) => [name]);
}

const uniqueOf = ({ indexes }: CatalogueTable) =>
  indexes.filter(({ isUnique }) => isUnique).map(({ columns }) => columns);

/** The columns that may hold this key of the other table, by the plainest way that finds any. */
function sameColumns(from: CatalogueTable, to: CatalogueTable, key: string): string[] {
  const [target] = to.columns.filter(({ name }) => name === key);
  const isOwnKey = (name: string) => from.primaryKey.length === 1 && from.primaryKey[0] === name;
  const fits = ({ name, kind }: CatalogueColumn) => kind === target?.kind && !isOwnKey(name);
  const stem = stemOf(to.name);
  const isPlain = isPlainKey(fold(key));
  const ways: ((name: string) => boolean)[] = [
    (name) => !isPlain && name === fold(key),
    (name) => name === stem + fold(key) || name === `${stem}s${fold(key)}` || name === `fk${stem}`,
    (name) => name === stem || name === `${stem}ref`,
    (name) => stem.length > 3 && name.startsWith(stem) && name.endsWith(fold(key)),
    // `customer_id` beside `tbl_customer`, `kunde` beside `kundenstamm`
    (name) =>
      isPlain &&
      name.endsWith(fold(key)) &&
      name.length > fold(key).length + 2 &&
      stem.includes(name.slice(0, -fold(key).length)),
  ];
  for (const way of ways) {
    const found = from.columns.filter((column) => fits(column) && way(fold(column.name)));
    if (found.length > 0) return found.map(({ name }) => name);
  }
  return [];
}

/** A table's name without what stands before and behind it: `tbl_customers` → `customer`, `SalesOrderHeader` → `salesorder`. */
export function stemOf(name: string): string {
  return fold(name)
    .replace(/^(tbl|tb|t(?=[bcdfghjklmnpqrstvwxz])|erp|app|dbo)/, '')
    .replace(/(header|headers|head|hdr|kopf|master|stamm)$/, '')
    .replace(/(ies|en|e?s)$/, (end) => (end === 'ies' ? 'y' : ''));
}
