import { expect } from 'chai';
import { schemaTables } from '../../src/store/schema.js';
import { useStore } from './stores.js';

describe('the tables as the source writes them down', () => {
  const kit = useStore('sqlite');

  it('are those that the migrations make, column by column', async () => {
    const columns = await kit.rows(
      `SELECT m.name AS in_table, c.name AS name, c.type AS type, c."notnull" AS is_required FROM sqlite_master m
         JOIN pragma_table_info(m.name) c WHERE m.type='table' AND m.name NOT IN ('migration', 'sqlite_sequence') ORDER BY c.cid`,
    );
    const made: Record<string, string[]> = {};
    for (const { in_table, name, type, is_required } of columns) {
      const column = name === 'id' ? 'id' : `${name} ${type}${is_required ? ' NOT NULL' : ''}`;
      made[in_table] = [...(made[in_table] ?? []), column];
    }
    const written = Object.entries(schemaTables).map(([table, definition]) => [
      table,
      // SQLite has one kind of text.
      [
        ...definition
          .replaceAll('MEDIUMTEXT', 'TEXT')
          .matchAll(/^ *(id\b|[a-z_]+ [A-Z]+(?:\(\d+\))?)((?: NOT NULL)?)/gm),
      ].map(([, column, required]) => `${column}${required}`),
    ]);
    const sorted = (tables: Record<string, string[]>) =>
      Object.fromEntries(Object.entries(tables).map(([table, names]) => [table, [...names].sort()]));
    const [now, then] = [sorted(Object.fromEntries(written)), sorted(made)];
    expect(Object.keys(now).sort()).to.deep.equal(Object.keys(then).sort());
    for (const table of Object.keys(then)) expect(now[table], table).to.deep.equal(then[table]);
  });
});
