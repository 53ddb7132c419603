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
  if (role === 'line.amount') return { of, price: null, amount: exact, sum: exact };
  if (discount === null) return { of, price: exact, amount: null, sum: `${pieces} * ${exact}` };
  const share = `COALESCE(${exactSql(dialect, 'l', discount.column)}, 0)`;
  const net = `ROUND(${pieces} * ${exact} * (1 - ${share}${discount.unit === 'percent' ? ' / 100.0' : ''}), 2)`;
  const less = { column: discount.column.name, unit: discount.unit };
  return { of: { ...of, discount: less }, price: null, amount: net, sum: net };
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

/** A column in floating point as a decimal. SQLite, which has no accounts, has no decimals: its values are read by their shortest text. */
export function exactSql(dialect: ErpDialect, alias: string, column: CatalogueColumn): string {
  const sql = `${alias}.${dialect.quoteIdentifier(column.name)}`;
  return isInexact(column) && dialect.account !== null ? `CAST(${sql} AS DECIMAL(20, 6))` : sql;
}
