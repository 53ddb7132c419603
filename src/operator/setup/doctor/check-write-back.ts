import type { Settings } from '../../../config/settings.js';
import { erpDatabase, erpDialect, writableErpDatabase } from '../../../db/databases.js';
import type { ErpDialect, WriteStatement } from '../../../db/erp-database.js';
import { rawSql, sql } from '../../../db/sql.js';
import { keyProblem, rowsQuery, statementsOfKind } from '../../../erp/write-back/erp-writer.js';
import { sideTables } from '../../../erp/write-back/side-tables.js';
import { isInFile } from '../../../model/database-place.js';
import { literalPattern } from '../../../model/literal-pattern.js';
import { type WriteBackKind, writeBackKinds } from '../../../model/write-back.js';
import { type Finding, findingsOf, listed } from './finding.js';

const finding = findingsOf('erp');

/** Checks that the account of the write-back may do its work, and nothing else. Its statements are explained, never run. */
export async function checkWriteBack(settings: Settings): Promise<Finding[]> {
  const { erp, writeBack } = settings;
  if (!writeBack.enabled) return [];
  const dialect = await erpDialect(erp.type);
  const used = writeBackKinds.filter((kind) => writeBack[kind].enabled);
  const account = await accountOf(settings);
  const mend = (kinds: readonly WriteBackKind[]) => sideTablesOf(settings, kinds, dialect, account);
  const findings: Finding[] = [];
  const writer = await writableErpDatabase(erp, writeBack);
  try {
    for (const kind of used) {
      const problem =
        (await problemOf(kind, settings, dialect, ({ sql, values }) =>
          writer.rows({ sql: `EXPLAIN ${sql}`, values }, kind),
        )) ?? (await keyProblem({ kind, settings: writeBack[kind], dialect }, (query) => writer.rows(query, kind)));
      if (problem === null) continue;
      const { tables, grants, byStatement } = mend([kind]);
      const own = byStatement.length > 0 ? [`Grant what the statements of writeBack.${kind} need.`] : [];
      findings.push(finding('error', problem, ...tables.flatMap((table) => table.split('\n')), ...grants, ...own));
    }
  } finally {
    await writer.close().catch(() => undefined);
  }
  if (account === null || findings.length > 0) return [...findings, ...allIsWell(findings)];
  const statements = used.flatMap((kind) => [
    writeBack[kind].upsert,
    writeBack[kind].gone,
    clearPendingOf(settings, kind),
  ]);
  const excess = excessOf(
    account.rights,
    used.map((kind) => writeBack[kind].table),
    statements.join('\n'),
  );
  if (excess.length === 0) return allIsWell(findings);
  const { grants, byStatement } = mend(used);
  return [
    finding(
      'warning',
      `The account of the write-back may write more than it has to: ${listed(excess)}.`,
      ...(dialect.account?.revoke(excess, account.user, account.host) ?? []),
      ...grants,
      ...(byStatement.length > 0
        ? [`Grant what the statements of ${byStatement.map((kind) => `writeBack.${kind}`).join(', ')} need.`]
        : []),
    ),
  ];
}

const allIsWell = (findings: readonly Finding[]) =>
  findings.length > 0 ? [] : [finding('ok', 'The account of the write-back may do what it has to, and nothing else.')];

const clearPendingOf = ({ writeBack }: Settings, kind: WriteBackKind) =>
  kind === 'invoices' ? undefined : writeBack[kind].clearPending;

interface Account {
  user: string;
  host: string;
  /** The account's rights to write, in words: `INSERT, UPDATE on erp.waybill_orders`. */
  rights: string[];
}

/** Null where the database knows no accounts. */
async function accountOf({ erp, writeBack }: Settings): Promise<Account | null> {
  if (isInFile(erp)) return null;
  const { host, port, database, user, password, tls } = writeBack;
  const place = { host: host ?? erp.host, port: port ?? erp.port, database: database ?? erp.database };
  const database_ = await erpDatabase({
    ...erp,
    ...place,
    user: user ?? erp.user,
    password,
    tls: host === undefined ? { ...erp.tls, ...tls } : tls,
  } as Settings['erp']);
  try {
    return await database_.snapshot(async ({ dialect, query }) => {
      const { rights } = dialect.inspection;
      const rows = rights === null ? [] : await rights(query);
      const { rows: named } = await query(sql`SELECT ${rawSql('CURRENT_USER')} AS name`, 'ask for its name');
      const [, name = '', from = '%'] = /^(.*?)(?:@([^@]*))?$/s.exec(named[0]?.name ?? '') ?? [];
      return { user: name, host: from, rights: dialect.inspection.writeRights(rows) };
    });
  } finally {
    await database_.close().catch(() => undefined);
  }
}

function sideTablesOf(
  settings: Settings,
  kinds: readonly WriteBackKind[],
  dialect: ErpDialect,
  account: Account | null,
) {
  const { erp, writeBack } = settings;
  const only = Object.fromEntries(
    writeBackKinds.map((kind) => [kind, { ...writeBack[kind], enabled: kinds.includes(kind) }]),
  );
  const { user, host } = account ?? { user: writeBack.user ?? '', host: '%' };
  return sideTables({ erp, writeBack: { ...writeBack, ...only } }, dialect, user, host);
}

/** A call of a procedure has no plan. */
const explainable = /^\s*(INSERT|UPDATE|DELETE|REPLACE|SELECT|WITH)\b/i;

/** Why a statement of this kind would fail, in the database's words; null: each could run. */
async function problemOf(
  kind: WriteBackKind,
  { writeBack }: Settings,
  dialect: ErpDialect,
  explain: (statement: WriteStatement) => Promise<unknown>,
): Promise<string | null> {
  const target = { kind, settings: writeBack[kind], dialect };
  const own = target.settings.upsert !== undefined;
  const clear = kind === 'invoices' ? undefined : writeBack[kind].clearPending;
  for (const statement of [...statementsOfKind(target, clear), ...(own ? [] : [rowsQuery(target, '', 1)])])
    try {
      if (explainable.test(statement.sql)) await explain(statement);
    } catch (error) {
      return (error as Error).message;
    }
  return null;
}

/** The account's further rights to write, beside the side tables and the tables that own statements name. Pure. */
export function excessOf(rights: readonly string[], tables: readonly string[], statements: string): string[] {
  return rights.filter((right) => {
    const on = right.slice(right.indexOf(' on ') + ' on '.length);
    const table = on.slice(on.indexOf('.') + 1);
    const isNamed = table !== '*' && new RegExp(`(^|\\W)${literalPattern(table)}(\\W|$)`, 'i').test(statements);
    return !right.includes(' on ') || !(tables.includes(table) || isNamed);
  });
}
