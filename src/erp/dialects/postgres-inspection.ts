import type { ErpRow, InspectionStatements } from '../erp-database.js';
import { rawSql, sql } from '../sql.js';

const tables = `pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    AND c.relkind IN ('r', 'p') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'`;
const maxTables = 50;

export const postgresInspection: InspectionStatements = {
  server: rawSql(`SELECT pg_catalog.current_setting('server_version') AS version,
      pg_catalog.current_setting('server_encoding') AS charset, (SELECT reset_val FROM pg_catalog.pg_settings WHERE name = 'TimeZone') AS zone`),
  rights: rawSql(`SELECT CASE WHEN r.rolsuper THEN 1 ELSE 0 END AS is_super, w.rights, w.table_name
    FROM pg_catalog.pg_roles r LEFT JOIN (
      SELECT string_agg(p.right_name, ', ') AS rights, n.nspname || '.' || c.relname AS table_name FROM ${tables}
      CROSS JOIN (VALUES ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE')) AS p(right_name)
      WHERE pg_catalog.has_table_privilege(c.oid, p.right_name) GROUP BY 2 ORDER BY 2 LIMIT ${maxTables}) w ON true
    WHERE r.rolname = current_user`),
  writeRights: (rows) => {
    if (rows.some(({ is_super: isSuper }) => isSuper === '1')) return ['everything: it is a superuser'];
    return rows.flatMap(({ rights, table_name: table }) => (table == null ? [] : [`${rights} on ${table}`]));
  },
  hiddenTables: rawSql(`SELECT n.nspname || '.' || c.relname AS table_name FROM ${tables}
    WHERE pg_catalog.has_table_privilege(c.oid, 'SELECT') AND pg_catalog.row_security_active(c.oid)
    ORDER BY 1 LIMIT ${maxTables}`),
  explain: {
    of: (statement) => sql`EXPLAIN (FORMAT JSON) ${statement}`,
    scans: (plan) => scansIn(JSON.parse(planText(plan))),
  },
};

function planText([row]: readonly ErpRow[]): string {
  return Object.values(row ?? {})[0] ?? '[]';
}

interface PlanNode {
  'Node Type'?: string;
  'Relation Name'?: string;
  Plan?: PlanNode;
  Plans?: PlanNode[];
}

/** Node by node. */
function scansIn(node: PlanNode | PlanNode[]): string[] {
  if (Array.isArray(node)) return node.flatMap(scansIn);
  const { 'Node Type': type, 'Relation Name': table, Plan, Plans = [] } = node;
  const own = type === 'Seq Scan' && table !== undefined ? [table] : [];
  return [...own, ...(Plan ? scansIn(Plan) : []), ...scansIn(Plans)];
}
