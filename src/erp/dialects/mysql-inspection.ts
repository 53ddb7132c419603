import type { ErpRow, InspectionStatements } from '../erp-database.js';
import { rawSql, sql } from '../sql.js';

/** Rights that change rows or tables. */
const WRITING =
  /^(ALL PRIVILEGES|SUPER|(INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|INDEX|TRIGGER|REFERENCES|EVENT|FILE)\b)/;

/** MySQL and MariaDB. */
export const mysqlInspection: InspectionStatements = {
  server: rawSql(`SELECT VERSION() AS version,
      CONCAT(@@character_set_database, ', ', @@collation_database) AS charset,
      CASE @@global.time_zone WHEN 'SYSTEM' THEN CONCAT('SYSTEM (', @@system_time_zone, ')') ELSE @@global.time_zone END AS zone`),
  rights: rawSql('SHOW GRANTS'),
  writeRights: (rows) => rows.flatMap(writingIn),
  hiddenTables: null,
  explain: {
    of: (statement) => sql`EXPLAIN ${statement}`,
    // A materialised step of the query is called <derived2>.
    scans: (plan) =>
      plan.flatMap(({ type, table }) => (type === 'ALL' && table != null && !table.startsWith('<') ? [table] : [])),
  },
};

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
    /^GRANT (.+?) ON ((?:`[^`]+`|\*)\.(?:`[^`]+`|\*)) TO ([`'][^`']*[`'](?:@[`'][^`']*[`'])?)/s.exec(grant) ?? [];
  if (rights === undefined) return null;
  const names = rights.replace(/\([^)]*\)/g, '').split(',');
  return { rights: names.map((name) => name.trim()), on: on.replaceAll('`', ''), account };
}
