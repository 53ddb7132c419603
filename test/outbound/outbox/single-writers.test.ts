import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from '../../support/project-root.js';

/** One statement or call that writes a table. */
interface Write {
  table: string;
  /** `INSERT`, `UPDATE`, `DELETE`, or the function of `store/rows.ts`. */
  verb: string;
  /** The assignments, as the source has them: the SET clause, or the arguments of the call. */
  set: string;
}

const STATEMENT = /\b(?:INSERT(?:\s+IGNORE)?\s+INTO|REPLACE\s+INTO|UPDATE|DELETE\s+FROM)\s+((?:\$\{)?\w+)/g;
const CALL = /\b(insertRows|upsertRows|updateRows|updateFrom|renameKeys)\(\s*tx,\s*(['"`]?)(\w+)/g;

/** Every write to the store in a source. A table whose name is not written out begins with `${`. */
function writesIn(source: string): Write[] {
  const statements = [...source.matchAll(STATEMENT)].map((match): Write => {
    const rest = source.slice(match.index + match[0].length);
    const set = /^[^;]*?\bSET\b([\s\S]*?)(?:\bWHERE\b|`,|',|",|\)\s*;)/.exec(rest)?.[1] ?? '';
    return { table: match[1] as string, verb: match[0].split(/\s/)[0] as string, set };
  });
  const calls = [...source.matchAll(CALL)].map((match): Write => {
    const start = match.index + (match[1] as string).length;
    return {
      table: match[2] ? (match[3] as string) : `\${${match[3]}`,
      verb: match[1] as string,
      set: argumentsFrom(source, start),
    };
  });
  return [...statements, ...calls];
}

/** The arguments of a call whose opening parenthesis stands at `start`. */
function argumentsFrom(source: string, start: number): string {
  let depth = 0;
  for (let at = start; at < source.length; at++) {
    if (source[at] === '(') depth++;
    if (source[at] === ')' && --depth === 0) return source.slice(start + 1, at);
  }
  return source.slice(start + 1);
}

interface Rule {
  what: string;
  /** The files that may write it. */
  files: readonly string[];
  forbids: (write: Write) => boolean;
}

const RULES: readonly Rule[] = [
  {
    what: 'the state of messages',
    files: ['outbound/outbox/transitions.ts', 'outbound/outbox/new-messages.ts'],
    forbids: ({ table, verb, set }) => {
      // `renameKeys` takes the names of two columns, and the state is neither.
      if (table !== 'outbox_message' || verb === 'DELETE' || verb === 'renameKeys') return false;
      if (verb === 'INSERT' || verb === 'insertRows' || verb === 'upsertRows') return true;
      // The assigned value has to be readable here, or it might be the state.
      const isReadable = verb === 'UPDATE' ? !/^\s*\$\{/.test(set) : set.includes('({');
      return !isReadable || /(?:^|[\s,{(])state\s*[=:,]/.test(set);
    },
  },
  {
    what: 'bindings',
    files: ['outbound/outbox/bindings.ts'],
    forbids: ({ table }) => table === 'binding' || table === 'closed_binding',
  },
  {
    what: 'new attempts',
    files: ['outbound/deliver/attempts.ts'],
    forbids: ({ table, verb }) => table === 'attempt' && !['UPDATE', 'DELETE', 'updateRows'].includes(verb),
  },
  { what: 'pauses', files: ['store/lane-pauses.ts'], forbids: ({ table }) => table === 'lane_pause' },
  {
    what: 'a table that it does not name',
    files: [
      'store/rows.ts',
      'store/delete-oldest.ts',
      'store/backup.ts',
      'db/sqlite/sqlite-store.ts',
      'db/mysql/mysql-store.ts',
    ],
    forbids: ({ table }) => table.startsWith('${'),
  },
];

/** Says which rules a file breaks. */
function violations(file: string, source: string): string[] {
  // `erp` and `lab` know other databases only.
  if (['store/migrations/', 'erp/', 'lab/'].some((folder) => file.startsWith(folder))) return [];
  const writes = writesIn(source);
  return RULES.filter(({ files, forbids }) => !files.includes(file) && writes.some(forbids)).map(
    ({ what, files }) => `${file} writes ${what}; only ${files.join(' and ')} may`,
  );
}

describe('each of these has one writer', () => {
  it('in all of src', () => {
    const sources = readdirSync(join(projectRoot, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => file.split(sep).join('/'));
    expect(sources).to.not.be.empty;
    const wrong = sources.flatMap((file) => violations(file, readFileSync(join(projectRoot, 'src', file), 'utf8')));
    expect(wrong, `\n${wrong.join('\n')}\n`).to.be.empty;
  });

  const second: [string, string][] = [
    ['the state of messages', "await updateFrom(tx, 'outbox_message', { set: { state: 'v.state' }, source });"],
    ['the state of messages', 'await tx.run("UPDATE outbox_message SET state=\'pending\' WHERE id=?", [id]);'],
    [
      'the state of messages',
      "await tx.run(`UPDATE outbox_message\n   SET reason=?, state='parked'\n WHERE id=?`, [id]);",
    ],
    ['the state of messages', `await tx.run(\`UPDATE outbox_message SET \${set} WHERE id=?\`, [id]);`],
    [
      'the state of messages',
      "await updateRows(tx, 'outbox_message', ['id'], ids.map((id) => ({ id, state: 'parked' })));",
    ],
    ['the state of messages', "await updateRows(\n  tx,\n  'outbox_message',\n  ['id'],\n  rows,\n);"],
    ['the state of messages', "await insertRows(tx, 'outbox_message', rows);"],
    ['the state of messages', "await tx.run('INSERT INTO outbox_message (id) VALUES (?)', [1]);"],
    ['bindings', "await upsertRows(tx, 'binding', ['entity', 'source_key'], rows);"],
    ['bindings', "await tx.run('DELETE FROM closed_binding WHERE entity=?', [entity]);"],
    ['bindings', "await tx.run('UPDATE binding SET acknowledged=NULL');"],
    ['bindings', "await renameKeys(tx, 'binding', 'source_key', entity, renames);"],
    ['new attempts', "await insertRows(\n  tx,\n  'attempt',\n  rows,\n);"],
    ['new attempts', "return tx.insertReturningId('INSERT INTO attempt (purpose) VALUES (?)', [purpose]);"],
    ['a table that it does not name', `await tx.run(\`UPDATE \${table} SET state='parked'\`);`],
    ['a table that it does not name', 'await insertRows(tx, table, rows);'],
    ['pauses', "await tx.run('DELETE FROM lane_pause WHERE lane=?', [lane]);"],
  ];
  for (const [what, source] of second)
    it(`and a second writer of ${what} is found: ${source.replace(/\s+/g, ' ')}`, () => {
      expect(violations('operator/second.ts', source)).to.have.length(1);
      expect(violations('operator/second.ts', source)[0]).to.include(`writes ${what}`);
    });

  const others = [
    'await tx.run(`UPDATE outbox_message SET is_backlog=0 WHERE state IN (?)`, [state]);',
    "await updateRows(tx, 'outbox_message', ['id'], ids.map((id) => ({ id, identity: null })));",
    'await tx.run(`DELETE FROM outbox_message WHERE id=?`, [id]);',
    "await tx.run('UPDATE attempt SET reason=NULL');",
    "await tx.rows('SELECT * FROM binding');",
  ];
  for (const source of others)
    it(`and other statements are let pass: ${source}`, () => {
      expect(violations('operator/second.ts', source)).to.deep.equal([]);
    });
});
