import type { ErpDatabase, ErpDialect } from '../../../db/erp-database.js';
import { joinSql, rawSql, sql } from '../../../db/sql.js';
import { type CatalogueColumn, type CatalogueTable, nameOf, tableSql } from '../../../erp/catalogue.js';
import { askColumn } from './ask-column.js';
import { type Agreement, compareTotals, differences, type LinesOfOrders } from './compare-totals.js';
import { columnsFor, type GivenColumns } from './find-columns.js';
import type { Link } from './find-links.js';
import { type Choice, InitError, type Interview } from './interview.js';
import {
  type DiscountUnit,
  discountUnits,
  type MoneyUnit,
  type MoneyWay,
  moneyColumns,
  moneyWays,
  unclearUnits,
} from './money-choices.js';
import { columnWords, fold } from './words.js';

/** The money of an unknown schema, as a person chose it. A part is null while its question is open. */
export interface Money {
  qty: CatalogueColumn | null;
  way: MoneyWay | null;
  unit: MoneyUnit;
  /** The total that each order is checked against; null: nothing checks the amounts. */
  total: CatalogueColumn | null;
  /** Columns of the orders that were shown as totals. */
  totalsShown: readonly string[];
  /** Condition on the lines as `l`. */
  lineFilter: string | null;
}

interface MoneyOf {
  dialect: ErpDialect;
  orders: CatalogueTable;
  lines: CatalogueTable;
  lineLink: Link;
  /** The column that people know an order by. */
  number: string;
  /** Asks which lines are sent, beside the columns that may tell them apart but for these. */
  askLines(skipped: readonly (string | undefined)[]): Promise<string | null>;
}

/** Asks for the quantity, the price or amount, the discount, the unit and the total, with what the data says of each. */
export async function chooseMoney(
  database: ErpDatabase,
  interview: Interview,
  given: GivenColumns,
  { dialect, orders, lines, lineLink, number, askLines }: MoneyOf,
): Promise<Money> {
  const qty = await askQuantity(database, interview, lines, lineLink, given);
  const [likelyQty] = qty === null ? quantities(lines, lineLink).named : [qty];
  const role = given['line.amount'] === undefined ? 'line.price' : 'line.amount';
  const columnCalled = (table: CatalogueTable, name: string | undefined) =>
    table.columns.find((one) => one.name.toLowerCase() === name?.toLowerCase()) ?? null;
  const discount =
    given['line.discount'] === 'none' || role === 'line.amount'
      ? null
      : (columnCalled(lines, given['line.discount']) ?? columnsFor(lines, 'line.discount')[0] ?? null);
  const named = moneyColumns(lines, ['line.price', 'line.amount'], [...lineLink.columns, qty?.name ?? '']);
  const totals = moneyColumns(orders, ['order.total'], lineLink.referenced);
  const compared = [...totals.named, ...totals.others].slice(0, MOST_COLUMNS);
  const tables = (lineFilter: string | null): LinesOfOrders => ({ orders, lines, lineLink, lineFilter });

  const chosen = await askMoney();
  const lineFilter = await askLines([
    qty?.name,
    ...columnsFor(lines, 'line.discount').map(({ name }) => name),
    ...(chosen ? [chosen.column] : named.named.map(({ name }) => name)),
  ]);
  const money = { qty, lineFilter, totalsShown: totals.named.map(({ name }) => name) };
  if (chosen === null || qty === null) return { ...money, way: null, unit: (await unitOf([])) ?? 'major', total: null };
  const column = columnCalled(lines, chosen.column);
  if (column === null) throw new InitError(`${nameOf(lines)} has no column ${chosen.column}`);
  const ways = (unit: MoneyUnit) =>
    moneyWays(dialect, { qty, money: column, discount }, unit).filter((way) => way.role === chosen.role);
  // In which unit both are makes no difference to what agrees.
  const figures = await compareTotals(
    database,
    tables(lineFilter),
    ways('major').map(({ sum }) => sum),
    compared,
    'major',
  );
  const said = chosen.role === 'line.price' && discount !== null ? await askDiscount(discount) : undefined;
  if (said === null) return { ...money, way: null, unit: (await unitOf([column])) ?? 'major', total: null };
  const at = ways('major').findIndex((way) => way.discount === said);
  const total = await askTotal(figures[at] ?? []);
  const unit = (await unitOf(total ? [column, total] : [column])) ?? 'major';
  const way = ways(unit)[at] ?? null;
  if (total && way) await report(way, total, unit, figures[at]?.[compared.indexOf(total)]);
  return { ...money, way, unit, total: total ?? null };

  /** The column of the price or of the amount; null: the question stays open. */
  async function askMoney(): Promise<{ role: MoneyWay['role']; column: string } | null> {
    const text = `Which column of ${nameOf(lines)} is the price for one, or the amount of the line? Others can be named as well: line.price=NAME`;
    const isThere = (column: string) => columnCalled(lines, column) !== null;
    const missing = `${nameOf(lines)} has ${lines.columns.map(({ name }) => name).join(', ')}`;
    const wanted = given['line.amount'] ?? given['line.price'];
    if (given['line.amount'] !== undefined && given['line.price'] !== undefined)
      throw new InitError('--column line.price and --column line.amount: name one of them');
    if (wanted !== undefined) return { role, column: columnCalled(lines, wanted)?.name ?? wanted };
    const columns = [...named.named, ...named.others].slice(0, MOST_COLUMNS);
    const all = likelyQty
      ? columns.flatMap((money) => moneyWays(dialect, { qty: likelyQty, money, discount }, 'major'))
      : [];
    const figures = await compareTotals(
      database,
      tables(null),
      all.map(({ sum }) => sum),
      compared,
      'major',
    );
    const choices = offered(all, figures);
    const answer = await interview.answer({ name: 'column', role: 'line.price', text, choices }, (given) => {
      const [, column = ''] = /^line\.(?:price|amount)=(.+)$/.exec(given) ?? [];
      if (column === '') return `write ${choices[0]?.value ?? 'line.price=NAME'}`;
      return isThere(column) ? null : missing;
    });
    if (answer === null) return null;
    const [, what = '', column = ''] = /^(line\.\w+)=(.+)$/.exec(answer) ?? [];
    return { role: what as MoneyWay['role'], column: columnCalled(lines, column)?.name ?? column };
  }

  /** Each column as a price and as an amount with its best figure: those that are called so, then by what agrees. */
  function offered(all: readonly MoneyWay[], figures: readonly (readonly Agreement[])[]): Choice[] {
    const best = new Map<string, { agreeing: number; isNamed: boolean; note: string }>();
    for (const [at, { role, column, discount: unit }] of all.entries()) {
      const isNamed = columnsFor(lines, role).some(({ name }) => name === column);
      const value = `${role}=${column}`;
      const sum = `${role === 'line.price' ? `${likelyQty?.name} × ` : ''}${column}${unit && unit !== 'none' ? `, less ${discount?.name} as a ${unit},` : ''}`;
      for (const [total, { agreeing, compared: n }] of (figures[at] ?? []).entries()) {
        const note = `${sum} comes to ${compared[total]?.name} in ${agreeing} of ${n} orders`;
        if (agreeing > (best.get(value)?.agreeing ?? 0)) best.set(value, { agreeing, isNamed, note });
      }
      if (isNamed && !best.has(value))
        best.set(value, {
          agreeing: 0,
          isNamed,
          note: compared.length > 0 ? 'comes to no total' : 'no total to compare',
        });
    }
    return [...best]
      .sort(([, a], [, b]) => Number(b.isNamed) - Number(a.isNamed) || b.agreeing - a.agreeing)
      .map(([value, { note }]) => ({ value, note }));
  }

  async function askDiscount(column: CatalogueColumn): Promise<DiscountUnit | null> {
    const note = (unit: DiscountUnit, words: string) => {
      const at = ways('major').findIndex((way) => way.discount === unit);
      const [best] = (figures[at] ?? [])
        .map((figure, total) => ({ ...figure, total }))
        .sort((a, b) => b.agreeing - a.agreeing);
      return best
        ? `${words}; ${best.agreeing} of ${best.compared} orders come to ${compared[best.total]?.name}`
        : words;
    };
    const answer = await interview.answer(
      {
        name: 'discount',
        text: `What does ${column.name} take off the price? (Where a column holds the amount of the line, name that one instead: --column line.amount=NAME)`,
        choices: [
          { value: 'percent', note: note('percent', '7 takes off 7 %') },
          { value: 'fraction', note: note('fraction', '0.07 takes off 7 %') },
          { value: 'none', note: note('none', 'nothing: the price is what is left') },
        ],
      },
      (text) => (isDiscountUnit(text) ? null : 'write percent, fraction or none'),
    );
    return answer !== null && isDiscountUnit(answer) ? answer : null;
  }

  /** The total to check against; undefined: it stays open, null: there is none. */
  async function askTotal(figures: readonly Agreement[]): Promise<CatalogueColumn | null | undefined> {
    const candidates = compared
      .map((column, at) => ({ column, ...(figures[at] ?? { agreeing: 0, compared: 0 }) }))
      .filter(({ column, agreeing, compared }) => totals.named.includes(column) || isMost({ agreeing, compared }))
      .sort((a, b) => b.agreeing - a.agreeing);
    const [best, ...others] = candidates;
    if (given['order.total'] === undefined && best === undefined) {
      interview.settle(
        'orders.total',
        'none',
        `no column of ${nameOf(orders)} is called like a total, or comes to what the lines do: nothing checks the amounts; if one holds it: --column order.total=NAME`,
      );
      return null;
    }
    if (given['order.total'] === undefined && best && others.length === 0 && isMost(best)) return best.column;
    const name = await askColumn(interview, given, {
      role: 'order.total',
      table: orders,
      text: `Which column of ${nameOf(orders)} is what the lines of an order have to come to? An order that differs waits for a person. none: nothing checks the amounts.`,
      choices: candidates.map(({ column, agreeing, compared }) => ({
        value: column.name,
        note: `${agreeing} of ${compared} orders come to it`,
      })),
      mayBeNone: true,
    });
    if (name !== 'none') return name === null ? undefined : columnCalled(orders, name);
    interview.settle('orders.total', 'none', 'nothing checks the amounts');
    return null;
  }

  /** Says how many orders come to the total, and names some that do not. */
  async function report(
    way: MoneyWay,
    total: CatalogueColumn,
    unit: MoneyUnit,
    figure: Agreement | undefined,
  ): Promise<void> {
    const { agreeing, compared } = figure ?? { agreeing: 0, compared: 0 };
    const differing =
      agreeing === compared
        ? []
        : await differences(database, tables(lineFilter), { sum: way.sum, total, unit, number });
    const named = differing.map(({ order, lines, total }) => `${order} (lines ${lines}, ERP ${total})`).join(', ');
    const rest = compared - agreeing - differing.length;
    interview.settle(
      'money',
      way.words,
      `${agreeing} of ${compared} orders come to their ${total.name}${named === '' ? '' : `; not ${named}${rest > 0 ? ` and ${rest} more` : ''}: those wait for a person`}`,
    );
  }

  /** Whole numbers may be euros or cents, and totals in the same unit would agree in either. */
  async function unitOf(columns: readonly CatalogueColumn[]): Promise<MoneyUnit | null> {
    const unclear = unclearUnits(columns);
    const unused = unclear.length === 0 && columns.length > 0 ? interview.isGiven('money-unit') : undefined;
    if (unused !== undefined)
      throw new InitError(
        `--money-unit ${unused}: no column of whole numbers holds money in ${nameOf(orders)} and ${nameOf(lines)}, or its name says that it holds cents. Leave it out.`,
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
}

/** Compared at most: each is a part of one statement. */
const MOST_COLUMNS = 10;

const isMost = ({ agreeing, compared }: Agreement) => agreeing > 0 && agreeing * 2 >= compared;
const isDiscountUnit = (text: string): text is DiscountUnit => discountUnits.some((one) => one === text);

/** `1 to 12`, for each column. */
async function rangesOf(
  database: ErpDatabase,
  table: CatalogueTable,
  columns: readonly CatalogueColumn[],
): Promise<string[]> {
  if (columns.length === 0) return [];
  return database.snapshot(async (snapshot) => {
    const ends = columns.map(({ name }, at) => {
      const column = snapshot.dialect.quoteIdentifier(name);
      return rawSql(`MIN(${column}) AS a${at}, MAX(${column}) AS b${at}`);
    });
    const { rows } = await snapshot.query(
      sql`SELECT ${joinSql(ends)} FROM ${rawSql(tableSql(snapshot.dialect, table))}`,
      'look at the quantities',
    );
    return columns.map(({ kind }, at) => {
      const [low, high] = [rows[0]?.[`a${at}`], rows[0]?.[`b${at}`]];
      const range = low == null || high == null ? 'empty in every line' : `${low} to ${high}`;
      return kind === 'text' ? `${range}; texts, which can not be taken` : range;
    });
  });
}

/** Columns that may hold how many pieces a line is: those that are called so, then the other numbers. */
const quantities = (lines: CatalogueTable, lineLink: Link) => moneyColumns(lines, ['line.qty'], lineLink.columns);

/** The column of the pieces. @throws InitError where no column of numbers is left */
async function askQuantity(
  database: ErpDatabase,
  interview: Interview,
  lines: CatalogueTable,
  lineLink: Link,
  given: GivenColumns,
): Promise<CatalogueColumn | null> {
  const { named, others } = quantities(lines, lineLink);
  const texts = lines.columns.filter(
    ({ name, kind }) => kind === 'text' && columnWords['line.qty'].some((word) => word.test(fold(name))),
  );
  const ranges = await rangesOf(database, lines, [...named, ...texts, ...others]);
  const column = await askColumn(interview, given, {
    role: 'line.qty',
    table: lines,
    text: `Which column of ${nameOf(lines)} is the quantity?`,
    choices: [...named, ...texts, ...others].map(({ name }, at) => ({ value: name, note: ranges[at] ?? '' })),
    problem: (name) =>
      lines.columns.some((one) => one.name === name && one.kind === 'number') ? null : 'it is no column of numbers',
  });
  return lines.columns.find(({ name }) => name === column) ?? null;
}
