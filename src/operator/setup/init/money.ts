import type { ErpDialect } from '../../../db/erp-database.js';
import type { CatalogueColumn } from '../../../erp/catalogue.js';
import type { MoneySum } from '../../../model/setup-questions.js';
import type { Link } from './links.js';
import type { ColumnFacts, TableFacts } from './table-facts.js';

/** Tells if whole numbers are an amount in the unit of the currency (19) or in its hundredths (1999). */
export type MoneyUnit = 'major' | 'minor';

/** One way to take the money of a line. */
export interface MoneyWay {
  of: MoneySum;
  /** SQL over the lines as `l`; null: worked out from the amount. */
  price: string | null;
  amount: string | null;
  /** SQL for what is taken off the price; null: nothing. */
  discount: { sql: string; unit: 'percent' | 'fraction' } | null;
  /** SQL for what a line comes to. */
  sum: string;
}

export interface MoneyColumns {
  qty: CatalogueColumn;
  money: CatalogueColumn;
  role: MoneySum['role'];
  discount: { column: CatalogueColumn; unit: 'percent' | 'fraction' } | null;
}

/** The money of a line from one of its columns: as it is, or less a discount. An empty discount takes nothing off. */
export function moneyWay(dialect: ErpDialect, { qty, money, role, discount }: MoneyColumns, unit: MoneyUnit): MoneyWay {
  const exact = moneySql(dialect, 'l', money, unit);
  const pieces = exactSql(dialect, 'l', qty);
  const of: MoneySum = { role, column: money.name, qty: qty.name, discount: null };
  if (role === 'line.amount') return { of, price: null, amount: exact, discount: null, sum: exact };
  if (discount === null) return { of, price: exact, amount: null, discount: null, sum: `${pieces} * ${exact}` };
  const { unit: share } = discount;
  const taken = exactSql(dialect, 'l', discount.column);
  const left = `${pieces} * ${exact} * (1 - COALESCE(${taken}, 0)${share === 'percent' ? ' / 100.0' : ''})`;
  // In floating point 14.725 is a little less, and would be rounded down.
  const sum = `ROUND(${left}${isExact(dialect) ? '' : ' * 1.000000000001'}, 2)`;
  const less = { column: discount.column.name, unit: share };
  return { of: { ...of, discount: less }, price: exact, amount: null, discount: { sql: taken, unit: share }, sum };
}

/** Numbers that are no keys and not empty or 0 in every row. */
export function numbersOf(
  { table, columns }: TableFacts,
  link: Link | null,
  side: 'columns' | 'referenced',
): ColumnFacts[] {
  const keys = [
    ...table.primaryKey,
    ...table.foreignKeys.flatMap((key) => key.columns),
    ...(link === null ? [] : link[side]),
  ];
  return columns.filter(
    ({ column, filled, low, high }) =>
      column.kind === 'number' &&
      filled > 0 &&
      !keys.includes(column.name) &&
      !(Number(low) === 0 && Number(high) === 0),
  );
}

/** Columns of whole numbers: they may hold euros or cents. */
export const isWholeMoney = ({ isInteger, type }: CatalogueColumn) =>
  isInteger || /^(decimal|numeric)\(\d+, *0\)/i.test(type);

/** A column of money as an exact amount in the unit of the currency. */
export function moneySql(dialect: ErpDialect, alias: string, column: CatalogueColumn, unit: MoneyUnit): string {
  const isCents = isWholeMoney(column) && unit === 'minor';
  return isCents ? `${alias}.${dialect.quoteIdentifier(column.name)} / 100.0` : exactSql(dialect, alias, column);
}

const isInexact = ({ isFloat, type }: CatalogueColumn) => isFloat || /^money$/i.test(type);

/** SQLite, which has no accounts, has no decimals. */
const isExact = ({ account }: ErpDialect) => account !== null;

/** A column in floating point as a decimal. The values of SQLite are read by their shortest text. */
export function exactSql(dialect: ErpDialect, alias: string, column: CatalogueColumn): string {
  const sql = `${alias}.${dialect.quoteIdentifier(column.name)}`;
  return isInexact(column) && isExact(dialect) ? `CAST(${sql} AS DECIMAL(20, 6))` : sql;
}
