import { initialTables } from './migrations/1700000000000-initial.js';
import { lookUpColumns } from './migrations/1795800002000-look-ups.js';
import { personsWordColumns, personsWordTables } from './migrations/1795800003000-expand-persons-word.js';

/** Columns that migrations added to a table of the first schema. */
const added: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  outbox_message: lookUpColumns,
  binding: personsWordColumns,
  unsettled: { first_seen_elapsed: 'BIGINT NULL' },
};

/** Columns that a migration renamed. */
const renamed: Readonly<Record<string, readonly [from: string, to: string]>> = {
  binding: ['missing_since', 'missing_since_elapsed'],
};

/** Today's tables with their definitions, for code that needs a column's type or width. */
export const schemaTables: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ ...initialTables, ...personsWordTables('') }).map(([table, definition]) => {
    const [from, to] = renamed[table] ?? ['', ''];
    return [table, withColumns(definition.replace(from, to), added[table] ?? {})];
  }),
);

/** Puts columns before the keys of a definition, which come last. */
function withColumns(definition: string, columns: Readonly<Record<string, string>>): string {
  const words = Object.entries(columns).map(([name, type]) => `${name} ${type},`);
  const [, own = '', keys = ''] = /^(.*?),?\s*((?:PRIMARY KEY \(|UNIQUE \().*)?$/s.exec(definition) ?? [];
  return `${own}, ${words.join(' ')} ${keys}`.replace(/,\s*$/, '');
}
