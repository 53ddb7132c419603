import type { StoreSettings } from '../../../config/sections/store.js';
import { grantIn } from '../../../erp/dialects/mysql-catalogue.js';
import { storeDataSource } from '../../../store/data-source.js';
import { schemaTables } from '../../../store/schema.js';
import { type Finding, findingsOf, listed } from './finding.js';

const finding = findingsOf('store');

type Row = Readonly<Record<string, unknown>>;

/** What the account of the store lacks, and may do beside it, with the SQL that mends each. */
interface Judged {
  lacks: string[];
  grants: string[];
  exceeds: string[];
  revokes: string[];
}

/** The store's server is asked for the account's rights. Nothing is written. */
export async function checkStoreAccount(settings: StoreSettings): Promise<Finding[]> {
  if (settings.type === 'sqlite') return [];
  const { ask, judge } = accounts[settings.type];
  const dataSource = await storeDataSource(settings, true).initialize();
  try {
    return inWords(judge(await dataSource.query(ask), settings.database));
  } finally {
    await dataSource.destroy();
  }
}

function inWords({ lacks, grants, exceeds, revokes }: Judged): Finding[] {
  return [
    ...(lacks.length > 0
      ? [
          finding(
            'error',
            `The account of the store may not do all that it has to: it lacks ${listed(lacks)}.`,
            ...grants,
          ),
        ]
      : []),
    ...(exceeds.length > 0
      ? [finding('warning', `The account of the store may do more than it has to: ${listed(exceeds)}.`, ...revokes)]
      : []),
    ...(lacks.length + exceeds.length === 0
      ? [finding('ok', 'The account of the store may do what it has to, and nothing elsewhere.')]
      : []),
  ];
}

const accounts = {
  mysql: { ask: 'SHOW GRANTS', judge: judgeMysql },
  postgres: { ask: postgresRights(), judge: judgePostgres },
};

/** What migrations and the work itself take. */
const needed = ['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'CREATE', 'ALTER', 'DROP', 'INDEX'];

/** Pure. @param rows what SHOW GRANTS says */
export function judgeMysql(rows: readonly Row[], database: string): Judged {
  const grants = rows.flatMap((row) => grantIn(String(Object.values(row)[0])) ?? []);
  const account = grants[0]?.account ?? 'CURRENT_USER';
  const place = `\`${database.replaceAll('`', '``')}\`.*`;
  const isOwn = (on: string) => on === `${database}.*` || on.replaceAll('\\', '') === `${database}.*`;
  const has = new Set(grants.filter(({ on }) => on === '*.*' || isOwn(on)).flatMap(({ rights }) => rights));
  const lacks = has.has('ALL PRIVILEGES') ? [] : needed.filter((right) => !has.has(right));
  const isInStore = (on: string) => isOwn(on) || on.replaceAll('\\', '').startsWith(`${database}.`);
  const elsewhere = grants.filter(({ on, rights }) => !isInStore(on) && rights.some((right) => right !== 'USAGE'));
  return {
    lacks,
    grants: [`GRANT ${lacks.join(', ')} ON ${place} TO ${account};`],
    exceeds: elsewhere.map(({ on, rights }) => `${rights.join(', ')} on ${on}`),
    revokes: [
      `REVOKE ALL PRIVILEGES, GRANT OPTION FROM ${account};`,
      `GRANT ${needed.join(', ')} ON ${place} TO ${account};`,
    ],
  };
}

/** Other programs may have tables of their own in the same schema. */
function postgresRights(): string {
  const tables = ['migration', ...Object.keys(schemaTables)].map((name) => `'${name}'`);
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
export function judgePostgres([row = {}]: readonly Row[]): Judged {
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
