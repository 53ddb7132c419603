import { schemaTables } from './schema.js';

/** A column as the database's catalogue has it, see `CatalogueStatements`. */
interface FoundColumn {
  tableName: string;
  columnName: string;
  typeName: string;
  nullable: 0 | 1;
  comparedBy: string | null;
}

/** Most differences that are named. */
const named = 5;

/**
 * Compares the columns of a store with those that this version's migrations make: the names of migrations alone do not tell,
 * because a store may come from a development version, or may have been changed by hand. Pure.
 * @param found all columns of its database; tables that are not Waybill's are left out
 * @returns the differences in words; null where there are none
 */
export function schemaDifference(found: readonly FoundColumn[]): string | null {
  const have = new Map(
    found
      .filter(({ tableName }) => Object.hasOwn(schemaTables, tableName))
      .map(({ tableName, columnName, typeName, nullable, comparedBy }) => [
        `${tableName}.${columnName}`,
        (comparedBy === null ? '' : `${comparedBy} `) + kindOf(columnName, typeName, nullable === 1),
      ]),
  );
  const missing = [...expected].filter(([name]) => !have.has(name)).map(([name]) => `${name} is missing`);
  const changed = [...expected]
    .filter(([name, kind]) => have.has(name) && have.get(name) !== kind)
    .map(([name, kind]) => `${name} is ${have.get(name)} instead of ${kind}`);
  // A column that may be NULL is one that a later version has added: nothing here notices it.
  const added = [...have]
    .filter(([name, kind]) => !expected.has(name) && !kind.endsWith('NULL'))
    .map(([name]) => `${name} is new`);
  const all = [...missing, ...changed, ...added];
  if (all.length === 0) return null;
  const more = all.length > named ? [`and ${all.length - named} more`] : [];
  return [...all.slice(0, named), ...more].join(', ');
}

/** The properties of a type that every database keeps. */
function kindOf(column: string, type: string, nullable: boolean): string {
  const family = /int|bool|numeric/i.test(type) ? 'number' : 'text';
  // Databases disagree on whether a key that counts by itself may be NULL.
  return column === 'id' || !nullable ? family : `${family} or NULL`;
}

/** `table.column` → its kind, of all columns that the migrations make. */
const expected: ReadonlyMap<string, string> = new Map(
  Object.entries(schemaTables).flatMap(([table, definition]) =>
    columnsOf(definition).map(({ column, type, nullable }) => [`${table}.${column}`, kindOf(column, type, nullable)]),
  ),
);

/** The columns of a definition. Keys and checks, which begin in capitals, are none. */
function columnsOf(definition: string): { column: string; type: string; nullable: boolean }[] {
  return [
    ...definition.replace(/\([^()]*(\([^()]*\)[^()]*)*\)/g, '').matchAll(/(?:^|,)\s*([a-z][a-z_0-9]*)\b([^,]*)/g),
  ].map(([, column = '', rest = '']) => ({
    column,
    // The column `id` has its type from each database.
    type: column === 'id' ? 'INT' : rest,
    nullable: !/NOT NULL|PRIMARY KEY/.test(rest),
  }));
}
