import type { Settings } from '../../../config/settings.js';
import type { ErpDatabase, ErpRow, ErpSnapshot, Scan } from '../../../db/erp-database.js';
import { joinSql, rawSql, type Sql, sql } from '../../../db/sql.js';
import { type CatalogueTable, countRows, nameOf, readCatalogue, tableSql } from '../../../erp/catalogue.js';
import { databaseErpReader } from '../../../erp/database-erp-reader.js';
import { fromQuery } from '../../../erp/query-source.js';
import { instantOfValue } from '../../../erp/time/time-form.js';
import { formatSourceKey } from '../../../model/record.js';
import { excludedOrders } from '../../foresee-delivery.js';
import { checkCodes, checkStates, checkTimeZone } from './check-states.js';
import { type Finding, findingsOf, guarded } from './finding.js';
import {
  judgeChanges,
  judgeFloats,
  judgeMultiplied,
  judgeRests,
  judgeRowCount,
  judgeStarts,
  judgeTotal,
} from './judge-changes.js';
import { judgeWholeRead, type WholeRead } from './judge-plans.js';
import { judgeHiddenTables, judgeRights, judgeServer } from './judge-server.js';
import { baseTable, joinsOf, tablesOf } from './tables-of-query.js';

/** The ERP's server and account, and what the configured queries cost and lose there. Each part goes on without the others. */
export async function checkErp(database: ErpDatabase, settings: Settings, nowMs: () => number): Promise<Finding[]> {
  const server = await guarded('erp', () => checkServer(database, settings, nowMs));
  // Nothing else can be asked of a database that is away.
  if (server.some(({ severity }) => severity === 'error')) return server;
  const reader = databaseErpReader(database, settings);
  const mapping = await guarded('mapping', async () => {
    await reader.check();
    return [findingsOf('mapping')('ok', 'Every query, column and condition of the mapping fits the database.')];
  });
  if (mapping.some(({ severity }) => severity === 'error')) return [...server, ...mapping];
  const tables = await database.snapshot(async (snapshot) => (await readCatalogue(snapshot)).tables).catch(() => []);
  const ask = (work: (snapshot: ErpSnapshot) => Promise<Finding[]>) =>
    // A large table may take longer than erp.queryTimeoutSeconds allows.
    guarded('mapping', () => database.snapshot(work), 'warning');
  return [
    ...server,
    ...mapping,
    ...judgeTotal(settings.orders),
    ...(await ask((snapshot) => checkFloats(snapshot, settings))),
    ...(await ask((snapshot) => checkChanges(snapshot, settings))),
    ...(await ask((snapshot) => checkTimeZones(snapshot, settings, nowMs()))),
    ...(await ask((snapshot) => checkStates(snapshot, settings))),
    ...(await ask((snapshot) => checkCodes(snapshot, settings))),
    ...(await guarded('mapping', async () => judgeStarts(await excludedOrders(reader), settings.orders), 'warning')),
    ...(await ask((snapshot) => checkKeys(snapshot, settings))),
    ...(await ask((snapshot) => checkRowCounts(snapshot, settings, tables))),
    ...(await guarded('mapping', () => checkPlans(database, settings, tables), 'warning')),
  ];
}

async function checkServer(database: ErpDatabase, { erp, orders, customers }: Settings, nowMs: () => number) {
  const finding = findingsOf('erp');
  return database.snapshot(async (snapshot): Promise<Finding[]> => {
    const { dialect } = snapshot;
    const { inspection } = dialect;
    const rowsOf = async (statement: Sql | null, doing: string): Promise<ErpRow[]> =>
      statement === null ? [] : (await snapshot.query(statement, doing)).rows;
    const before = nowMs();
    const [clock = {}] = await rowsOf(sql`SELECT ${dialect.nowUtc} AS now`, 'read the clock');
    const at = instantOfValue(clock.now ?? '', 'timestamp', 'UTC');
    const [facts = {}] = await rowsOf(inspection.server, 'ask the server for its version');
    const { version, charset, zone } = facts;
    const findings = judgeServer('erp', {
      version: version ?? '?',
      charset: charset ?? '?',
      zone: zone ?? '?',
      clockAheadMs: at === null ? 0 : at.seconds * 1000 + at.micros / 1000 - (before + nowMs()) / 2,
    });
    if (inspection.rights === null || dialect.account === null || !('user' in erp)) return findings;
    const writing = inspection.writeRights(await inspection.rights(snapshot.query));
    const { tables } = await readCatalogue(snapshot);
    const queries = [orders.query, orders.lines.query, customers.query ?? ''];
    const read = tables.filter((table) => queries.some((query) => tablesOf(query, [table]).length > 0));
    const { create, grantReading } = dialect.account;
    const reader = `${erp.user}_reader`;
    const statements = [create(reader, '%'), ...grantReading(read, reader, '%', erp.database), `erp.user: ${reader}`];
    const hidden = await rowsOf(inspection.hiddenTables, 'look for row-level security');
    return [
      ...findings,
      judgeRights(writing, statements),
      ...judgeHiddenTables(
        hidden.map(({ table_name: table }) => table ?? ''),
        dialect.quoteIdentifier(erp.user),
      ),
      ...(read.length === 0
        ? [finding('note', 'No table of the queries is visible to this account, only views.')]
        : []),
    ];
  });
}

/** The configured queries with their keys; customers only where they are sent. */
function sourcesOf({ orders, customers }: Settings) {
  const own = [{ setting: 'orders.query', query: orders.query, key: orders.key, changedAt: orders.changedAt }];
  if (customers.send === 'none' || !customers.query) return own;
  const { query, key = [], changedAt } = customers;
  return [...own, { setting: 'customers.query', query, key, changedAt }];
}

async function checkFloats(snapshot: ErpSnapshot, { orders }: Settings): Promise<Finding[]> {
  const named = (columns: (string | undefined)[]) => columns.filter((name) => name !== undefined);
  const { lines } = orders;
  const amounts = Object.entries(lines.fields).flatMap(([name, mapping]) => {
    const isAmount =
      name === 'price' || (typeof mapping === 'object' && 'type' in mapping && mapping.type === 'amount');
    if (!isAmount) return [];
    const column = typeof mapping === 'object' && 'type' in mapping ? mapping.column : mapping;
    return named([column].flat());
  });
  const found: Parameters<typeof judgeFloats>[0][number][] = [];
  const rests: Parameters<typeof judgeRests>[0][number][] = [];
  for (const [setting, query, names] of [
    ['orders.query', orders.query, named([orders.total])],
    ['orders.lines.query', lines.query, named([lines.amount, ...amounts])],
  ] as const) {
    const { columns } = await snapshot.query(sql`SELECT q.* ${fromQuery({ query })} LIMIT 0`, `check ${setting}`);
    for (const { name, float } of columns)
      if (float !== null && names.some((one) => one.toLowerCase() === name.toLowerCase()))
        found.push({ setting, name, float });
    const { inexact } = snapshot.dialect.inspection;
    for (const name of inexact ? names : []) {
      const [column = rawSql(name)] = await columnsOf(snapshot, query, [name]);
      const condition = inexact?.(column) ?? rawSql('1=0');
      const statement = sql`SELECT COUNT(*) AS n, MIN(${column}) AS such ${fromQuery({ query })} WHERE ${condition}`;
      const { rows } = await snapshot.query(statement, `look for inexact amounts (${setting})`);
      rests.push({ setting, name, rows: Number(rows[0]?.n ?? 0), such: rows[0]?.such ?? '' });
    }
  }
  return [...judgeFloats(found), ...judgeRests(rests)];
}

async function checkChanges(snapshot: ErpSnapshot, settings: Settings): Promise<Finding[]> {
  const missing = { orders: 0, customers: 0 };
  for (const { setting, query, changedAt } of sourcesOf(settings)) {
    if (changedAt === undefined) continue;
    const [column = rawSql(changedAt)] = await columnsOf(snapshot, query, [changedAt]);
    const statement = sql`SELECT COUNT(*) AS n ${fromQuery({ query })} WHERE ${column} IS NULL`;
    const { rows } = await snapshot.query(statement, `count the rows of ${setting} without ${changedAt}`);
    missing[setting === 'orders.query' ? 'orders' : 'customers'] = Number(rows[0]?.n ?? 0);
  }
  return judgeChanges(settings, missing);
}

async function checkTimeZones(snapshot: ErpSnapshot, settings: Settings, nowMs: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { setting, query, changedAt } of sourcesOf(settings)) {
    if (changedAt === undefined) continue;
    const [column = rawSql(changedAt)] = await columnsOf(snapshot, query, [changedAt]);
    findings.push(...(await checkTimeZone(snapshot, { setting, query, changedAt, column }, settings.erp, nowMs)));
  }
  return findings;
}

async function checkKeys(snapshot: ErpSnapshot, settings: Settings): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { setting, query, key } of sourcesOf(settings)) {
    const columns = await columnsOf(snapshot, query, key);
    const selected = joinSql(columns.map((column, at) => sql`${column} AS ${rawSql(`k${at}`)}`));
    const known = joinSql(
      columns.map((column) => sql`${column} IS NOT NULL`),
      ' AND ',
    );
    const twice = sql`SELECT ${selected} ${fromQuery({ query })} WHERE ${known} GROUP BY ${joinSql(columns)} HAVING COUNT(*) > 1`;
    const { rows } = await snapshot.query(sql`${twice} LIMIT 3`, `look for keys that ${setting} yields twice`);
    const keys = rows.map((row) => formatSourceKey(columns.map((_, at) => row[`k${at}`] ?? '')));
    findings.push(...judgeMultiplied(setting, keys));
  }
  return findings;
}

async function checkRowCounts(snapshot: ErpSnapshot, settings: Settings, tables: readonly CatalogueTable[]) {
  const findings: Finding[] = [];
  const lines = { setting: 'orders.lines.query', query: settings.orders.lines.query };
  for (const { setting, query } of [...sourcesOf(settings), lines]) {
    const table = baseTable(query, tables);
    // Without a join a query has the rows that it says.
    if (table === null || !/\bjoin\b|,/i.test(query)) continue;
    const count = async (from: Sql) => {
      const { rows } = await snapshot.query(sql`SELECT COUNT(*) AS n ${from}`, `count the rows of ${setting}`);
      return Number(rows[0]?.n ?? 0);
    };
    const all = await count(fromQuery({ query: `SELECT 1 AS one FROM ${tableSql(snapshot.dialect, table)}` }));
    const counts = { query: await count(fromQuery({ query })), table: all };
    findings.push(...judgeRowCount(setting, nameOf(table), counts, joinsOf(query)));
  }
  return findings;
}

/** Asks for the plans of the statements that a pass runs all day, as the reader writes them. */
async function checkPlans(database: ErpDatabase, settings: Settings, tables: readonly CatalogueTable[]) {
  const { orders, customers } = settings;
  const watched: Omit<WholeRead, 'read' | 'scanned'>[] = [
    ...sourcesOf(settings).flatMap(({ setting, query, key, changedAt }) =>
      changedAt === undefined ? [] : [{ setting, query, columns: [changedAt, ...key] }],
    ),
    { setting: 'orders.lines.query', query: orders.lines.query, columns: orders.lines.orderKey },
  ];
  const reads = new Map<string, WholeRead>();
  const explaining: ErpDatabase = {
    snapshot: (read) =>
      database.snapshot((snapshot) =>
        read({
          dialect: snapshot.dialect,
          async query(statement, doing, read) {
            const of = read && watched.find(({ setting }) => setting === read.setting);
            if (of)
              for (const scanned of await scansOf(snapshot, statement, doing)) {
                const columns = read.of === 'customers' ? (customers.key ?? []) : of.columns;
                reads.set(`${read.of} ${read.setting} ${nameOf({ ...scanned, isInPath: scanned.schema === null })}`, {
                  ...of,
                  columns,
                  read: read.of,
                  scanned,
                });
              }
            return snapshot.query(statement, doing, read);
          },
        }),
      ),
    identity: () => database.identity(),
    close: async () => undefined,
  };
  const reader = databaseErpReader(explaining, settings);
  await reader.sweep('order', null, 1);
  for (const entity of ['order', 'customer'] as const)
    await reader.readChanged(entity, { since: await reader.nowAsChangedAt(entity) }, 1);

  const findings: Finding[] = [];
  for (const read of reads.values()) {
    const { schema, name: scanned } = read.scanned;
    const isScanned = (name: string) => name.toLowerCase() === scanned.toLowerCase();
    const inSchema = tables.filter((table) => schema === null || table.schema === schema);
    const inQuery = tablesOf(read.query, inSchema).find(
      ({ alias, table: { name } }) => isScanned(alias) || isScanned(name),
    );
    // Behind a view there is a table that the query does not name.
    const table = inQuery?.table ?? inSchema.find(({ name }) => isScanned(name));
    // A step of the query, and no table.
    if (table === undefined) continue;
    await database.snapshot(async (snapshot) => {
      const rows = await countRows(snapshot, table, 10_001);
      findings.push(...judgeWholeRead(read, table, rows, snapshot.dialect));
    });
  }
  if (findings.length > 0) return findings;
  return [findingsOf('mapping')('ok', 'Changes, lines and customers are read by indexes.')];
}

async function scansOf({ dialect, query }: ErpSnapshot, statement: Sql, doing: string): Promise<Scan[]> {
  const { of, scans } = dialect.inspection.explain;
  const { rows } = await query(of(statement), `explain how to ${doing}`);
  return scans(rows);
}

/** The columns as the query yields them: names in settings do not mind upper and lower case. */
async function columnsOf(snapshot: ErpSnapshot, query: string, names: readonly string[]): Promise<Sql[]> {
  const { columns } = await snapshot.query(sql`SELECT q.* ${fromQuery({ query })} LIMIT 0`, 'look at its columns');
  return names.map((name) => {
    const same = columns.find((column) => column.name === name);
    const found = same ?? columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
    return rawSql(`q.${snapshot.dialect.quoteIdentifier(found?.name ?? name)}`);
  });
}
