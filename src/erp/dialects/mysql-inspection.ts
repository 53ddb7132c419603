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

/** `GRANT SELECT, UPDATE (a, b) ON erp.* TO …`, with names in backticks. A role comes without ON; its rights have lines of their own. */
function writingIn(row: ErpRow): string[] {
  const [, rights = '', on = ''] =
    /^GRANT (.+?) ON ((?:`[^`]+`|\*)\.(?:`[^`]+`|\*)) TO /s.exec(Object.values(row)[0] ?? '') ?? [];
  const names = rights.replace(/\([^)]*\)/g, '').split(',');
  const writing = names.map((name) => name.trim()).filter((name) => WRITING.test(name));
  return writing.length === 0 ? [] : [`${writing.join(', ')} on ${on.replaceAll('`', '')}`];
}
