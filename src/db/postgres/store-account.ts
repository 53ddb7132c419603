import type { AccountJudgement, StoreAccount } from '../store-dialect.js';

export const postgresStoreAccount: StoreAccount = { ask: askPostgres, judge: judgePostgres };

/** Other programs may have tables of their own in the same schema. */
function askPostgres(names: readonly string[]): string {
  const tables = names.map((name) => `'${name}'`);
  return `SELECT quote_ident(current_user) AS name, quote_ident(current_schema()) AS place,
      CASE WHEN r.rolsuper THEN 1 ELSE 0 END AS superuser, CASE WHEN r.rolcreaterole THEN 1 ELSE 0 END AS createrole,
      CASE WHEN r.rolcreatedb THEN 1 ELSE 0 END AS createdb,
      CASE WHEN has_schema_privilege(current_schema(), 'CREATE') THEN 1 ELSE 0 END AS may_create,
      (SELECT string_agg(quote_ident(c.relname), ', ' ORDER BY c.relname) FROM pg_catalog.pg_class c
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema()
        WHERE c.relkind = 'r' AND c.relname IN (${tables.join(', ')})
          AND NOT pg_has_role(c.relowner, 'USAGE')) AS foreign_tables
    FROM pg_catalog.pg_roles r WHERE r.rolname = current_user`;
}

/** Pure. A migration alters tables, which only their owner may. */
export function judgePostgres([row = {}]: readonly Readonly<Record<string, unknown>>[]): AccountJudgement {
  const { name, place, may_create: mayCreate, foreign_tables: foreign } = row;
  const tables = typeof foreign === 'string' ? foreign.split(', ') : [];
  const roles = ['superuser', 'createrole', 'createdb'].filter((role) => Number(row[role]) === 1);
  const isSuper = roles.includes('superuser');
  const lacksCreate = !isSuper && Number(mayCreate) !== 1;
  return {
    lacks: [
      ...(lacksCreate ? [`CREATE on the schema ${place}`] : []),
      ...(isSuper ? [] : tables.map((table) => `the ownership of ${table}`)),
    ],
    grants: [
      ...(lacksCreate ? [`GRANT USAGE, CREATE ON SCHEMA ${place} TO ${name};`] : []),
      ...tables.map((table) => `ALTER TABLE ${place}.${table} OWNER TO ${name};`),
    ],
    exceeds: roles.map((role) => `it is ${role === 'superuser' ? 'a superuser' : `a role with ${role.toUpperCase()}`}`),
    revokes: [`ALTER ROLE ${name} NOSUPERUSER NOCREATEROLE NOCREATEDB;`],
  };
}
