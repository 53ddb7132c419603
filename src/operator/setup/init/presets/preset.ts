import type { ErpDialect } from '../../../../db/erp-database.js';
import { type Catalogue, type CatalogueTable, tableSql } from '../../../../erp/catalogue.js';
import type { Draft } from '../draft.js';

/** The schema of an ERP that is known by name: facts about it, in the words of the mapping. */
export interface Preset {
  name: string;
  title: string;
  /** It is this ERP if all of these tables are there, each with these columns. */
  signature: Readonly<Record<string, readonly string[]>>;
  /** The prefix of all tables, if the ERP lets its administrator choose one. */
  prefix?: RegExp;
  draft(tables: PresetTables): Draft;
}

/** The tables of a recognised ERP: versions differ in what they have. */
export interface PresetTables {
  /** A table as a statement names it. */
  sql(name: string): string;
  has(name: string, column?: string): boolean;
  /** Those of them that are there, for the grants. */
  only(...names: string[]): CatalogueTable[];
}

export function presetTables({ tables }: Catalogue, dialect: ErpDialect, prefix: string): PresetTables {
  const find = (name: string) => tables.find((table) => table.name === prefix + name);
  return {
    sql: (name) => tableSql(dialect, find(name) ?? { schema: null, isInPath: true, name: prefix + name }),
    has: (name, column) => {
      const table = find(name);
      return table !== undefined && (column === undefined || table.columns.some((one) => one.name === column));
    },
    only: (...names) => names.flatMap((name) => find(name) ?? []),
  };
}

/** The prefixes under which all tables of a preset are there. */
export function prefixesOf({ signature, prefix: form }: Preset, { tables }: Catalogue): string[] {
  const [first = ''] = Object.keys(signature);
  const prefixes = tables
    .filter(({ name }) => name.endsWith(first))
    .map(({ name }) => name.slice(0, name.length - first.length))
    .filter((prefix) => prefix === '' || form?.test(prefix));
  return prefixes.filter((prefix) =>
    Object.entries(signature).every(([name, columns]) => {
      const table = tables.find((one) => one.name === prefix + name);
      return table !== undefined && columns.every((column) => table.columns.some((one) => one.name === column));
    }),
  );
}
