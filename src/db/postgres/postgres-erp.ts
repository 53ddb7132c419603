import { type Client, escapeIdentifier, type FieldDef, type QueryArrayResult, types } from 'pg';
import { bytesAsText, type ErpDatabase, type ErpDialect, type ErpResult, type ErpSnapshot } from '../erp-database.js';
import type { ErpError } from '../erp-failures.js';
import { type RunTime, readFailure } from '../failures.js';
import { graceMs, type ServerErp } from '../server.js';
import { joinSql, rawSql, type Sql, sql } from '../sql.js';
import { PostgresConnection } from './connection.js';
import {
  isUnlisted,
  type PostgresType,
  postgresCatalogue,
  postgresColumn,
  postgresInspection,
  postgresText,
  postgresValue,
  tablesWithoutRows,
  typesOf,
} from './postgres-catalogue.js';
import { postgresFailures } from './postgres-failure.js';

export const postgresDialect: ErpDialect = {
  quoteIdentifier: (name) => escapeIdentifier(name),
  tupleIn(columns, tuples) {
    const [column, ...others] = columns;
    if (column !== undefined && others.length === 0) return sql`${column} IN (${joinSql(tuples.flat())})`;
    return sql`(${joinSql(columns)}) IN (${joinSql(tuples.map((tuple) => sql`(${joinSql(tuple)})`))})`;
  },
  savepoint: { set: rawSql('SAVEPOINT waybill'), back: rawSql('ROLLBACK TO SAVEPOINT waybill') },
  nowUtc: rawSql("to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"),
  backslashEscapes: false,
  lineComment: '--[^\\n]*',
  // A number or a date can't be compared with an empty text.
  asText: (column) => `CAST(${column} AS TEXT)`,
  fromLatin1: (column) => `convert_from(${column}, 'LATIN1')`,
  asHex: (column) => `encode(${column}, 'hex')`,
  joinTexts: (columns) => `TRIM(CONCAT_WS(' ', ${columns.join(', ')}))`,
  placeholder: (at) => `$${at}`,
  onConflict: (key) => `ON CONFLICT (${key}) DO UPDATE SET`,
  insertsTwiceWithoutKey: false,
  insertedValue: (column) => `excluded.${column}`,
  tableIn: (_database, table) => escapeIdentifier(table),
  keyType: 'VARCHAR(255) COLLATE "C"',
  timeType: 'TIMESTAMP(0)',
  tableOptions: '',
  account: {
    create: (user) => `CREATE ROLE ${escapeIdentifier(user)} LOGIN PASSWORD '...';`,
    grant: (table, user) => `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${escapeIdentifier(user)};`,
    revoke(excess, user) {
      const name = escapeIdentifier(user);
      const statements = excess.map((right) => {
        const role = /^role (.*?): /s.exec(right)?.[1];
        if (role !== undefined) return `REVOKE ${escapeIdentifier(role)} FROM ${name};`;
        const [, schema, table] = / on (?:schema (.*)|(.*))$/s.exec(right) ?? [];
        if (schema !== undefined) return `REVOKE CREATE ON SCHEMA ${escapeIdentifier(schema)} FROM ${name};`;
        if (table === undefined) return `ALTER ROLE ${name} NOSUPERUSER;`;
        return `REVOKE ALL ON ${table.split('.').map(escapeIdentifier).join('.')} FROM ${name};`;
      });
      return [...new Set(statements)];
    },
    grantReading(tables, user) {
      const schemas = new Set(tables.map(({ schema }) => schema ?? ''));
      const names = tables.map(({ schema, name }) => [schema ?? '', name].map(escapeIdentifier).join('.'));
      return [
        ...[...schemas].map(
          (schema) => `GRANT USAGE ON SCHEMA ${escapeIdentifier(schema)} TO ${escapeIdentifier(user)};`,
        ),
        `GRANT SELECT ON ${names.join(', ')} TO ${escapeIdentifier(user)};`,
      ];
    },
  },
  catalogue: postgresCatalogue,
  inspection: postgresInspection,
};

/** An ERP on PostgreSQL, read through one connection that only reads. */
export class PostgresErp extends PostgresConnection implements ErpDatabase {
  readonly #timeoutMs: number;
  /** Kept for this session only: a database that was restored may give the number of a type to another. */
  #types = new Map<number, PostgresType>();

  constructor(private readonly settings: ServerErp) {
    super(settings);
    this.#timeoutMs = settings.queryTimeoutSeconds * 1000;
  }

  protected override async open(): Promise<Client> {
    this.#types = new Map();
    return super.open();
  }

  snapshot<T>(read: (snapshot: ErpSnapshot) => Promise<T>): Promise<T> {
    return this.run(async (connect) => {
      const client = await connect().catch((error) => {
        throw this.#failure(error, 'connect', 'unreachable');
      });
      const { timeZone } = this.settings;
      const kind = 'ISOLATION LEVEL REPEATABLE READ READ ONLY';
      await this.begin(client, kind, this.#timeoutMs, timeZone).catch((error) => {
        throw this.#failure(error, 'begin a snapshot', 'query');
      });
      const query = async (statement: Sql, doing: string) =>
        this.#result(client, await this.#read(client, statement, doing), doing);
      const result = await read({ dialect: postgresDialect, query });
      const { rows: lost } = await this.#read(client, tablesWithoutRows, 'end a snapshot');
      if (lost.length > 0) throw this.#failure(new ReadWithoutRows(lost.flat()), 'read', 'query');
      await this.#read(client, rawSql('COMMIT'), 'end a snapshot');
      return result;
    });
  }

  #failure(error: unknown, doing: string, otherwise: 'unreachable' | 'query', time?: RunTime): ErpError {
    const read = { doing, place: this.identity(), otherwise, ...(time && { time }) };
    return readFailure(postgresFailures, this.withoutPassword(error), read);
  }

  async #read(client: Client, statement: Sql, doing: string): Promise<QueryArrayResult<(string | null)[]>> {
    const startedAt = performance.now();
    const { text, values } = render(statement);
    try {
      return await this.ask(client, text, values, this.#timeoutMs + graceMs);
    } catch (error) {
      const time = { ranMs: performance.now() - startedAt, limitMs: this.#timeoutMs };
      throw this.#failure(error, doing, 'query', time);
    }
  }

  /** A statement that sets something has no fields. */
  async #result(
    client: Client,
    { fields, rows }: QueryArrayResult<(string | null)[]>,
    doing: string,
  ): Promise<ErpResult> {
    const unknown = fields.filter((field) => isUnlisted(field) && !this.#types.has(field.dataTypeID));
    if (unknown.length > 0) await this.#lookUpTypes(client, unknown, doing);
    const columns = fields.map((field) => postgresColumn(field, this.#types.get(field.dataTypeID)));
    const texts = rows.map((row) =>
      Object.fromEntries(
        fields.map((field, at) => [
          field.name,
          this.#textOf(row[at] ?? null, field, columns[at]?.fractionDigits ?? null),
        ]),
      ),
    );
    return { columns, rows: texts };
  }

  async #lookUpTypes(client: Client, fields: readonly FieldDef[], doing: string): Promise<void> {
    for (const [oid, name, category, visible] of (await this.#read(client, typesOf(fields), doing)).rows)
      this.#types.set(Number(oid), { name: name ?? '', category: category ?? '', isVisible: visible === 't' });
  }

  #textOf(text: string | null, field: FieldDef, digits: number | null): string | null {
    if (text === null) return null;
    if (field.dataTypeID === types.builtins.BYTEA) return bytesAsText(Buffer.from(text.slice(2), 'hex'));
    // The driver has replaced bytes that are no text.
    if (this.takesAnyBytes && text.includes('\uFFFD')) return `\0${text}`;
    return postgresText(text, field, digits);
  }
}

class ReadWithoutRows extends Error {
  /** The error of a transaction that another one has overtaken. */
  readonly code = '40001';

  constructor(tables: readonly (string | null)[]) {
    super(`${tables.join(', ')} was emptied, rewritten or replaced meanwhile, and so read without its rows`);
  }
}

function render({ pieces, values }: Sql): { text: string; values: string[] } {
  const bound: string[] = [];
  const text = pieces.reduce((all, piece, at) => {
    const given = values[at - 1];
    if (given === undefined) return all + piece;
    const written = postgresValue(given);
    return `${all}${'sql' in written ? written.sql : `$${bound.push(written.value)}`}${piece}`;
  }, '');
  return { text, values: bound };
}
