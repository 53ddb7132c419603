import { type Catalogue, type CatalogueTable, countRows, nameOf } from '../../../erp/catalogue.js';
import type { ErpDatabase } from '../../../erp/erp-database.js';
import type { GivenColumns } from './find-columns.js';
import { columnsForLink, type Link, type LinkRole, linkBetween } from './find-links.js';
import { findTables, type TableTriple } from './find-tables.js';
import { InitError, type Interview } from './interview.js';
import type { TableRole } from './words.js';

/** A second way to read the tables that comes so close to the first is shown to a person. */
const CLOSE_SCORE = 3;

type NamedTables = Partial<Record<TableRole, string>>;

const whichTable: Record<TableRole, string> = {
  orders: 'Which table holds the sales orders?',
  lines: 'Which table holds their lines?',
  customers: 'Which table holds the customers?',
};
const tableRoles = Object.keys(whichTable) as TableRole[];

/**
 * The tables of an unknown schema: those that belong together best, else those that a person names. Null: a question stays open.
 * @param columns those that a person named
 */
export async function chooseTables(
  database: ErpDatabase,
  catalogue: Catalogue,
  interview: Interview,
  columns: GivenColumns,
): Promise<TableTriple | null> {
  let named = tablesNamed(catalogue, interview);
  let given = columns;
  const empty = await emptyTables(database, catalogue);
  for (;;) {
    const triples = findTables(catalogue, named, (table) => empty.has(table), given);
    if (triples.length > 0) return bestOf(interview, triples, named);
    const missing = missingLinks(catalogue, named, given);
    if (missing.length > 0) given = { ...given, ...(await askForLinks(interview, missing, given)) };
    else named = { ...named, ...(await askForTables(interview, catalogue, named)) };
    if (interview.open.length > 0) return null;
  }
}

/** @throws InitError for a table that is not there */
function tablesNamed(catalogue: Catalogue, interview: Interview): NamedTables {
  const named = tableRoles.flatMap((role) => {
    const name = interview.isGiven(`${role}-table`);
    return name === undefined ? [] : [[role, name] as const];
  });
  for (const [role, name] of named)
    if (tableCalled(catalogue, name) === undefined)
      throw new InitError(`--${role}-table ${name}: the account sees no such table`);
  return Object.fromEntries(named);
}

const tableCalled = ({ tables }: Catalogue, name: string) =>
  tables.find((table) => nameOf(table).toLowerCase() === name.toLowerCase());

interface MissingLink {
  role: LinkRole;
  from: CatalogueTable;
  to: CatalogueTable;
}

/** The links between tables that a person named, which neither a key nor a name says. */
function missingLinks(catalogue: Catalogue, named: NamedTables, given: GivenColumns): MissingLink[] {
  const [orders, lines, customers] = tableRoles.map((role) => tableCalled(catalogue, named[role] ?? ''));
  const links = [
    { role: 'order.customer' as const, from: orders, to: customers },
    { role: 'line.order' as const, from: lines, to: orders },
  ];
  return links.flatMap(({ role, from, to }) =>
    from && to && linkBetween(role, from, to, given) === null ? [{ role, from, to }] : [],
  );
}

const namesWhat: Record<LinkRole, string> = {
  'order.customer': 'its customer, the buyer',
  'line.order': 'the order that the line belongs to',
};

/** What a person says of links that were not found. @throws InitError where no column can be one */
async function askForLinks(
  interview: Interview,
  missing: readonly MissingLink[],
  given: GivenColumns,
): Promise<GivenColumns> {
  const said: Partial<Record<LinkRole, string>> = {};
  for (const { role, from, to } of missing) {
    const fitting = columnsForLink(role, from, to);
    const wrong = given[role];
    if (wrong !== undefined && !from.columns.some(({ name }) => name.toLowerCase() === wrong.toLowerCase()))
      throw new InitError(
        `--column ${role}=${wrong}: ${nameOf(from)} has ${from.columns.map(({ name }) => name).join(', ')}`,
      );
    if (fitting.length === 0 || wrong !== undefined)
      throw new InitError(
        `${wrong === undefined ? '' : `--column ${role}=${wrong}: `}no column of ${nameOf(from)} holds a key of ${nameOf(to)} that is one column${fitting.length > 0 ? `, but for ${fitting.join(', ')}` : ''}. Name other columns, or other tables.`,
      );
    const answer = await askForColumn(interview, role, fitting, {
      text: `No key and no name says how ${nameOf(from)} belongs to ${nameOf(to)}. Which column of it names ${namesWhat[role]}?`,
      isFit: (column) => linkBetween(role, from, to, { [role]: column }) !== null,
    });
    if (answer !== null) said[role] = answer;
  }
  return said;
}

/** The names of the tables that are not named yet. @throws InitError where all are */
async function askForTables(interview: Interview, catalogue: Catalogue, named: NamedTables): Promise<NamedTables> {
  const unnamed = tableRoles.filter((role) => named[role] === undefined);
  if (unnamed.length === 0)
    throw new InitError('--orders-table, --lines-table and --customers-table: name three different tables');
  const why = `No table of orders with lines and customers was found among ${catalogue.tables.length} tables. `;
  const said: NamedTables = {};
  for (const [at, role] of unnamed.entries()) {
    const question = { name: `${role}-table`, text: `${at === 0 ? why : ''}${whichTable[role]}` };
    const answer = await interview.answer(question, (name) =>
      tableCalled(catalogue, name) === undefined ? 'the account sees no such table' : null,
    );
    if (answer !== null) said[role] = answer;
  }
  return said;
}

/** The likeliest; a person chooses where another table of orders comes close. */
async function bestOf(
  interview: Interview,
  triples: readonly TableTriple[],
  named: NamedTables,
): Promise<TableTriple | null> {
  const [best] = triples;
  if (best === undefined) return null;
  const close = triples.filter(({ score }) => score > best.score - CLOSE_SCORE);
  const names = [...new Set(close.map(({ orders }) => nameOf(orders)))];
  if (names.length === 1 || named.orders !== undefined) return best;
  const among = (name: string) => triples.find(({ orders }) => nameOf(orders).toLowerCase() === name.toLowerCase());
  const said = await interview.answer(
    { name: 'orders-table', text: whichTable.orders, choices: names.map((value) => ({ value })) },
    (name) => (among(name) === undefined ? 'no lines and customers were found for it' : null),
  );
  return said === null ? null : (among(said) ?? null);
}

/** What holds no rows is hardly meant. The server's own figure may be old: a table that it calls empty is asked. */
async function emptyTables(database: ErpDatabase, { tables }: Catalogue): Promise<Set<CatalogueTable>> {
  return database.snapshot(async (snapshot) => {
    const empty = new Set<CatalogueTable>();
    // To count the rows of a view may take for ever.
    for (const table of tables)
      if (!table.isView && (table.approximateRows ?? 0) === 0 && (await countRows(snapshot, table, 1)) === 0)
        empty.add(table);
    return empty;
  });
}

/** Asks which column names the customer of an order, and which one the order of a line, where the names do not tell. */
export async function settleLinks(interview: Interview, triple: TableTriple): Promise<TableTriple | null> {
  const { orders, lines, customers } = triple;
  const settled = async (role: LinkRole, link: Link, from: CatalogueTable, to: CatalogueTable) => {
    if (link.unclear === undefined) return link;
    const chosen = (column: string) => linkBetween(role, from, to, { [role]: column });
    const answer = await askForColumn(interview, role, link.unclear, {
      text: `Which column of ${nameOf(from)} names ${namesWhat[role]}?`,
      isFit: (column) => chosen(column)?.unclear === undefined,
    });
    return answer === null ? null : chosen(answer);
  };
  const customerLink = await settled('order.customer', triple.customerLink, orders, customers);
  const lineLink = await settled('line.order', triple.lineLink, lines, orders);
  return customerLink && lineLink && { ...triple, customerLink, lineLink };
}

/** The column for a role, as a person writes it: `line.order=parent`, or the name alone. */
async function askForColumn(
  interview: Interview,
  role: LinkRole,
  offered: readonly string[],
  { text, isFit }: { text: string; isFit(column: string): boolean },
): Promise<string | null> {
  const columnIn = (answer: string) => (answer.startsWith(`${role}=`) ? answer.slice(role.length + 1) : answer);
  const choices = offered.map((name) => ({ value: `${role}=${name}` }));
  const answer = await interview.answer({ name: 'column', text, choices }, (given) =>
    isFit(columnIn(given)) ? null : `write ${choices[0]?.value}`,
  );
  return answer === null ? null : columnIn(answer);
}
