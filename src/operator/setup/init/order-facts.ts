import type { ErpSnapshot } from '../../../db/erp-database.js';
import { joinSql, rawSql, type Sql, sql } from '../../../db/sql.js';
import { countValues, ROWS_LOOKED_AT, type ValueCount } from '../../../erp/catalogue.js';
import { fromQuery } from '../../../erp/query-source.js';
import { currencyIn } from './currency-sources.js';
import { type DateForm, dateFormOf } from './date-form.js';
import type { Draft } from './draft.js';

/** The values in an ERP's orders where somebody has to choose, each with its count. */
export interface OrderFacts {
  statuses: ValueCount[];
  /** Empty where none of them is a code. */
  currencies: ValueCount[];
  companies: ValueCount[];
  /** Empty where the start is no date, or one that is counted since 1970. */
  years: ValueCount[];
  start: DateForm;
  /** True if the status, the company and the start are numbers. */
  isNumber: { status: boolean; company: boolean; start: boolean };
  /** Lines without a SKU: those with an amount, and those without. */
  linesWithoutSku: { priced: number; texts: number };
}

/** Looks at what the queries of the draft yield. */
export async function orderFacts(snapshot: ErpSnapshot, { orders, lines }: Draft): Promise<OrderFacts> {
  const columns = (
    await snapshot.query(sql`SELECT q.* ${fromQuery(orders)} WHERE 1=0`, 'look at the columns of the orders')
  ).columns;
  const kindOf = (name: string | undefined) => columns.find((column) => column.name === name)?.kind;
  const from = sql`(${rawSql(`\n${orders.query}\n`)}) q`;
  const name = (column: string) => rawSql(`q.${snapshot.dialect.quoteIdentifier(column)}`);
  const count = async (column: string | undefined, expression = (value: Sql) => value) =>
    column === undefined ? [] : countValues(snapshot, from, expression(name(column)));
  const start = orders.startsByKey ? 'none' : await dateFormOf(snapshot, from, orders.startColumn);
  const years = await count(orders.startColumn, (value) => sql`SUBSTR(CAST(${value} AS CHAR(10)), 1, 4)`);
  const isNumber = (column: string | undefined) => kindOf(column) === 'number';
  const currencies = await count(orders.currency);
  const hasCodes = currencies.some(({ value }) => currencyIn(value) !== null);
  return {
    statuses: orders.asked === undefined ? await count(orders.status) : [],
    currencies: hasCodes ? currencies : [],
    companies: await count(orders.company),
    start,
    years: start !== 'none' && years.every(({ value }) => /^(19|20|00|10)\d\d$/.test(value ?? '1970')) ? years : [],
    isNumber: {
      status: isNumber(orders.status),
      company: isNumber(orders.company),
      start: isNumber(orders.startColumn),
    },
    linesWithoutSku: await countLinesWithoutSku(snapshot, lines),
  };
}

async function countLinesWithoutSku(snapshot: ErpSnapshot, lines: Draft['lines']) {
  const column = (name: unknown) => rawSql(`q.${snapshot.dialect.quoteIdentifier(String(name))}`);
  const money = [lines.amount, lines.fields.price].filter((one) => one !== undefined);
  const isNothing = joinSql(
    money.map((one) => sql`COALESCE(${column(one)}, 0) = 0`),
    ' AND ',
  );
  const isText = sql`CASE WHEN ${isNothing} THEN 1 ELSE 0 END AS is_text`;
  const limit = { text: `${ROWS_LOOKED_AT}`, kind: 'number' } as const;
  const some = sql`SELECT ${column(lines.fields.sku)} AS sku, ${isText} ${fromQuery(lines)} LIMIT ${limit}`;
  const { rows } = await snapshot.query(
    sql`SELECT SUM(is_text) AS texts, COUNT(*) AS n FROM (${some}) s WHERE sku IS NULL`,
    'count lines without a SKU',
  );
  const texts = Number(rows[0]?.texts ?? 0);
  return { texts, priced: Number(rows[0]?.n ?? 0) - texts };
}
