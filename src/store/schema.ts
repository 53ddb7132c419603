import { initialTables } from './migrations/1700000000000-initial.js';
import { lookUpColumns } from './migrations/1795800002000-look-ups.js';
import { personsWordColumns, personsWordTables } from './migrations/1795800003000-expand-persons-word.js';

/** Columns that migrations added to a table of the first schema. */
const added: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  outbox_message: lookUpColumns,
  binding: personsWordColumns,
};

/** Today's tables with their definitions, for code that needs a column's type or width. */
export const schemaTables: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ ...initialTables, ...personsWordTables('') }).map(([table, definition]) => [
    table,
    withColumns(definition, added[table] ?? {}),
  ]),
);

/** Puts columns before the keys of a definition, which come last. */
function withColumns(definition: string, columns: Readonly<Record<string, string>>): string {
  const words = Object.entries(columns).map(([name, type]) => `${name} ${type}, `);
  return definition.replace(/(?=(?:PRIMARY KEY \(|UNIQUE \()|$)/, words.join(''));
}
