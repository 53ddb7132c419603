import { type Catalogue, type CatalogueColumn, type CatalogueTable, nameOf } from '../../../erp/catalogue.js';
import type { ErpDatabase, ErpDialect } from '../../../erp/erp-database.js';
import { chooseTables, settleLinks } from './choose-tables.js';
import type { Draft } from './draft.js';
import { draftUnknown, skuOf } from './draft-unknown.js';
import { candidates, type GivenColumns } from './find-columns.js';
import type { Link, LinkRole } from './find-links.js';
import type { TableTriple } from './find-tables.js';
import type { Interview } from './interview.js';
import { InitError } from './interview.js';
import { withCurrency, withDates, withUniqueCode } from './look-at-values.js';
import {
  type DiscountUnit,
  discountUnits,
  type MoneyChoice,
  type MoneyUnit,
  moneyChoices,
  unclearUnits,
  withDiscount,
} from './money-choices.js';
import type { Trial } from './trial.js';
import { columnWords, fold } from './words.js';

/** What tries a draft: with every order, whatever its state, so that there is much to add up. */
export type TryDraft = (draft: Draft) => Promise<Trial>;

/** Of the orders that say a total, so many have to come to it. */
const AGREEING_SHARE = 0.95;

/**
 * Reads an unknown schema. The tables are those that belong together best; the money is the one way by which the lines come to
 * the totals of the orders. Where the data proves none, or two that differ, a person says it. Null, or a draft with a guess in
 * it: a question stays open.
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
  if (skuOf(catalogue, triple, given) === null)
    interview.settle(
      'sku',
      'none',
      `no column of ${nameOf(triple.lines)}, or of a table that it points to, is called like one: no line has a SKU of its own; if a column holds it: --column line.sku=NAME`,
    );
  let discount = discountGiven(interview);
  let columns = given;
  for (const seen of [withUniqueCode, withDates, withCurrency]) columns = await seen(database, triple, columns);
  for (;;) {
    const draftOf = (money: MoneyChoice) => draftUnknown(catalogue, triple, money, columns, dialect, unit ?? 'major');
    // Nothing is written while a question is open. To name those that follow, any way to take the money will do.
    const open = ([any]: readonly MoneyChoice[]) => (any === undefined ? null : draftOf(any));
    const all = moneyChoices(triple, columns, dialect, unit ?? 'major');
    if (unit === null) return open(all);
    const discounted = all.find((one) => one.discount !== undefined)?.discount;
    if (discount !== undefined && discount !== 'none' && discounted === undefined) throw noDiscount(triple, discount);
    const choices = discount === undefined ? all : withDiscount(all, discount);
    const found = await proveMoney(interview, choices, draftOf, tryDraft);
    if (found.draft !== null) return found.draft;
    const isSaid = columns['line.price'] !== undefined || columns['line.amount'] !== undefined;
    const isDiscountOpen = discounted !== undefined && discount === undefined;
    const [plain] = choices;
    // A total that the lines do not come to is no check.
    if (isSaid && plain !== undefined && !isDiscountOpen)
      return draftOf({ ...plain, total: columns['order.total'] === undefined ? null : plain.total });
    if (isSaid && isDiscountOpen) {
      discount = await askForDiscount(interview, discounted.column, found.isAmbiguous);
      if (discount === undefined) return open(choices);
      continue;
    }
    const said = await askForMoney(interview, choices, found.isAmbiguous);
    if (said === null) return open(choices);
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
  // The one that is called so may hold its numbers as text.
  const isOffered = ({ kind, name }: CatalogueColumn) =>
    kind === 'number' || columnWords['line.qty'].some((word) => word.test(fold(name)));
  const offered = lines.columns.filter(isOffered).map(({ name }) => name);
  const named = offered.length > 0 ? offered : lines.columns.map(({ name }) => name);
  throw new InitError(
    `${nameOf(lines)} has no column of numbers that is called like a quantity. Name it: --column line.qty=NAME (${named.join(', ')})`,
  );
}

function checkLinked(role: LinkRole, from: CatalogueTable, to: CatalogueTable, link: Link, given: GivenColumns): void {
  const column = given[role];
  if (column === undefined || link.columns.some((name) => name.toLowerCase() === column.toLowerCase())) return;
  throw new InitError(
    `--column ${role}=${column}: ${nameOf(to)} has no key of one column of its type. Name another column of ${nameOf(from)}.`,
  );
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

const whyAsked = (isAmbiguous: boolean) =>
  isAmbiguous
    ? 'Two ways to take the money of a line fit the totals.'
    : 'No total of the orders proves a way to take the money of a line.';

/** What a person says of the columns of the money; null: nobody does. */
async function askForMoney(
  interview: Interview,
  choices: readonly MoneyChoice[],
  isAmbiguous: boolean,
): Promise<GivenColumns | null> {
  const named = choices.map(({ words }) => /^(\S.*) is the (price|amount)/.exec(words) ?? []);
  const offered = [...new Set(named.map(([, column, what]) => `line.${what}=${column}`))];
  const text = `${whyAsked(isAmbiguous)} Which column is the price for one, or the amount of the line? Others can be named as well: line.price=NAME`;
  const answer = await interview.answer(
    { name: 'column', text, choices: offered.map((value) => ({ value })) },
    (given) => (/^line\.(price|amount|discount)=./.test(given) ? null : `write ${offered[0] ?? 'line.price=NAME'}`),
  );
  const [role = '', column = ''] = answer?.split('=') ?? [];
  return answer === null ? null : { [role]: column };
}

const isDiscountUnit = (text: string): text is DiscountUnit => discountUnits.some((one) => one === text);
const discountProblem = (text: string) => (isDiscountUnit(text) ? null : 'write percent, fraction or none');

/** @throws InitError */
function discountGiven(interview: Interview): DiscountUnit | undefined {
  const given = interview.isGiven('discount');
  if (given === undefined || isDiscountUnit(given)) return given;
  throw new InitError(`--discount ${given}: ${discountProblem(given)}`);
}

const noDiscount = ({ lines }: TableTriple, unit: DiscountUnit) =>
  new InitError(
    `--discount ${unit}: no column of ${nameOf(lines)} beside a price is called like a discount. Leave it out, or name the column: --column line.discount=NAME`,
  );

async function askForDiscount(
  interview: Interview,
  column: string,
  isAmbiguous: boolean,
): Promise<DiscountUnit | undefined> {
  const answer = await interview.answer(
    {
      name: 'discount',
      text: `${whyAsked(isAmbiguous)} What does ${column} take off the price? (Where a column holds the amount of the line, name that one instead: --column line.amount=NAME)`,
      choices: [
        { value: 'percent', note: '7 takes off 7 %' },
        { value: 'fraction', note: '0.07 takes off 7 %' },
        { value: 'none', note: 'nothing: the price is what is left' },
      ],
    },
    discountProblem,
  );
  return answer !== null && isDiscountUnit(answer) ? answer : undefined;
}

/** Whole numbers may be euros or cents, and totals in the same unit would prove either. */
async function unitOf(interview: Interview, triple: TableTriple, given: GivenColumns): Promise<MoneyUnit | null> {
  const unclear = unclearUnits(triple, given);
  const unused = unclear.length === 0 ? interview.isGiven('money-unit') : undefined;
  if (unused !== undefined)
    throw new InitError(
      `--money-unit ${unused}: no column of whole numbers holds money in ${nameOf(triple.orders)} and ${nameOf(triple.lines)}, or its name says that it holds cents. Leave it out.`,
    );
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
