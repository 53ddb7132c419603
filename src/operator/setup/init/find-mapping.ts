import { type Catalogue, type CatalogueTable, countRows, nameOf } from '../../../erp/catalogue.js';
import type { ErpDatabase, ErpDialect } from '../../../erp/erp-database.js';
import type { Draft } from './draft.js';
import { draftUnknown } from './draft-unknown.js';
import { candidates, type GivenColumns } from './find-columns.js';
import { type Link, type LinkRole, linkBetween } from './find-links.js';
import { findTables, type TableTriple } from './find-tables.js';
import type { Interview } from './interview.js';
import { InitError } from './interview.js';
import { withCurrency, withDates, withUniqueCode } from './look-at-values.js';
import { type MoneyChoice, type MoneyUnit, moneyChoices, unclearUnits } from './money-choices.js';
import type { Trial } from './trial.js';
import type { TableRole } from './words.js';

/** What tries a draft: with every order, whatever its state, so that there is much to add up. */
export type TryDraft = (draft: Draft) => Promise<Trial>;

/** Of the orders that say a total, so many have to come to it. */
const AGREEING_SHARE = 0.95;
/** A second way to read the tables that comes so close to the first is shown to a person. */
const CLOSE_SCORE = 3;

/**
 * Reads an unknown schema. The tables are those that belong together best; the money is the one way by which the lines come to
 * the totals of the orders. Where the data proves none, or two that differ, a person says it.
 */
export async function findMapping(
  database: ErpDatabase,
  catalogue: Catalogue,
  dialect: ErpDialect,
  interview: Interview,
  given: GivenColumns,
  tryDraft: TryDraft,
): Promise<Draft | null> {
  const tables = await chooseTables(database, catalogue, interview, given);
  if (tables === null) return null;
  checkNamed(catalogue, tables, given);
  const triple = await settleLinks(interview, tables);
  if (triple === null) return null;
  const unit = await unitOf(interview, triple, given);
  if (unit === null) return null;
  let columns = given;
  for (const seen of [withUniqueCode, withDates, withCurrency]) columns = await seen(database, triple, columns);
  for (;;) {
    const draftOf = (money: MoneyChoice) => draftUnknown(catalogue, triple, money, columns, dialect, unit);
    const choices = moneyChoices(triple, columns, dialect, unit);
    const found = await proveMoney(interview, choices, draftOf, tryDraft);
    if (found.draft !== null) return found.draft;
    const isSaid = columns['line.price'] !== undefined || columns['line.amount'] !== undefined;
    const [plain] = choices;
    const hasDiscount = choices.some(({ isDiscounted }) => isDiscounted);
    // A total that the lines do not come to is no check.
    if (isSaid && plain !== undefined && !hasDiscount)
      return draftOf({ ...plain, total: columns['order.total'] === undefined ? null : plain.total });
    const said = await askForMoney(interview, choices, found.isAmbiguous, isSaid);
    if (said === null) return null;
    columns = { ...columns, ...said };
  }
}

/** @throws InitError for a column that is not there, and where no column holds quantities */
function checkNamed(catalogue: Catalogue, triple: TableTriple, given: GivenColumns): void {
  const { orders, lines, customers, customerLink, lineLink } = triple;
  for (const [role, column] of Object.entries(given)) {
    const own = role.startsWith('line') ? lines : role.startsWith('order') ? orders : customers;
    // A SKU may stand in the table of the products, a currency with the customer.
    const tables = /sku|currency/.test(role) ? catalogue.tables : [own];
    const isThere = tables.some((table) =>
      table.columns.some(({ name }) => name.toLowerCase() === column.toLowerCase()),
    );
    if (isThere || (role === 'line.discount' && column === 'none')) continue;
    throw new InitError(
      `--column ${role}=${column}: ${nameOf(own)} has ${own.columns.map(({ name }) => name).join(', ')}`,
    );
  }
  checkLinked('order.customer', orders, customers, customerLink, given);
  checkLinked('line.order', lines, orders, lineLink, given);
  if (candidates(lines, 'line.qty', given).length > 0) return;
  const numbers = lines.columns.filter(({ kind }) => kind === 'number').map(({ name }) => name);
  throw new InitError(
    `${nameOf(lines)} has no column that is called like a quantity. Name it: --column line.qty=NAME (${numbers.join(', ')})`,
  );
}

function checkLinked(role: LinkRole, from: CatalogueTable, to: CatalogueTable, link: Link, given: GivenColumns): void {
  const column = given[role];
  if (column === undefined || link.columns.some((name) => name.toLowerCase() === column.toLowerCase())) return;
  throw new InitError(
    `--column ${role}=${column}: ${nameOf(to)} has no key of one column of its type. Name another column of ${nameOf(from)}.`,
  );
}

/** Asks which column names the customer of an order, and which one the order of a line, where the names do not tell. */
async function settleLinks(interview: Interview, triple: TableTriple): Promise<TableTriple | null> {
  const { orders, lines, customers } = triple;
  const settled = async (role: LinkRole, link: Link, from: CatalogueTable, to: CatalogueTable, text: string) => {
    if (link.unclear === undefined) return link;
    const choices = link.unclear.map((name) => ({ value: `${role}=${name}` }));
    const columnIn = (answer: string) => (answer.startsWith(`${role}=`) ? answer.slice(role.length + 1) : answer);
    const chosen = (answer: string) => linkBetween(role, from, to, { [role]: columnIn(answer) });
    const answer = await interview.answer({ name: 'column', text, choices }, (given) =>
      chosen(given)?.unclear === undefined ? null : `write ${choices[0]?.value}`,
    );
    return answer === null ? null : chosen(answer);
  };
  const customerLink = await settled(
    ...(['order.customer', triple.customerLink, orders, customers] as const),
    `Which column of ${nameOf(orders)} names its customer, the buyer?`,
  );
  const lineLink = await settled(
    ...(['line.order', triple.lineLink, lines, orders] as const),
    `Which column of ${nameOf(lines)} names the order that the line belongs to?`,
  );
  return customerLink && lineLink && { ...triple, customerLink, lineLink };
}

/** The draft whose lines come to the totals of the orders, if there is one such way and no other with other sums. */
async function proveMoney(
  interview: Interview,
  choices: readonly MoneyChoice[],
  draftOf: (money: MoneyChoice) => Draft,
  tryDraft: TryDraft,
): Promise<{ draft: Draft | null; isAmbiguous: boolean }> {
  const tried: { money: MoneyChoice; trial: Trial }[] = [];
  for (const money of choices) tried.push({ money, trial: await tryDraft(draftOf(money)) });
  const broken = tried.every(({ trial }) => trial.error !== null) ? tried[0]?.trial.error : null;
  if (broken) throw broken;
  const proven = tried.filter(({ trial }) => isProven(trial)).sort((a, b) => b.trial.agreeing - a.trial.agreeing);
  const [best] = proven;
  if (best === undefined) return { draft: null, isAmbiguous: false };
  const { agreeing, compared, linesTotal } = best.trial;
  const isRival = ({ trial }: (typeof proven)[number]) =>
    trial.linesTotal !== linesTotal && trial.agreeing >= agreeing * AGREEING_SHARE;
  if (proven.some(isRival)) return { draft: null, isAmbiguous: true };
  interview.settle('money', best.money.words, `${agreeing} of ${compared} orders come to their ${best.money.total}`);
  return { draft: draftOf(best.money), isAmbiguous: false };
}

/** What a person says of the columns of the money; null: nobody does. */
async function askForMoney(
  interview: Interview,
  choices: readonly MoneyChoice[],
  isAmbiguous: boolean,
  isSaid: boolean,
): Promise<GivenColumns | null> {
  const named = choices.map(({ words }) => /^(\S.*) is the (price|amount)/.exec(words) ?? []);
  const columns = [...new Set(named.map(([, column, what]) => `line.${what}=${column}`))];
  const offered = isSaid ? ['line.discount=none'] : columns;
  const why = isAmbiguous
    ? 'Two ways to take the money of a line fit the totals.'
    : 'No total of the orders proves a way to take the money of a line.';
  const text = isSaid
    ? `${why} Does the discount take nothing off? Else name the column with the amount of the line (line.amount=NAME).`
    : `${why} Which column is the price for one, or the amount of the line? Others can be named as well: line.price=NAME`;
  const answer = await interview.answer(
    { name: 'column', text, choices: offered.map((value) => ({ value })) },
    (given) => (/^line\.(price|amount|discount)=./.test(given) ? null : `write ${offered[0] ?? 'line.price=NAME'}`),
  );
  const [role = '', column = ''] = answer?.split('=') ?? [];
  return answer === null ? null : { [role]: column };
}

/** Whole numbers may be euros or cents, and totals in the same unit would prove either. */
async function unitOf(interview: Interview, triple: TableTriple, given: GivenColumns): Promise<MoneyUnit | null> {
  const unclear = unclearUnits(triple, given);
  if (unclear.length === 0) return 'major';
  const answer = await interview.answer(
    {
      name: 'money-unit',
      text: `${unclear.join(', ')} ${unclear.length === 1 ? 'holds' : 'hold'} whole numbers. Is 1999 an amount of 1999.00 (major), or of 19.99 (minor)?`,
      choices: [{ value: 'major' }, { value: 'minor' }],
    },
    (text) => (['major', 'minor'].includes(text) ? null : 'write major or minor'),
  );
  return answer as MoneyUnit | null;
}

function isProven({ orders, compared, agreeing, linesTotal }: Trial): boolean {
  return agreeing > 0 && linesTotal !== 0n && compared >= orders / 2 && agreeing >= compared * AGREEING_SHARE;
}

async function chooseTables(
  database: ErpDatabase,
  catalogue: Catalogue,
  interview: Interview,
  columns: GivenColumns,
): Promise<TableTriple | null> {
  const names: readonly TableRole[] = ['orders', 'lines', 'customers'];
  const given = Object.fromEntries(
    names.flatMap((role) => {
      const name = interview.isGiven(`${role}-table`);
      return name === undefined ? [] : [[role, name]];
    }),
  );
  for (const [role, name] of Object.entries(given))
    if (!catalogue.tables.some((table) => nameOf(table).toLowerCase() === name.toLowerCase()))
      throw new InitError(`--${role}-table ${name}: the account sees no such table`);
  const empty = await emptyTables(database, catalogue);
  const triples = findTables(catalogue, given, (table) => empty.has(table), columns);
  const [best, ...others] = triples;
  if (best === undefined) {
    await interview.answer({
      name: 'orders-table',
      text: `No table of orders with lines and customers was found among ${catalogue.tables.length} tables. Name them: --orders-table, --lines-table, --customers-table.`,
    });
    return null;
  }
  const rival = others.find((one) => one.orders !== best.orders && one.score > best.score - CLOSE_SCORE);
  if (rival !== undefined && given.orders === undefined) {
    const said = await interview.answer({
      name: 'orders-table',
      text: 'Which table holds the sales orders?',
      choices: [
        ...new Set(
          [best, ...others].filter(({ score }) => score > best.score - CLOSE_SCORE).map(({ orders }) => nameOf(orders)),
        ),
      ].map((value) => ({ value })),
    });
    return said === null
      ? null
      : (triples.find(({ orders }) => nameOf(orders).toLowerCase() === said.toLowerCase()) ?? null);
  }
  return best;
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
