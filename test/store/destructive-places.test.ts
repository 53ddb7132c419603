import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectRoot } from '../support/project-root.js';

/** What of a source destroys or renames state, with the name that the table in docs/architecture.md gives it. */
const kinds: readonly [RegExp, (named: string) => string][] = [
  [/\bDELETE\s+FROM\s+(\w+|\$\{\w+\})/g, (table) => `DELETE ${table}`],
  [/\bdeleteOldest\(\s*tx,\s*\{\s*table:\s*'(\w+)'/g, (table) => `DELETE ${table}`],
  [/(?:\bUPDATE\s+|\bupdateRows\(\s*tx,\s*')(binding|closed_binding|removed_id)\b/g, (table) => `UPDATE ${table}`],
  [/\brenameKeys\(\s*tx,\s*'(\w+)'/g, (table) => `keys of ${table}`],
  [/\bSET\b[^`;]*\b(idempotency_key)\s*=/g, (column) => column],
  [/\b(DROP|TRUNCATE)\s+(?:TABLE|INDEX|COLUMN)\b/g, (verb) => verb],
  [/(?<![.\w])(?:rm|rmdir|unlink|rename|truncate)(?:Sync)?(\()/g, () => 'files'],
];

/** @returns the names of what is destroyed, sorted; without the ones in comments */
function destroyedBy(source: string): string[] {
  const code = source.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  const touchesFiles = /from 'node:fs(?:\/promises)?'/.test(code);
  const found = kinds.flatMap(([pattern, name]) => [...code.matchAll(pattern)].map(([, named = '']) => name(named)));
  return [...new Set(found)].filter((name) => name !== 'files' || touchesFiles).sort();
}

describe('what destroys state', () => {
  const files = execFileSync('git', ['-C', projectRoot, 'ls-files', 'src'], { encoding: 'utf8' }).trim().split('\n');
  const sources = files.filter((file) => /\.tsx?$/.test(file));
  const page = readFileSync(join(projectRoot, 'docs/architecture.md'), 'utf8');
  const section = /^## What destroys state, and what guards it$([\s\S]*?)^## /m.exec(page)?.[1] ?? '';
  const rows = [...section.matchAll(/^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| `([^`]+)` \|$/gm)];

  it('stands in docs/architecture.md, each place with its guard', () => {
    const places = sources
      .filter((file) => !file.startsWith('src/store/migrations/'))
      .map((file) => [file.slice('src/'.length), destroyedBy(readFileSync(join(projectRoot, file), 'utf8'))] as const)
      .filter(([, what]) => what.length > 0);
    const told = rows.map(([, file = '', what = '']) => [file, what.split(', ').sort()] as const);
    expect(Object.fromEntries(told)).to.deep.equal(Object.fromEntries(places));
  });

  it('has a test for each guard', () => {
    for (const [, file, , guard = '', test = ''] of rows) {
      expect(guard.trim(), file).to.not.equal('');
      expect(existsSync(join(projectRoot, 'test', test)), `${file}: ${test}`).to.equal(true);
    }
  });

  it('is recognised in whatever form it is written', () => {
    const planted = `import { rmSync } from 'node:fs';
      await tx.run('DELETE FROM binding WHERE source_key=?', [key]);
      await tx.run(\`UPDATE
        closed_binding SET service_id=?\`);
      await tx.run("DROP TABLE outbox_message");
      await tx.run("UPDATE outbox_message SET state='pending', idempotency_key=? WHERE id=?");
      await renameKeys(tx, 'adoption', 'source_key', entity, renames);
      rmSync(file);
      // DELETE FROM audit_log in a comment does nothing.`;
    expect(destroyedBy(planted)).to.deep.equal([
      'DELETE binding',
      'DROP',
      'UPDATE closed_binding',
      'files',
      'idempotency_key',
      'keys of adoption',
    ]);
  });
});
