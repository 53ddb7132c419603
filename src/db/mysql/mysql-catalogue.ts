import type { CatalogueStatements } from '../catalogue.js';
import { type ErpRow, type ErpSnapshot, type InspectionStatements, ownAndOfRoles } from '../erp-database.js';
import { rawSql, sql } from '../sql.js';

/** MySQL and MariaDB. Names are given again, because MySQL 8 writes those of its own views in capital letters. */
export const mysqlCatalogue: CatalogueStatements = {
  tables:
    rawSql(`SELECT table_schema AS schema_name, table_name AS table_name, 1 AS is_in_path, table_type <> 'BASE TABLE' AS is_view,
      table_rows AS approximate_rows
    FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name`),
  columns: rawSql(`SELECT table_schema AS schema_name, table_name AS table_name, column_name AS column_name,
      column_type AS type_name, is_nullable = 'YES' AS nullable, 1 AS is_in_path,
      CASE WHEN collation_name NOT LIKE '%bin' THEN collation_name END AS compared_by
    FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`),
  // An index over the beginning of a text is not one of the column.
  indexes: rawSql(`SELECT table_schema AS schema_name, table_name AS table_name, index_name AS index_name,
      index_name = 'PRIMARY' AS is_primary, non_unique = 0 AS is_unique,
      CASE WHEN sub_part IS NULL THEN column_name END AS column_name, 1 AS is_in_path, seq_in_index AS place
    FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY table_name, index_name, seq_in_index`),
  foreignKeys: rawSql(`SELECT table_schema AS schema_name, table_name AS table_name, constraint_name AS key_name,
      column_name AS column_name, referenced_table_schema AS referenced_schema, referenced_table_name AS referenced_table,
      referenced_column_name AS referenced_column
    FROM information_schema.key_column_usage
    WHERE table_schema = DATABASE() AND referenced_table_schema = DATABASE()
    ORDER BY table_name, constraint_name, ordinal_position`),
};

/** Rights that change rows or tables. */
const WRITING =
  /^(ALL PRIVILEGES|SUPER|(INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|INDEX|TRIGGER|REFERENCES|EVENT|FILE)\b)/;

/** MySQL and MariaDB. */
export const mysqlInspection: InspectionStatements = {
  server: rawSql(`SELECT VERSION() AS version,
      CONCAT(@@character_set_database, ', ', @@collation_database) AS charset,
      CASE @@global.time_zone WHEN 'SYSTEM' THEN CONCAT('SYSTEM (', @@system_time_zone, ')') ELSE @@global.time_zone END AS zone`),
  rights: readGrants,
  writeRights: (rows) =>
    ownAndOfRoles(rows.flatMap((row) => writingIn(row).map((right) => ({ role: row[ROLE] ?? null, right })))),
  hiddenTables: null,
  explain: {
    of: (statement) => sql`EXPLAIN ${statement}`,
    // A materialised step of the query is called <derived2>.
    scans: (plan) =>
      plan.flatMap(({ type, table: name }) =>
        type === 'ALL' && name != null && !name.startsWith('<') ? [{ schema: null, name }] : [],
      ),
  },
};

/** Beside a grant: the role, as a statement writes it, that the account has to take for it. */
const ROLE = 'role_name';

/**
 * The grants of the account, and with each role that it may take those that it has then. MariaDB shows what a role may to
 * accounts that have taken it, and to no others; they hold one role at a time.
 */
async function readGrants(query: ErpSnapshot['query']): Promise<ErpRow[]> {
  const read = async (statement: string) => (await query(rawSql(statement), 'ask for the rights of the account')).rows;
  const own = await read('SHOW GRANTS');
  const roles = own.flatMap((row) => rolesIn(Object.values(row)[0] ?? ''));
  const withRole = async (role: string): Promise<ErpRow[]> => {
    if (role.includes('@')) return read(`SHOW GRANTS FOR CURRENT_USER() USING ${role}`);
    const [before] = await read('SELECT CURRENT_ROLE() AS name');
    await read(`SET ROLE ${role}`);
    try {
      return await read('SHOW GRANTS');
    } finally {
      await read(`SET ROLE ${before?.name == null ? 'NONE' : quoted(before.name)}`);
    }
  };
  const ofRoles: ErpRow[] = [];
  for (const role of roles) for (const row of await withRole(role)) ofRoles.push({ ...row, [ROLE]: role });
  return [...own, ...ofRoles];
}

const quoted = (name: string) => `\`${name.replaceAll('`', '``')}\``;

const NAME = "(?:`(?:[^`]|``)*`|'[^']*'|\\w+)";
/** A grant without ON is a role. A role that another role brings can't be taken by itself. */
const ROLES_OF_ACCOUNT = new RegExp(`^GRANT (${NAME}(?:@${NAME})?(?:, ?${NAME}(?:@${NAME})?)*) TO ${NAME}@${NAME}`);

/** ``GRANT `clerk` TO `u`@`h` `` of MariaDB, ``GRANT `clerk`@`%`,`boss`@`%` TO `u`@`h` `` of MySQL. Pure. */
export function rolesIn(grant: string): string[] {
  const [, roles = ''] = ROLES_OF_ACCOUNT.exec(grant) ?? [];
  return (roles.match(new RegExp(`${NAME}(?:@${NAME})?`, 'g')) ?? []).map((role) =>
    /^\w+$/.test(role) ? quoted(role) : role,
  );
}

function writingIn(row: ErpRow): string[] {
  const { rights = [], on = '' } = grantIn(Object.values(row)[0] ?? '') ?? {};
  const writing = rights.filter((right) => WRITING.test(right));
  return writing.length === 0 ? [] : [`${writing.join(', ')} on ${on}`];
}

/**
 * `GRANT SELECT, UPDATE (a, b) ON erp.* TO …`, with names in backticks. Null: a role, which comes without ON; its rights have lines
 * of their own. `account` as a statement writes it.
 */
export function grantIn(grant: string): { rights: string[]; on: string; account: string } | null {
  const [, rights, on = '', account = ''] =
    /^GRANT (.+?) ON ((?:`(?:[^`]|``)+`|\*)\.(?:`(?:[^`]|``)+`|\*)) TO ([`'][^`']*[`'](?:@[`'][^`']*[`'])?)/s.exec(
      grant,
    ) ?? [];
  if (rights === undefined) return null;
  const names = rights.replace(/\([^)]*\)/g, '').split(',');
  return { rights: names.map((name) => name.trim()), on: on.replaceAll('`', ''), account };
}
