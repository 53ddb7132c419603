import type { ColumnDefinition, Database, Statement } from 'better-sqlite3';
import { realFs } from './real.js';

/** A connection of the driver, with what is kept in it for the next process that opens the same file. */
interface Connection {
  database: Database;
  file: string;
  how: string;
  key: string | null;
  /** Compiled statements by their text, with the view that has used each of them last. */
  statements: Map<string, Shared>;
  /** Pragmas that hold already, by name. */
  pragmas: Map<string, { value: string; said: unknown }>;
}

type Mode = 'pluck' | 'expand' | 'raw' | 'safeIntegers';

/** A compiled statement, as it was left by whoever has used it last. */
interface Shared {
  statement: Statement<unknown[]>;
  modes: ReadonlySet<Mode>;
}

/**
 * Connections that processes have closed. To open a file, read its schema and compile the same statements again costs a short
 * command more time than all else that it does.
 */
const idle = new Map<string, Connection[]>();

/** @returns true for a file of a database that is kept open though nobody uses it */
export function isIdle(path: string): boolean {
  return [...idle.values()].some((some) => some.some(({ file }) => path === file || path.startsWith(`${file}-`)));
}

/** Closes what is idle, as its process has: before anybody copies, moves or removes the files. */
export function closeIdle(): void {
  for (const connections of idle.values()) for (const { database } of connections) closeQuietly(database);
  idle.clear();
}

function closeQuietly(database: Database): void {
  try {
    database.close();
  } catch {
    // A statement is under way.
  }
}

/**
 * Opens a file by a connection that somebody has closed, or by a new one.
 * @param how connections that are opened in another way are no substitute
 */
export function openPooled(file: string, how: string, open: () => Database): Database {
  if (file === ':memory:') return open();
  const known = keyOf(file, how);
  const reused = known === null ? undefined : idle.get(known)?.pop();
  if (reused) return handleOf(reused);
  const database = open();
  return handleOf({ database, file, how, key: keyOf(file, how), statements: new Map(), pragmas: new Map() });
}

/** Which file this is, by more than its name: another one may have taken its place. null: there is none. */
function keyOf(file: string, how: string): string | null {
  const found = realFs.statSync(file, { throwIfNoEntry: false });
  return found ? `${file} ${found.dev}:${found.ino} ${how}` : null;
}

type Method = (...given: unknown[]) => unknown;

/** One process's view of a connection: closed for it alone, and then nothing goes through it any more. */
function handleOf(connection: Connection): Database {
  const { database } = connection;
  let isOpen = true;
  /** Something was set that can't be undone. */
  let isSpoilt = false;
  /** The disk lets nobody write at present: the next one is told again, if that is still so. */
  let isLimited = false;
  const mine: Statement<unknown[]>[] = [];
  const mustBeOpen = () => {
    if (!isOpen) throw new TypeError('The database connection is not open');
  };
  const guarded = (name: string, spoils: boolean) =>
    function (this: unknown, ...given: unknown[]) {
      mustBeOpen();
      if (spoils) isSpoilt = true;
      if (name === 'exec' && changesSchema(String(given[0]))) schemaVersion++;
      const result = (database as unknown as Record<string, Method>)[name]?.(...given);
      return result === database ? handle : result;
    };
  const prepare = (sql: string) => {
    mustBeOpen();
    let shared = connection.statements.get(sql);
    if (shared === undefined || shared.statement.busy) {
      shared = { statement: database.prepare<unknown[]>(sql), modes: new Set() };
      connection.statements.set(sql, shared);
    }
    mine.push(shared.statement);
    return new StatementView(shared, mustBeOpen) as unknown as Statement<unknown[]>;
  };
  const pragma = (text: string, options?: { simple?: boolean }) => {
    mustBeOpen();
    const [, name, value] = /^(\w+) = (\S+)$/.exec(text) ?? [];
    if (name === 'query_only') isLimited = value !== '0';
    if (name === undefined || value === undefined || name === 'query_only') return database.pragma(text, options);
    const before = connection.pragmas.get(name);
    if (before?.value === value) return before.said;
    const said = database.pragma(text, options);
    connection.pragmas.set(name, { value, said });
    return said;
  };
  const close = () => {
    if (!isOpen) return handle;
    if (mine.some(({ busy }) => busy)) throw new TypeError('This database connection is busy executing a query');
    isOpen = false;
    if (database.inTransaction) {
      database.exec('ROLLBACK');
      schemaVersion++;
    }
    if (isLimited) database.pragma('query_only = 0');
    const { key, file, how } = connection;
    if (isSpoilt || key === null || key !== keyOf(file, how)) {
      database.close();
      return handle;
    }
    const others = idle.get(key);
    if (others) others.push(connection);
    else idle.set(key, [connection]);
    return handle;
  };
  const handle = Object.create(database, {
    open: { get: () => isOpen && database.open },
    inTransaction: { get: () => isOpen && database.inTransaction },
    prepare: { value: prepare },
    pragma: { value: pragma },
    close: { value: close },
    ...Object.fromEntries(['exec', 'backup', 'serialize'].map((name) => [name, { value: guarded(name, false) }])),
    ...Object.fromEntries(
      ['function', 'aggregate', 'table', 'loadExtension', 'defaultSafeIntegers', 'unsafeMode'].map((name) => [
        name,
        { value: guarded(name, true) },
      ]),
    ),
  }) as Database;
  return handle;
}

const noModes: ReadonlySet<Mode> = new Set();

/** A statement as its owner sees it, for as long as the connection is open for that. */
class StatementView {
  readonly source: string;
  readonly #changesSchema: boolean;
  readonly reader: boolean;
  readonly readonly: boolean;
  #modes = noModes;

  constructor(
    readonly shared: Shared,
    readonly mustBeOpen: () => void,
  ) {
    const { statement } = shared;
    this.source = statement.source;
    this.#changesSchema = !statement.reader && changesSchema(statement.source);
    this.reader = statement.reader;
    this.readonly = statement.readonly;
  }

  get busy(): boolean {
    return this.shared.statement.busy;
  }

  /** The statement as this owner wants it. */
  get statement(): Statement<unknown[]> {
    const { shared } = this;
    const { statement, modes } = shared;
    if (modes !== this.#modes) {
      for (const mode of modes) if (!this.#modes.has(mode)) statement[mode](false);
      for (const mode of this.#modes) statement[mode](true);
      shared.modes = this.#modes;
    }
    return statement;
  }

  set(mode: Mode, isOn = true): this {
    this.mustBeOpen();
    const modes = new Set(this.#modes);
    if (isOn) modes.add(mode);
    else modes.delete(mode);
    this.#modes = modes;
    return this;
  }

  run(...given: unknown[]) {
    this.mustBeOpen();
    if (this.#changesSchema) schemaVersion++;
    return this.statement.run(...given);
  }

  columns() {
    const { statement } = this.shared;
    const known = columnsOf.get(statement);
    if (known?.version === schemaVersion) return known.columns;
    const columns = statement.columns();
    columnsOf.set(statement, { version: schemaVersion, columns });
    return columns;
  }
}

/** Counts the changes of any schema, whoever makes them or takes them back. */
let schemaVersion = 0;
const changesSchema = (sql: string) => /^\s*(CREATE|ALTER|DROP|ROLLBACK)\b/i.test(sql);
const columnsOf = new WeakMap<Statement<unknown[]>, { version: number; columns: ColumnDefinition[] }>();
/** What SQLite said of its tables: to ask for all columns takes as long as a page of orders. */
const catalogues = new WeakMap<Statement<unknown[]>, { version: number; rows: unknown[] }>();

function allOf(statement: Statement<unknown[]>, given: unknown[]): unknown {
  const isCatalogue = given.length <= 1 && statement.source.includes('pragma_table_info(m.name)');
  if (!isCatalogue) return statement.all(...given);
  const known = catalogues.get(statement);
  if (known?.version === schemaVersion) return [...known.rows];
  const rows = statement.all(...given);
  catalogues.set(statement, { version: schemaVersion, rows });
  return [...rows];
}

for (const name of ['get', 'iterate'] as const)
  Object.defineProperty(StatementView.prototype, name, {
    value(this: StatementView, ...given: unknown[]) {
      this.mustBeOpen();
      return (this.statement[name] as Method).call(this.statement, ...given);
    },
  });
Object.defineProperty(StatementView.prototype, 'all', {
  value(this: StatementView, ...given: unknown[]) {
    this.mustBeOpen();
    return allOf(this.statement, given);
  },
});
for (const mode of ['pluck', 'expand', 'raw', 'safeIntegers'] as const)
  Object.defineProperty(StatementView.prototype, mode, {
    value(this: StatementView, isOn?: boolean) {
      return this.set(mode, isOn);
    },
  });
