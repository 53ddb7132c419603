import type { ErpDialect } from '../../../db/erp-database.js';
import { type CatalogueTable, nameOf, tableSql } from '../../../erp/catalogue.js';
import type { CountedValue, SetupProblem } from '../../../model/setup-questions.js';
import { type Parsed, refused, taken } from './asking.js';
import { isOneOf } from './compose-settings.js';
import type { ColumnFacts } from './table-facts.js';

/** The rows that may be sent have one of these values in a column, or what the order has in one of its columns. */
export interface RowChoice {
  column: string;
  values: readonly string[];
  /** The column of the order that has to have the same value. */
  ofOrder: string | null;
  /** The table that the column is in, if the key of the rows leads to another. */
  via?: RowTable;
}

/** A table that has a row of its own for each row, such as one with the marks of removed rows. */
export interface RowTable {
  table: CatalogueTable;
  key: string;
  referenced: string;
}

/** As a person types it: NULL, and '' for the empty text. */
export const shownValue = (value: string | null): string => (value === '' ? "''" : (value ?? 'NULL'));

/** Values with commas between them; '' is the empty text. */
export const valuesIn = (text: string): string[] =>
  text.split(',').map((one) => (one.trim() === "''" ? '' : one.trim()));

/** The column with a name, in whatever case it was typed. */
export const columnCalled = ({ columns }: CatalogueTable, name: string) =>
  columns.find((one) => one.name === name) ?? columns.find((one) => one.name.toLowerCase() === name.toLowerCase());

export const noSuchColumn = (table: CatalogueTable): SetupProblem => ({
  ...{ code: 'no_such_column', table: nameOf(table), columns: table.columns.map(({ name }) => name) },
});

/** Problem with values that a person wrote for a column, or null. */
export function problemWith(
  values: readonly string[],
  known: readonly CountedValue[] | null,
  isNumber: boolean,
): SetupProblem | null {
  const there = known?.map(({ value }) => value ?? 'NULL');
  const unknown = there === undefined ? [] : values.filter((one) => !there.includes(one));
  if (unknown.length > 0)
    return {
      code: 'unknown_values',
      values: unknown,
      there: (known ?? []).map(({ value }) => shownValue(value)),
      of: 'row',
    };
  const wrong = isNumber
    ? values.filter((one) => !['NULL', 'NOT NULL'].includes(one) && !/^-?\d+(\.\d+)?$/.test(one))
    : [];
  return wrong.length > 0 ? { code: 'no_numbers', values: wrong } : null;
}

/** Parses `COLUMN=VALUE,VALUE`; `COLUMN=order.COLUMN` means the value that the order has. */
export function parseRowChoice(
  text: string,
  table: CatalogueTable,
  told: readonly ColumnFacts[],
  orders: CatalogueTable | null,
): Parsed<RowChoice> {
  const [, name = '', list = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  const [first] = told;
  if (name === '') {
    const value = shownValue(first?.few?.[0]?.value ?? null);
    return refused({ code: 'no_column_values', example: `${first?.column.name ?? 'kind'}=${value}` });
  }
  const column = columnCalled(table, name.trim());
  if (column === undefined) return refused(noSuchColumn(table));
  const [, own] = /^order\.(.+)$/.exec(list.trim()) ?? [];
  const ofOrder = own === undefined || orders === null ? undefined : columnCalled(orders, own);
  if (ofOrder !== undefined) return taken({ column: column.name, values: [], ofOrder: ofOrder.name });
  const values = valuesIn(list);
  const facts = told.find((one) => one.column.name === column.name);
  const problem = problemWith(values, facts?.isWhole ? facts.few : null, column.kind === 'number');
  return problem === null ? taken({ column: column.name, values, ofOrder: null }) : refused(problem);
}

/** The condition for the chosen rows. @param prefix of their columns, such as `l.`; the order is `o` */
export function conditionsFor(
  choices: readonly RowChoice[],
  own: CatalogueTable,
  dialect: ErpDialect,
  prefix = '',
): string[] {
  const quote = dialect.quoteIdentifier;
  return choices.map(({ column, values, ofOrder, via }) => {
    if (ofOrder !== null) return `${prefix}${quote(column)} = o.${quote(ofOrder)}`;
    const isNumber = columnCalled(via?.table ?? own, column)?.kind === 'number';
    if (via === undefined) return isOneOf(dialect, column, values, isNumber, prefix);
    const inTable = isOneOf(dialect, column, values, isNumber);
    return `${quote(via.key)} IN (SELECT ${quote(via.referenced)} FROM ${tableSql(dialect, via.table)} WHERE ${inTable})`;
  });
}
