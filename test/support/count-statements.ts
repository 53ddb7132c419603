import { openSqlite } from './sqlite-file.js';

/** Counts what the driver of SQLite is told, whoever tells it, until `stop`. */
export function countStatements(): { statements: number; commits: number; stop: () => void } {
  const database = openSqlite(':memory:');
  const prototype = Object.getPrototypeOf(database.prepare('SELECT 1'));
  database.close();
  const plain = Object.fromEntries(['run', 'all', 'get', 'iterate'].map((name) => [name, prototype[name]]));
  const counted = { statements: 0, commits: 0, stop: () => void Object.assign(prototype, plain) };
  for (const name in plain)
    prototype[name] = function (this: { source: string }) {
      counted.statements++;
      if (this.source === 'COMMIT') counted.commits++;
      // biome-ignore lint/complexity/noArguments: a copy of hundreds of values would be counted as the program's own work
      return plain[name].apply(this, arguments);
    };
  return counted;
}
