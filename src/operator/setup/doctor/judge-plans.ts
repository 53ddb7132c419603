import type { ErpDialect, Scan, ScanRead } from '../../../db/erp-database.js';
import { type CatalogueTable, nameOf, tableSql } from '../../../erp/catalogue.js';
import { literalPattern } from '../../../model/literal-pattern.js';
import { type Finding, findingsOf } from './finding.js';

/** A statement of Waybill that reads a table whole, because no index serves. */
export interface WholeRead {
  read: ScanRead;
  /** The setting with the query, and the query. */
  setting: string;
  query: string;
  /** The columns of the query by which rows are looked for. */
  columns: readonly string[];
  scanned: Scan;
}

const smallTable = 10_000;

const toRead = {
  changed_rows: 'read changed rows',
  lines: 'read the lines of orders',
  customers: 'read the customers of orders',
} as const;

/** Pure. @param rows how many rows the table has, or null */
export function judgeWholeRead(
  read: WholeRead,
  table: CatalogueTable | null,
  rows: number | null,
  dialect: ErpDialect,
): Finding[] {
  const finding = findingsOf('mapping');
  const { setting, query, columns } = read;
  const severity = rows !== null && rows < smallTable ? 'note' : 'warning';
  const size = rows === null ? '' : `, ${rows < smallTable ? rows : 'many'} rows`;
  const what = `${setting}: to ${toRead[read.read]}, the database reads ${table ? nameOf(table) : read.scanned.name} whole${size}: no index serves.`;
  const own = table === null ? [] : columns.map((column) => columnBehind(query, column, table));
  const names = own.filter((column) => column !== null);
  if (table === null || table.isView || names.length === 0 || names.length < own.length)
    return [
      finding(
        severity,
        what,
        `Index what stands behind ${columns.join(', ')} in ${setting}; an expression uses no index, so select the column itself`,
      ),
    ];
  if (table.indexes.some((index) => index.columns[0] === names[0])) {
    // It is quicker to read a small table whole.
    if (severity === 'note') return [];
    const advice = `An index on ${names[0]} exists, but the query can't use it: look for GROUP BY, DISTINCT, UNION or a cast in ${setting}`;
    return [finding(severity, what, advice)];
  }
  const indexed = names.flatMap((name) => table.columns.find((column) => column.name === name) ?? []);
  const quoted = dialect.indexColumns?.(indexed) ?? names.map((name) => dialect.quoteIdentifier(name));
  const index = dialect.quoteIdentifier(
    `waybill_${table.name}_${names.slice(0, quoted.length).join('_')}`.replace(/\W+/g, '_').slice(0, 60),
  );
  return [finding(severity, what, `CREATE INDEX ${index} ON ${tableSql(dialect, table)} (${quoted.join(', ')});`)];
}

/** The column of the table that the query yields under this name; null where an expression stands behind it. Pure. */
export function columnBehind(query: string, name: string, { columns }: Pick<CatalogueTable, 'columns'>): string | null {
  const word = '[`"\\[]?(\\w+)[`"\\]]?';
  const renamed = new RegExp(
    `(?:^|[\\s,(])(?:\\w+\\.)?${word}\\s+AS\\s+[\`"\\[]?${literalPattern(name)}(?!\\w)`,
    'i',
  ).exec(query)?.[1];
  const isExpression =
    renamed === undefined && new RegExp(`\\)\\s+AS\\s+[\`"\\[]?${literalPattern(name)}(?!\\w)`, 'i').test(query);
  const wanted = (renamed ?? name).toLowerCase();
  return isExpression ? null : (columns.find((column) => column.name.toLowerCase() === wanted)?.name ?? null);
}
