import type { ErpDatabase, ErpSnapshot } from '../../../db/erp-database.js';
import { allEqual, allOf, joinSql, rawSql, sql } from '../../../db/sql.js';
import { type Catalogue, type CatalogueTable, countRows, nameOf, tableSql } from '../../../erp/catalogue.js';
import { askColumn } from './ask-column.js';
import { inRows } from './few-values.js';
import { columnsFor, type GivenColumns } from './find-columns.js';
import { columnsForLink, declaredLinks, isCalledKey, type Link, linksBy, namedBy } from './find-links.js';
import { type Choice, InitError, type Interview } from './interview.js';
import { fold, type TableRole, tableWords } from './words.js';

/** The three tables of an unknown schema, and how they belong together. */
export interface TableTriple {
  orders: CatalogueTable;
  lines: CatalogueTable;
  customers: CatalogueTable;
  /** Links the lines to the orders. */
  lineLink: Link;
  /** Links the orders to the customers. */
  customerLink: Link;
}

const whichTable: Record<TableRole, string> = {
  orders: 'Which table holds the sales orders?',
  lines: 'Which table holds their lines?',
  customers: 'Which table holds the customers?',
};
const tableRoles = Object.keys(whichTable) as TableRole[];

/** Offered at most; any other table can be named. */
const MOST_TABLES = 20;

/**
 * Asks which tables hold the orders, their lines and the customers, and which columns link them. Words and declared keys
 * decide only what is offered first. A part is null while its question is open.
 */
export async function chooseTables(
  database: ErpDatabase,
  catalogue: Catalogue,
  interview: Interview,
  given: GivenColumns,
): Promise<{ [Part in keyof TableTriple]: TableTriple[Part] | null }> {
  const named = tablesNamed(catalogue, interview);
  const ask = (role: TableRole, likely: readonly CatalogueTable[], notes?: ReadonlyMap<CatalogueTable, string>) =>
    askTable(database, catalogue, interview, role, { likely, notes });
  const orders = named.orders ?? (await ask('orders', []));
  const pointing = orders === null ? [] : catalogue.tables.filter((one) => declaredLinks(one, orders).length > 0);
  const lines = named.lines ?? (await ask('lines', pointing));
  if (orders === null) {
    const customers = named.customers ?? (await ask('customers', []));
    return { orders, lines, customers, lineLink: null, customerLink: null };
  }
  const lineLink = lines === null ? null : await askLineLink(database, interview, lines, orders, given);
  const asking = { database, interview, given };
  const buyer = await askBuyer(asking, catalogue, orders, named.customers);
  let customers = named.customers ?? null;
  if (customers === null) {
    const declared = catalogue.tables.filter((one) =>
      declaredLinks(orders, one).some((link) => namedBy(link) === buyer),
    );
    const found =
      declared.length > 0 || buyer === null ? new Map() : await tablesWith(database, catalogue, orders, buyer);
    customers = await ask('customers', declared.length > 0 ? declared : [...found.keys()], found);
  }
  const customerLink =
    buyer === null || customers === null ? null : await askCustomerKey(asking, orders, customers, buyer);
  const different = [orders, lines, customers].filter((one) => one !== null);
  if (new Set(different).size < different.length)
    throw new InitError('--orders-table, --lines-table and --customers-table: name three different tables');
  return { orders, lines, customers, lineLink, customerLink };
}

/** @throws InitError for a table that is not there */
function tablesNamed(catalogue: Catalogue, interview: Interview): Partial<Record<TableRole, CatalogueTable>> {
  const named = tableRoles.flatMap((role) => {
    const name = interview.isGiven(`${role}-table`);
    if (name === undefined) return [];
    const table = tableCalled(catalogue, name);
    if (table === undefined) throw new InitError(`--${role}-table ${name}: the account sees no such table`);
    return [[role, table] as const];
  });
  return Object.fromEntries(named);
}

const tableCalled = ({ tables }: Catalogue, name: string) =>
  tables.find((table) => nameOf(table).toLowerCase() === name.toLowerCase());

/** @param likely tables that keys or values speak for: they are offered first */
async function askTable(
  database: ErpDatabase,
  catalogue: Catalogue,
  interview: Interview,
  role: TableRole,
  {
    likely,
    notes = new Map(),
  }: { likely: readonly CatalogueTable[]; notes?: ReadonlyMap<CatalogueTable, string> | undefined },
): Promise<CatalogueTable | null> {
  const rank = (table: CatalogueTable) =>
    (likely.includes(table) ? 0 : 4) + (tableWords[role].test(fold(table.name)) ? 0 : 2) + (table.isView ? 1 : 0);
  const sorted = catalogue.tables.map((table) => ({ table, at: rank(table) })).sort((a, b) => a.at - b.at);
  const choices = await database.snapshot(async (snapshot) => {
    const found: Choice[] = [];
    for (const { table } of sorted) {
      if (found.length === MOST_TABLES) break;
      // Counting the rows of a view may take for ever.
      const rows = table.isView ? null : await countRows(snapshot, table);
      const note = [rows === null ? 'a view' : inRows(rows, 'row'), notes.get(table)].filter(
        (one) => one !== undefined,
      );
      if (rows !== 0) found.push({ value: nameOf(table), note: note.join(', ') });
    }
    return found;
  });
  const others = catalogue.tables.length - choices.length;
  const [only, ...more] = likely;
  const answer = await interview.answer(
    {
      name: `${role}-table`,
      text: others > 0 ? `${whichTable[role]} (${others} other tables are not listed.)` : whichTable[role],
      choices,
      likely: only !== undefined && more.length === 0 ? nameOf(only) : undefined,
    },
    (name) => (tableCalled(catalogue, name) === undefined ? 'the account sees no such table' : null),
  );
  return answer === null ? null : (tableCalled(catalogue, answer) ?? null);
}

/** The one declared key of the lines to the orders; a person chooses where there is none, or several. */
async function askLineLink(
  database: ErpDatabase,
  interview: Interview,
  lines: CatalogueTable,
  orders: CatalogueTable,
  given: GivenColumns,
): Promise<Link | null> {
  const declared = declaredLinks(lines, orders);
  const [only, ...more] = declared;
  if (given['line.order'] === undefined && only !== undefined && more.length === 0) return only;
  const fitting = columnsForLink(lines, orders);
  if (fitting.length === 0)
    throw new InitError(
      `No column of ${nameOf(lines)} can hold the key of ${nameOf(orders)}. Name another --lines-table.`,
    );
  const offered = declared.length > 0 ? declared.map(namedBy) : plainFirst('line.order', lines, fitting);
  const choices = await database.snapshot(async (snapshot) => {
    const found: { value: string; note: string; keys: number }[] = [];
    for (const value of offered) {
      const [link] = linksBy(value, lines, orders);
      if (link === undefined) continue;
      const keys = await keysFound(snapshot, lines, orders, link);
      found.push({ value, note: inWords(keys), keys: keys.found });
    }
    const some = found.some(({ keys }) => keys > 0);
    return found.filter(({ keys }) => !some || keys > 0).sort((a, b) => b.keys - a.keys);
  });
  const column = await askColumn(interview, given, {
    role: 'line.order',
    table: lines,
    text: `Which column of ${nameOf(lines)} names the order that the line belongs to?`,
    choices,
    problem: (one) => (linksBy(one, lines, orders).length > 0 ? null : notAKey(lines, orders, offered)),
  });
  return column === null ? null : (linksBy(column, lines, orders)[0] ?? null);
}

const notAKey = (from: CatalogueTable, to: CatalogueTable, offered: readonly string[]) =>
  `it can not hold a key of ${nameOf(to)}. These columns of ${nameOf(from)} can: ${offered.join(', ') || 'none'}`;

/** Columns that are called like the role, then those that are called like keys, then the others. */
function plainFirst(
  role: 'line.order' | 'order.customer',
  table: CatalogueTable,
  columns: readonly string[],
): string[] {
  const plain = columnsFor(table, role).map(({ name }) => name);
  const rank = (name: string) => {
    if (plain.includes(name)) return 0;
    return isCalledKey(name) ? 1 : 2;
  };
  return [...columns].sort((a, b) => rank(a) - rank(b));
}

/** Input for a question about a column. */
interface Asking {
  database: ErpDatabase;
  interview: Interview;
  given: GivenColumns;
}

/** The column of the orders that names the buyer, from every key that the orders have to any table. */
async function askBuyer(
  { database, interview, given }: Asking,
  catalogue: Catalogue,
  orders: CatalogueTable,
  customers: CatalogueTable | undefined,
): Promise<string | null> {
  const targets = new Map<string, string>();
  for (const key of orders.foreignKeys) targets.set(namedBy(key), key.table);
  const isLinked = (name: string) => orders.foreignKeys.some(({ columns }) => columns.includes(name));
  const isOwnKey = (name: string) => orders.primaryKey.length === 1 && orders.primaryKey[0] === name;
  const isCalledSo = (name: string) =>
    isCalledKey(name) ||
    columnsFor(orders, 'order.customer').some((one) => one.name === name) ||
    catalogue.tables.some((table) => fold(table.name).endsWith(fold(name)));
  const undeclared = orders.columns
    .filter(({ name, kind }) => !isLinked(name) && !isOwnKey(name) && (kind === 'number' || kind === 'text'))
    .filter(({ name }) =>
      customers ? linksBy(name, orders, customers).length > 0 && isCalledSo(name) : isCalledSo(name),
    )
    .map(({ name }) => name);
  const loose = plainFirst('order.customer', orders, undeclared);
  const counts = await database.snapshot((snapshot) => countKeys(snapshot, orders, [...targets.keys(), ...loose]));
  // A company, a currency or a shipping method has few values, a buyer many.
  const differ = (name: string) => counts.get(name)?.different ?? 0;
  const declared = [...targets.keys()].sort((a, b) => differ(b) - differ(a));
  return askColumn(interview, given, {
    role: 'order.customer',
    table: orders,
    text: `Which column of ${nameOf(orders)} names its customer, the buyer? Another column can be named as well.`,
    choices: [...declared, ...loose].map((value) => {
      const { different, rows } = counts.get(value) ?? { different: 0, rows: 0 };
      const words = `${different} different in ${inRows(rows, 'order')}`;
      return { value, note: targets.has(value) ? `a key of ${targets.get(value)}, ${words}` : words };
    }),
    problem: (column) =>
      customers === undefined || linksBy(column, orders, customers).length > 0
        ? null
        : notAKey(orders, customers, columnsForLink(orders, customers)),
  });
}

/** Counts the orders that have a value in each column, and the different values. */
async function countKeys(
  snapshot: ErpSnapshot,
  table: CatalogueTable,
  columns: readonly string[],
): Promise<ReadonlyMap<string, { different: number; rows: number }>> {
  if (columns.length === 0) return new Map();
  const quoted = (name: string) => rawSql(snapshot.dialect.quoteIdentifier(name));
  const counts = columns.map(
    (name, at) =>
      sql`COUNT(${quoted(name)}) AS ${rawSql(`n${at}`)}, COUNT(DISTINCT ${quoted(name)}) AS ${rawSql(`d${at}`)}`,
  );
  const { rows } = await snapshot.query(
    sql`SELECT ${joinSql(counts)} FROM ${rawSql(tableSql(snapshot.dialect, table))}`,
    `count the keys in ${nameOf(table)}`,
  );
  const read = (name: string) => Number(rows[0]?.[name] ?? 0);
  return new Map(columns.map((name, at) => [name, { different: read(`d${at}`), rows: read(`n${at}`) }]));
}

/** As many different values of a column are looked for in another table. */
const LOOKED_FOR = 200;

/** Counts the different values of a link that are keys of the other table. */
async function keysFound(
  snapshot: ErpSnapshot,
  from: CatalogueTable,
  to: CatalogueTable,
  { columns, referenced }: Link,
) {
  // PostgreSQL compares no uuid with a text.
  if (columns.some((name, at) => !isComparable(from, name, to, referenced[at] ?? ''))) return { looked: 0, found: 0 };
  const name = (text: string) => rawSql(snapshot.dialect.quoteIdentifier(text));
  const [a, b] = [from, to].map((table) => rawSql(tableSql(snapshot.dialect, table)));
  if (!a || !b) return { looked: 0, found: 0 };
  const limit = { text: `${LOOKED_FOR}`, kind: 'number' } as const;
  const filled = allOf(columns.map((one) => sql`${name(one)} IS NOT NULL`));
  const doing = `look for keys of ${nameOf(to)}`;
  const own = joinSql(columns.map((one, at) => sql`${name(one)} AS ${rawSql(`v${at}`)}`));
  const { rows } = await snapshot.query(sql`SELECT DISTINCT ${own} FROM ${a} WHERE ${filled} LIMIT ${limit}`, doing);
  if (rows.length === 0) return { looked: 0, found: 0 };
  const kindOf = (key: string) => (to.columns.find((one) => one.name === key)?.kind === 'number' ? 'number' : 'text');
  const wanted = rows.map((row) =>
    allEqual(
      referenced.map(name),
      referenced.map((key, at) => ({ text: row[`v${at}`] ?? '', kind: kindOf(key) })),
    ),
  );
  const keys = joinSql(referenced.map(name));
  const found = await snapshot.query(sql`SELECT DISTINCT ${keys} FROM ${b} WHERE ${joinSql(wanted, ' OR ')}`, doing);
  return { looked: rows.length, found: found.rows.length };
}

function isComparable(from: CatalogueTable, own: string, to: CatalogueTable, key: string): boolean {
  const [a, b] = [from.columns.find(({ name }) => name === own), to.columns.find(({ name }) => name === key)];
  const isUuid = (type: string | undefined) => /^uuid/i.test(type ?? '');
  return a !== undefined && a.kind === b?.kind && isUuid(a.type) === isUuid(b.type);
}

const inWords = ({ looked, found }: { looked: number; found: number }) => `${found} of ${looked} keys are there`;

/** The tables that hold the values of a column as their keys, those with the most first. */
async function tablesWith(
  database: ErpDatabase,
  { tables }: Catalogue,
  orders: CatalogueTable,
  column: string,
): Promise<Map<CatalogueTable, string>> {
  return database.snapshot(async (snapshot) => {
    const found: { table: CatalogueTable; keys: { looked: number; found: number } }[] = [];
    for (const table of tables) {
      const [link] = table === orders || table.isView ? [] : linksBy(column, orders, table);
      if (link === undefined) continue;
      const keys = await keysFound(snapshot, orders, table, link);
      if (keys.found > 0) found.push({ table, keys });
    }
    found.sort((a, b) => b.keys.found - a.keys.found);
    return new Map(found.map(({ table, keys }) => [table, inWords(keys)]));
  });
}

/** The key of the customers that the column of the orders holds, where they have several. */
async function askCustomerKey(
  { database, interview, given }: Asking,
  orders: CatalogueTable,
  customers: CatalogueTable,
  buyer: string,
): Promise<Link | null> {
  const links = linksBy(buyer, orders, customers);
  const [only, ...more] = links;
  if (only === undefined) {
    const offered = columnsForLink(orders, customers);
    throw new InitError(`--column order.customer=${buyer}: ${notAKey(orders, customers, offered)}`);
  }
  if (more.length === 0 && given['customer.key'] === undefined) return only;
  const counts = await database.snapshot(async (snapshot) => {
    const found: string[] = [];
    for (const link of links) found.push(inWords(await keysFound(snapshot, orders, customers, link)));
    return found;
  });
  const key = await askColumn(interview, given, {
    role: 'customer.key',
    table: customers,
    text: `Which column of ${nameOf(customers)} does ${nameOf(orders)}.${buyer} hold?`,
    choices: links.map(({ referenced }, at) => ({ value: referenced[0] ?? '', note: counts[at] ?? '' })),
    problem: (column) =>
      links.some(({ referenced }) => referenced[0] === column)
        ? null
        : `it is no key; there are ${links.map(({ referenced }) => referenced[0]).join(', ')}`,
  });
  return links.find(({ referenced }) => referenced[0] === key) ?? null;
}
