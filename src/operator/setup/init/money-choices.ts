import type { CatalogueColumn, CatalogueTable } from '../../../erp/catalogue.js';
import type { ErpDialect } from '../../../erp/erp-database.js';
import { candidates, type GivenColumns } from './find-columns.js';
import type { TableTriple } from './find-tables.js';
import { type ColumnRole, fold } from './words.js';

/** Whether whole numbers are an amount in the unit of the currency (19) or in its hundredths (1999). */
export type MoneyUnit = 'major' | 'minor';

/** One way to take the money of a line, and the total of an order to prove it with. */
export interface MoneyChoice {
  /** SQL over the lines as `l`; null: worked out from the amount. */
  price: string | null;
  amount: string | null;
  /** Column of the orders. */
  total: string | null;
  /** For people. */
  words: string;
  /** The column of the discount that is taken off, and how it is read. */
  discount?: { column: string; unit: 'percent' | 'fraction' };
}

/** What the discount of a line is: 7 for 7 %, 0.07 for 7 %, or nothing that is taken off. */
export const discountUnits = ['percent', 'fraction', 'none'] as const;
export type DiscountUnit = (typeof discountUnits)[number];

const PER_ROLE = 3;

/** What a schema offers for the money, the plainest first. The data has to tell which one is right. */
export function moneyChoices(
  { orders, lines }: TableTriple,
  given: GivenColumns,
  dialect: ErpDialect,
  unit: MoneyUnit,
): MoneyChoice[] {
  const of = (table: CatalogueTable, role: ColumnRole) => candidates(table, role, given).slice(0, PER_ROLE);
  const [qty] = of(lines, 'line.qty');
  if (qty === undefined) return [];
  const others = (columns: CatalogueColumn[]) => columns.filter(({ name }) => name !== qty.name);
  const prices = given['line.amount'] ? [] : others(of(lines, 'line.price'));
  const isPrice = ({ name }: CatalogueColumn) => prices.some((price) => price.name === name);
  const isDiscount = ({ name }: CatalogueColumn) => discounts.some((discount) => discount.name === name);
  const discounts = others(of(lines, 'line.discount')).slice(0, 1);
  const amounts = given['line.price'] ? [] : others(candidates(lines, 'line.amount', given));
  const exact = (column: CatalogueColumn) => moneySql(dialect, 'l', column, unit);
  const ways: Omit<MoneyChoice, 'total'>[] = [
    ...prices
      .filter((price) => !isDiscount(price))
      .map((price) => ({ price: exact(price), amount: null, words: `${price.name} is the price for one` })),
    ...amounts
      .filter((amount) => !isPrice(amount) && !isDiscount(amount))
      .slice(0, PER_ROLE)
      .map((amount) => ({ price: null, amount: exact(amount), words: `${amount.name} is the amount of the line` })),
    ...prices.flatMap((price) =>
      discounts.flatMap((discount) =>
        (['percent', 'fraction'] as const).map((discountUnit) => ({
          price: null,
          amount: `ROUND(${exactSql(dialect, 'l', qty)} * ${exact(price)} * (1 - ${exactSql(dialect, 'l', discount)}${discountUnit === 'percent' ? ' / 100.0' : ''}), 2)`,
          words: `${price.name} is the price for one, less ${discount.name} as a ${discountUnit === 'percent' ? 'percentage' : 'fraction'}`,
          discount: { column: discount.name, unit: discountUnit },
        })),
      ),
    ),
  ];
  const totals = [...of(orders, 'order.total').map(({ name }) => name)];
  return ways.flatMap((way) => (totals.length === 0 ? [null] : totals).map((total) => ({ ...way, total })));
}

/** The ways that are left where a person says what the discount is. Pure. */
export function withDiscount(ways: readonly MoneyChoice[], unit: DiscountUnit): MoneyChoice[] {
  return ways.filter(({ price, discount }) =>
    unit === 'none' ? discount === undefined : discount ? discount.unit === unit : price === null,
  );
}

/** Columns of whole numbers that may be money, and whose name does not say in what. */
export function unclearUnits({ orders, lines }: TableTriple, given: GivenColumns): string[] {
  const columns = [
    ...candidates(lines, 'line.price', given),
    ...candidates(lines, 'line.amount', given),
    ...candidates(orders, 'order.total', given).slice(0, PER_ROLE),
  ];
  const [qty] = candidates(lines, 'line.qty', given);
  return [
    ...new Set(
      columns
        .filter((column) => isWhole(column) && column.name !== qty?.name && !saysCents(column))
        .map(({ name }) => name),
    ),
  ];
}

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
