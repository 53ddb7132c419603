import type { ErpDialect } from '../../../db/erp-database.js';
import type { CatalogueColumn, CatalogueTable } from '../../../erp/catalogue.js';
import { columnsFor, isNumber } from './find-columns.js';
import { type ColumnRole, fold } from './words.js';

/** Tells if whole numbers are an amount in the unit of the currency (19) or in its hundredths (1999). */
export type MoneyUnit = 'major' | 'minor';

/** One way to take the money of a line. */
export interface MoneyWay {
  /** Column of the lines that holds the price or the amount. */
  column: string;
  role: 'line.price' | 'line.amount';
  /** SQL over the lines as `l`; null: worked out from the amount. */
  price: string | null;
  amount: string | null;
  /** SQL for what a line comes to. */
  sum: string;
  /** For people. */
  words: string;
  /** Meaning of the discount beside the price, if there is one. */
  discount?: DiscountUnit;
}

/** The meaning of a line's discount: 7 for 7 %, 0.07 for 7 %, or nothing that is taken off. */
export const discountUnits = ['percent', 'fraction', 'none'] as const;
export type DiscountUnit = (typeof discountUnits)[number];

/** The ways to take the money of a line from one of its columns: as it is, and less a discount. */
export function moneyWays(
  dialect: ErpDialect,
  { qty, money, discount }: { qty: CatalogueColumn; money: CatalogueColumn; discount: CatalogueColumn | null },
  unit: MoneyUnit,
): MoneyWay[] {
  const exact = moneySql(dialect, 'l', money, unit);
  const pieces = exactSql(dialect, 'l', qty);
  const { name: column } = money;
  const price: Omit<MoneyWay, 'discount'> = {
    ...{ column, role: 'line.price', price: exact, amount: null, sum: `${pieces} * ${exact}` },
    words: `${column} is the price for one`,
  };
  const amount: MoneyWay = {
    ...{ column, role: 'line.amount', price: null, amount: exact, sum: exact },
    words: `${column} is the amount of the line`,
  };
  if (discount === null) return [price, amount];
  const share = `COALESCE(${exactSql(dialect, 'l', discount)}, 0)`;
  const less = (unit: 'percent' | 'fraction'): MoneyWay => {
    const net = `ROUND(${pieces} * ${exact} * (1 - ${share}${unit === 'percent' ? ' / 100.0' : ''}), 2)`;
    return {
      ...{ column, role: 'line.price', price: null, amount: net, sum: net, discount: unit },
      words: `${column} is the price for one, less ${discount.name} as a ${unit === 'percent' ? 'percentage' : 'fraction'}`,
    };
  };
  return [{ ...price, discount: 'none' }, less('percent'), less('fraction'), amount];
}

/** Columns that may hold money: those that are called so, then other numbers that are no keys. */
export function moneyColumns(table: CatalogueTable, roles: readonly ColumnRole[], skipped: readonly string[]) {
  const named = [...new Set(roles.flatMap((role) => columnsFor(table, role)))];
  const isKey = ({ name }: CatalogueColumn) =>
    table.primaryKey.includes(name) || table.foreignKeys.some(({ columns }) => columns.includes(name));
  const others = table.columns.filter((column) => isNumber(column) && !isKey(column) && !named.includes(column));
  const left = ({ name }: CatalogueColumn) => !skipped.includes(name);
  return { named: named.filter(left), others: others.filter(left) };
}

/** Columns of whole numbers that hold money, and whose name does not say in what. */
export const unclearUnits = (columns: readonly CatalogueColumn[]): string[] =>
  columns.filter((column) => isWhole(column) && !saysCents(column)).map(({ name }) => name);

const isWhole = ({ isInteger, type }: CatalogueColumn) => isInteger || /^(decimal|numeric)\(\d+, *0\)/i.test(type);
const saysCents = ({ name }: CatalogueColumn) => /(?<!per)(cents?|minor|pence)$/.test(fold(name));

/** A column of money as an exact amount in the unit of the currency. */
export function moneySql(dialect: ErpDialect, alias: string, column: CatalogueColumn, unit: MoneyUnit): string {
  const isCents = isWhole(column) && (saysCents(column) || unit === 'minor');
  return isCents ? `${alias}.${dialect.quoteIdentifier(column.name)} / 100.0` : exactSql(dialect, alias, column);
}

const isInexact = ({ isFloat, type }: CatalogueColumn) => isFloat || /^money$/i.test(type);

/** A column in floating point as a decimal. SQLite, which has no accounts, has no decimals: its values are read by their shortest text. */
export function exactSql(dialect: ErpDialect, alias: string, column: CatalogueColumn): string {
  const sql = `${alias}.${dialect.quoteIdentifier(column.name)}`;
  return isInexact(column) && dialect.account !== null ? `CAST(${sql} AS DECIMAL(20, 6))` : sql;
}
