import { type Catalogue, type CatalogueTable, countRows, nameOf } from '../../../erp/catalogue.js';
import type { ErpDatabase, ErpDialect } from '../../../erp/erp-database.js';
import type { Draft } from './draft.js';
import { draftUnknown, type GivenColumns, type MoneyChoice, moneyChoices } from './draft-unknown.js';
import { findTables, type TableTriple } from './find-tables.js';
import type { Interview } from './interview.js';
import { InitError } from './interview.js';
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
  const triple = await chooseTables(database, catalogue, interview);
  if (triple === null) return null;
  const choices = moneyChoices(triple, given, dialect);
  if (choices.length === 0)
    throw new InitError(
      `${nameOf(triple.lines)} has no column for quantities, or none for prices. Name them: --column line.qty=NAME --column line.price=NAME`,
    );
  const draftOf = (money: MoneyChoice) => draftUnknown(catalogue, triple, money, given, dialect);
  const tried: { money: MoneyChoice; trial: Trial }[] = [];
  for (const money of choices) tried.push({ money, trial: await tryDraft(draftOf(money)) });
  const broken = tried.every(({ trial }) => trial.error !== null) ? tried[0]?.trial.error : null;
  if (broken) throw broken;

  const proven = tried.filter(({ trial }) => isProven(trial)).sort((a, b) => b.trial.agreeing - a.trial.agreeing);
  const [best] = proven;
  const rival = proven.find(
    ({ trial }) =>
      best && trial.linesTotal !== best.trial.linesTotal && trial.agreeing >= best.trial.agreeing * AGREEING_SHARE,
  );
  if (best !== undefined && rival === undefined) {
    const { agreeing, compared } = best.trial;
    interview.settle('money', best.money.words, `${agreeing} of ${compared} orders come to their ${best.money.total}`);
    return draftOf(best.money);
  }
  const isSaid = given['line.price'] !== undefined || given['line.amount'] !== undefined;
  const [plain] = choices;
  // A total that the lines do not come to is no check.
  if (isSaid && plain !== undefined)
    return draftOf({ ...plain, total: given['order.total'] === undefined ? null : plain.total });
  const said = await interview.answer(
    {
      name: 'column',
      text: rival
        ? 'Two ways to take the money of a line fit the totals. Which column is the price for one, or the amount of the line?'
        : 'No total of the orders shows which column is the price for one, or the amount of the line. Which is it?',
      choices: moneyColumns(choices).map((value) => ({ value })),
    },
    (text) => (moneyColumns(choices).includes(text) ? null : 'choose one of them'),
  );
  const [role, column] = (said ?? '').split('=') as ['line.price' | 'line.amount', string];
  return said === null
    ? null
    : findMapping(database, catalogue, dialect, interview, { ...given, [role]: column }, tryDraft);
}

function isProven({ orders, compared, agreeing, linesTotal }: Trial): boolean {
  return agreeing > 0 && linesTotal !== 0n && compared >= orders / 2 && agreeing >= compared * AGREEING_SHARE;
}

function moneyColumns(choices: readonly MoneyChoice[]): string[] {
  const named = choices.map(({ words }) => /^(\S.*) is the (price|amount)/.exec(words) ?? []);
  return [...new Set(named.map(([, column, what]) => `line.${what}=${column}`))];
}

async function chooseTables(
  database: ErpDatabase,
  catalogue: Catalogue,
  interview: Interview,
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
  const triples = findTables(catalogue, given, (table) => empty.has(table));
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
    for (const table of tables)
      if ((table.approximateRows ?? 0) === 0 && (await countRows(snapshot, table, 1)) === 0) empty.add(table);
    return empty;
  });
}
