import { type FieldDef, types } from 'pg';
import { parseWrittenTime } from '../../model/written-time.js';
import type { CatalogueStatements } from '../catalogue.js';
import type { ErpRow, InspectionStatements, Scan } from '../erp-database.js';
import { type ErpColumn, inexact, ownAndOfRoles } from '../erp-database.js';
import { isNumberText, joinSql, rawSql, type Sql, sql } from '../sql.js';

/** Tables, views and foreign tables of the ERP that the account may read; a partition belongs to its table. */
const relations = `(SELECT c.oid, c.relkind, c.reltuples, c.relname::text AS table_name,
      n.nspname::text AS schema_name
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
      AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class parent ON parent.oid = i.inhparent
        WHERE i.inhrelid = c.oid AND parent.relkind = 'p')
      AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
      AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))`;
const flag = (condition: string) => `CASE WHEN ${condition} THEN 1 ELSE 0 END`;
const isInPath = `${flag('pg_catalog.pg_table_is_visible(r.oid)')} AS is_in_path`;

/** From PostgreSQL's own tables: the views of the standard leave out what another account owns. */
export const postgresCatalogue: CatalogueStatements = {
  tables: rawSql(`SELECT r.schema_name, r.table_name, ${isInPath},
      ${flag("r.relkind IN ('v', 'm')")} AS is_view,
      CASE WHEN r.reltuples >= 0 AND r.relkind IN ('r', 'm') THEN r.reltuples::bigint END AS approximate_rows
    FROM ${relations} r ORDER BY r.schema_name, r.table_name`),
  // The type of an ENUM and a domain has a name of its own, which may be any: `point_of_sale`, `t_int`.
  columns: rawSql(`SELECT r.schema_name, r.table_name, a.attname::text AS column_name,
      CASE WHEN 'e' IN (t.typtype, b.typtype) THEN 'enum' WHEN b.oid IS NOT NULL THEN pg_catalog.format_type(b.oid, t.typtypmod)
        ELSE pg_catalog.format_type(a.atttypid, a.atttypmod) END AS type_name, ${flag('NOT a.attnotnull')} AS nullable,
      ${isInPath}, CASE WHEN o.collname <> 'C' THEN o.collname::text END AS compared_by
    FROM ${relations} r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid LEFT JOIN pg_catalog.pg_type b ON b.oid = t.typbasetype AND t.typtype = 'd'
    LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation
    WHERE a.attnum > 0 AND NOT a.attisdropped ORDER BY r.schema_name, r.table_name, a.attnum`),
  // A partial index says nothing about all rows. An expression has the number 0, and so no column.
  indexes:
    rawSql(`SELECT r.schema_name, r.table_name, x.indexrelid::bigint AS index_name, ${flag('x.indisprimary')} AS is_primary,
      ${flag('x.indisunique')} AS is_unique, a.attname::text AS column_name, ${isInPath}, k.place
    FROM ${relations} r JOIN pg_catalog.pg_index x ON x.indrelid = r.oid
    CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k(attnum, place)
    LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.attnum AND k.attnum > 0
    WHERE x.indpred IS NULL AND x.indisvalid ORDER BY r.schema_name, r.table_name, x.indexrelid, k.place`),
  foreignKeys: rawSql(`SELECT r.schema_name, r.table_name, f.conname::text AS key_name, a.attname::text AS column_name,
      t.schema_name AS referenced_schema, t.table_name AS referenced_table, b.attname::text AS referenced_column
    FROM ${relations} r JOIN pg_catalog.pg_constraint f ON f.conrelid = r.oid AND f.contype = 'f'
    JOIN ${relations} t ON t.oid = f.confrelid
    CROSS JOIN LATERAL unnest(f.conkey, f.confkey) WITH ORDINALITY AS k(own, other, place)
    JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.own
    JOIN pg_catalog.pg_attribute b ON b.attrelid = f.confrelid AND b.attnum = k.other
    ORDER BY r.schema_name, r.table_name, f.conname, k.place`),
};

const { BOOL, BPCHAR, BYTEA, CHAR, DATE, FLOAT4, FLOAT8, INT2, INT4, INT8, JSON: JSON_, JSONB, MONEY } = types.builtins;
const { NUMERIC, OID, TEXT, TIMESTAMP, TIMESTAMPTZ, UUID, VARCHAR } = types.builtins;
/** The type of names in the catalogue. The driver has no word for it. */
const NAME = 19;

/** The catalogue's entry for a type that the driver doesn't know by heart: those of extensions and of the ERP itself. */
export interface PostgresType {
  name: string;
  /** `A` array, `C` composite, `E` enum, `S` string, `R` range, … */
  category: string;
  /** True if its operators are found without naming a schema. */
  isVisible: boolean;
}

/**
 * Yields the tables that this transaction has read although they were made, emptied or rewritten after its snapshot, so
 * that they have none of their rows in it. The catalogue's tables show the files of the snapshot, its functions those of now.
 */
export const tablesWithoutRows = rawSql(`SELECT l.relation::regclass::text FROM pg_catalog.pg_locks l
    LEFT JOIN pg_catalog.pg_class c ON c.oid = l.relation
  WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation'
    AND (c.oid IS NULL OR (c.relfilenode <> 0 AND c.relfilenode IS DISTINCT FROM pg_catalog.pg_relation_filenode(c.oid)))`);

/** Yields number, name, category and visibility of these types. */
export function typesOf(fields: readonly FieldDef[]): Sql {
  const numbers = fields.map(({ dataTypeID }) => ({ text: `${dataTypeID}`, kind: 'number' }) as const);
  return sql`SELECT oid, pg_catalog.format_type(oid, NULL), typcategory, pg_catalog.pg_type_is_visible(oid)
    FROM pg_catalog.pg_type WHERE oid IN (${joinSql(numbers)})`;
}

const NUMBERS = new Set<number>([INT2, INT4, INT8, NUMERIC, OID]);
const TEXTS = new Set<number>([TEXT, VARCHAR, BPCHAR, NAME]);
const FLOATS = new Map<number, 'FLOAT' | 'DOUBLE'>([
  [FLOAT4, 'FLOAT'],
  [FLOAT8, 'DOUBLE'],
]);
const TIMES = new Map<number, 'timestamp' | 'datetime' | 'date'>([
  [TIMESTAMPTZ, 'timestamp'],
  [TIMESTAMP, 'datetime'],
  [DATE, 'date'],
]);
const AS_TEXT = 'write CAST(… AS text) in the query';
const WHOLE_JSON =
  "holds more than one value; take one out in the query, such as name->>'en_US', or write CAST(… AS text)";

/** True if the kind of a column of this type must be looked up in the catalogue. */
export function isUnlisted({ dataTypeID: type }: FieldDef): boolean {
  return ![NUMBERS, TEXTS, FLOATS, TIMES].some((known) => known.has(type)) && !SINGLE.has(type);
}

/** Types of one kind each: what keeps them from being a key, or from being a value at all, and what they take. */
const SINGLE = new Map<number, Partial<ErpColumn>>([
  [BOOL, { accepts: (text) => /^(t|f|true|false)$/i.test(text) }],
  [UUID, { accepts: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) }],
  [BYTEA, { keyProblem: "it holds bytes, not text; write encode(…, 'hex') in the query" }],
  [JSON_, { valueProblem: `is a json, which ${WHOLE_JSON}` }],
  [JSONB, { valueProblem: `is a jsonb, which ${WHOLE_JSON}` }],
  [MONEY, { valueProblem: 'is a money, written as the server likes; write CAST(… AS numeric) in the query' }],
  [CHAR, { keyProblem: `a "char" is one byte; ${AS_TEXT}` }],
]);

/** @param type of a column that `isUnlisted` */
export function postgresColumn(field: FieldDef, type: PostgresType | undefined): ErpColumn {
  const { name, dataTypeID: oid, dataTypeModifier } = field;
  const time = TIMES.get(oid);
  const float = FLOATS.get(oid) ?? null;
  const column: ErpColumn = {
    name,
    kind: time ?? (NUMBERS.has(oid) || float !== null ? 'number' : 'text'),
    fractionDigits: time === undefined ? null : fractionDigitsOf(time, dataTypeModifier),
    scale: NUMBERS.has(oid) ? scaleOf(oid, dataTypeModifier) : null,
    keyProblem: float === null ? null : inexact(float),
    float,
    accepts: time === undefined ? isText : isTime,
  };
  return { ...column, ...(SINGLE.get(oid) ?? (type && problemsOf(type))) };
}

/** PostgreSQL keeps microseconds where the type names no precision. */
function fractionDigitsOf(time: ErpColumn['kind'], modifier: number): number {
  if (time === 'date') return 0;
  return modifier < 0 ? 6 : modifier;
}

/** A NUMERIC without a precision keeps the places with which each value was written. */
function scaleOf(oid: number, modifier: number): number | null {
  if (oid !== NUMERIC) return 0;
  // Four bytes of length come before it; the places are in the lower half.
  return modifier < 0 ? null : (modifier - 4) & 0xffff;
}

/** No text of PostgreSQL holds a NUL: it would refuse the statement that asks for one. */
function isText(text: string): boolean {
  return !text.includes('\0');
}

function isTime(text: string): boolean {
  return parseWrittenTime(text) !== null || /^-?infinity$/.test(text);
}

function problemsOf({ name, category, isVisible }: PostgresType): Partial<ErpColumn> {
  if (category === 'A')
    return { valueProblem: `is a list (${name}); write array_to_string(…, ', ') in the query, or a join` };
  if (category === 'C') return { valueProblem: `is a whole row (${name}); name one of its columns in the query` };
  if (category === 'E')
    return { keyProblem: `an ENUM is sorted by place and compared with its own words only; ${AS_TEXT}` };
  if (name.replace(/^.*\./, '') !== 'citext') return { keyProblem: `a ${name} is not compared as a text; ${AS_TEXT}` };
  // Outside the search_path it would be sorted as citext and compared as text: pages would lose rows.
  return isVisible
    ? {}
    : { keyProblem: `citext is outside the search_path of erp.user; add its schema, or ${AS_TEXT}` };
}

const INSTANT = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?$/;

/** A value as the server wrote it, in the form that the mapping knows; see `ColumnKind`. */
export function postgresText(text: string, { dataTypeID: type }: FieldDef, digits: number | null): string {
  // As the database writes it where it is cast to text.
  if (type === BOOL) return text === 't' ? 'true' : 'false';
  // Blanks at the end of a char(n) mean nothing.
  if (type === BPCHAR) return text.replace(/ +$/, '');
  if (type !== TIMESTAMP && type !== TIMESTAMPTZ) return text;
  const [, date, time, fraction = '', sign, hours = '0', minutes = '0', seconds = '0'] =
    INSTANT.exec(type === TIMESTAMP ? `${text}+00` : text) ?? [];
  if (date === undefined) return text;
  const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * (sign === '-' ? -1 : 1);
  const utc = new Date(Date.parse(`${date}T${time}Z`) - offset * 1000).toISOString();
  const padded = fraction.padEnd(digits ?? 6, '0');
  return `${utc.slice(0, 19).replace('T', ' ')}${padded === '' ? '' : `.${padded}`}`;
}

/** A value for a statement: a number as it stands, where it is one, because the server compares it by its own type. */
export function postgresValue({ text, kind }: { text: string; kind: string }): { sql: string } | { value: string } {
  if (kind === 'number' && isNumberText(text)) return { sql: text };
  return { value: kind === 'timestamp' && parseWrittenTime(text)?.offsetMinutes === null ? `${text}+00` : text };
}

const tables = `pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    AND c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'`;
const maxTables = 50;

/**
 * A right on one column is one to write, too. The rights of a role count although the account does not inherit them and
 * has to take the role first. In old versions everyone may create tables in `public`: that is no right of this account.
 */
const rights = rawSql(`SELECT r.rolname AS role_name, ${flag('r.rolname = current_user')} AS is_own,
      ${flag('r.rolsuper')} AS is_super, w.rights, w.place
    FROM pg_catalog.pg_roles r LEFT JOIN LATERAL (
      (SELECT string_agg(p.right_name, ', ') AS rights, n.nspname || '.' || c.relname AS place FROM ${tables}
        CROSS JOIN (VALUES ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE')) AS p(right_name)
        WHERE CASE WHEN p.right_name IN ('INSERT', 'UPDATE')
          THEN pg_catalog.has_any_column_privilege(r.oid, c.oid, p.right_name)
          ELSE pg_catalog.has_table_privilege(r.oid, c.oid, p.right_name) END
        GROUP BY 2 ORDER BY 2 LIMIT ${maxTables})
      UNION ALL (SELECT 'CREATE', 'schema ' || n.nspname FROM pg_catalog.pg_namespace n
        WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
          AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE')
          AND NOT pg_catalog.has_schema_privilege('public', n.oid, 'CREATE')
        ORDER BY 2 LIMIT ${maxTables})) w ON true
    WHERE r.rolname = current_user OR (pg_catalog.pg_has_role(r.oid, 'MEMBER')
      AND NOT (SELECT own.rolsuper FROM pg_catalog.pg_roles own WHERE own.rolname = current_user))
    ORDER BY r.rolname, w.place`);

export const postgresInspection: InspectionStatements = {
  server: rawSql(`SELECT pg_catalog.current_setting('server_version') AS version,
      pg_catalog.current_setting('server_encoding') AS charset, (SELECT reset_val FROM pg_catalog.pg_settings WHERE name = 'TimeZone') AS zone`),
  rights: async (query) => (await query(rights, 'ask for the rights of the account')).rows,
  writeRights: (rows) => {
    if (rows.some(({ is_own: own, is_super: isSuper }) => own === '1' && isSuper === '1'))
      return ['everything: it is a superuser'];
    return ownAndOfRoles(
      rows.flatMap(({ role_name: name, is_own: own, is_super: isSuper, rights, place }) => {
        const role = own === '1' ? null : (name ?? '');
        if (isSuper === '1') return [{ role, right: 'everything: it is a superuser' }];
        return place == null ? [] : [{ role, right: `${rights} on ${place}` }];
      }),
    );
  },
  hiddenTables: rawSql(`SELECT n.nspname || '.' || c.relname AS table_name FROM ${tables}
    WHERE pg_catalog.has_table_privilege(c.oid, 'SELECT') AND pg_catalog.row_security_active(c.oid)
    ORDER BY 1 LIMIT ${maxTables}`),
  explain: {
    // Without VERBOSE it tells no schema.
    of: (statement) => sql`EXPLAIN (VERBOSE, FORMAT JSON) ${statement}`,
    scans: (plan) => scansIn(JSON.parse(planText(plan))),
  },
};

function planText([row]: readonly ErpRow[]): string {
  return Object.values(row ?? {})[0] ?? '[]';
}

interface PlanNode {
  'Node Type'?: string;
  'Relation Name'?: string;
  Schema?: string;
  Plan?: PlanNode;
  Plans?: PlanNode[];
}

/** Node by node. */
function scansIn(node: PlanNode | PlanNode[]): Scan[] {
  if (Array.isArray(node)) return node.flatMap(scansIn);
  const { 'Node Type': type, 'Relation Name': name, Schema: schema = null, Plan, Plans = [] } = node;
  const own = type === 'Seq Scan' && name !== undefined ? [{ schema, name }] : [];
  return [...own, ...(Plan ? scansIn(Plan) : []), ...scansIn(Plans)];
}
