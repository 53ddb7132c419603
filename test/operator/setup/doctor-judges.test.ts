import { expect } from 'chai';
import { mysqlInspection, rolesIn } from '../../../src/db/mysql/mysql-catalogue.js';
import type { CatalogueTable } from '../../../src/erp/catalogue.js';
import { judgeDisk, judgeMode, judgeUnit } from '../../../src/operator/setup/doctor/check-machine.js';
import { judgeAnswer, judgeCertificate, judgeNoConnection } from '../../../src/operator/setup/doctor/check-service.js';
import { judgeTimeZone } from '../../../src/operator/setup/doctor/check-states.js';
import type { Finding } from '../../../src/operator/setup/doctor/finding.js';
import { guarded } from '../../../src/operator/setup/doctor/finding.js';
import { judgeChanges, judgeRowCount, judgeTotal } from '../../../src/operator/setup/doctor/judge-changes.js';
import { columnBehind } from '../../../src/operator/setup/doctor/judge-plans.js';
import { judgeHiddenTables, judgeRights, judgeServer } from '../../../src/operator/setup/doctor/judge-server.js';
import { baseTable, joinsOf, tablesOf } from '../../../src/operator/setup/doctor/tables-of-query.js';

const severities = (findings: readonly Finding[]) => findings.map(({ severity }) => severity);
const table = (name: string, ...columns: string[]): CatalogueTable => ({
  schema: null,
  isInPath: true,
  name,
  isView: false,
  approximateRows: null,
  columns: columns.map((one) => ({
    name: one,
    type: '',
    kind: 'text',
    isInteger: false,
    isFloat: false,
    nullable: true,
  })),
  primaryKey: [],
  indexes: [],
  foreignKeys: [],
});

describe('the total of an order', () => {
  it('is named where none is compared: nothing checks the amounts then', () => {
    const [found, ...others] = judgeTotal({});
    expect([found?.severity, others]).to.deep.equal(['note', []]);
    expect(found?.what).to.match(/^Nothing checks the amounts/);
    expect(judgeTotal({ total: 'net_total' })).to.deep.equal([]);
  });
});

describe('the time zone of the settings', () => {
  const now = Date.parse('2026-11-28T12:00:00Z');
  const judge = (change: Partial<Parameters<typeof judgeTimeZone>[0]>) =>
    judgeTimeZone(
      {
        setting: 'orders.changedAt',
        column: 'mtime',
        newest: '2026-11-28 11:59:00',
        ageMinutes: 61,
        hasZone: false,
        database: 'Etc/UTC',
        settings: 'Europe/Berlin',
        ...change,
      },
      now,
    );

  it('is compared with that of the database, and with the newest change', () => {
    expect(judge({})).to.include({ code: 'time_zones_differ', minutes: -60, isSeen: true });
    expect(judge({ ageMinutes: 3_000 })).to.include({ code: 'time_zones_differ', isSeen: false });
    expect(judge({ ageMinutes: null })).to.include({ code: 'time_zones_differ', isSeen: false });
    expect(judge({ database: 'SYSTEM (CET)' })).to.equal(null);
    expect(judge({ database: '+02:00', ageMinutes: -58 })).to.include({ minutes: 60, isSeen: true });
    // A column with a zone is right whatever the server's is, and a file has none.
    expect(judge({ hasZone: true })).to.equal(null);
    expect(judge({ database: 'none' })).to.equal(null);
  });

  it('is doubted where the newest change is in the future', () => {
    expect(judge({ database: 'none', ageMinutes: -58 })).to.include({ code: 'newest_change_ahead', minutes: 58 });
    expect(judge({ database: 'none', ageMinutes: -3 })).to.equal(null);
  });
});

describe('what the doctor makes of facts', () => {
  it('a clock may differ by some seconds, whichever of the two is ahead', () => {
    const facts = { version: '10.11', charset: 'utf8mb4', zone: 'SYSTEM (CET)' };
    const at = (clockAheadMs: number) => judgeServer('erp', { ...facts, clockAheadMs });
    expect(severities(at(-4_900))).to.deep.equal(['ok']);
    expect(severities(at(5_100))).to.deep.equal(['ok', 'warning']);
    expect(at(-61_000)[1]?.what).to.contain('61 s behind');
    expect(severities(judgeServer('store', { ...facts, charset: 'latin1', clockAheadMs: 0 }))).to.deep.equal([
      'ok',
      'note',
    ]);
  });

  it('an account that can write is a warning, with the statements that make one that can not', () => {
    expect(judgeRights([], ['x']).severity).to.equal('ok');
    expect(judgeRights(['UPDATE on erp.orders'], ['CREATE USER …']).todo).to.deep.equal(['CREATE USER …']);
    expect(judgeHiddenTables([], 'u')).to.deep.equal([]);
    expect(judgeHiddenTables(['public.orders'], '"u"')[0]?.todo[0]).to.equal('ALTER ROLE "u" BYPASSRLS;');
  });

  it('rights to write are read from what MySQL and MariaDB show of an account', () => {
    const rights = (...grants: string[]) =>
      mysqlInspection.writeRights(grants.map((grant) => ({ 'Grants for u@%': grant })));
    expect(
      rights(
        "GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*0'",
        'GRANT SELECT, SHOW VIEW ON `erp`.* TO `u`@`%`',
      ),
    ).to.deep.equal([]);
    expect(
      rights(
        'GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION',
        'GRANT SELECT, INSERT, UPDATE (`mark`, `note`) ON `my db`.`tabSales Order` TO `u`@`%`',
        'GRANT `writers` TO `u`@`%`',
      ),
    ).to.deep.equal(['ALL PRIVILEGES on *.*', 'INSERT, UPDATE on my db.tabSales Order']);
    const grant = (text: string, role?: string) => ({ grants: text, ...(role && { role_name: role }) });
    expect(
      mysqlInspection.writeRights([
        grant('GRANT UPDATE ON `erp`.`a` TO `u`@`%`', '`writers`'),
        grant('GRANT DELETE ON `erp`.`b` TO `writers`', '`writers`'),
        grant('GRANT UPDATE ON `erp`.`a` TO `u`@`%`'),
      ]),
    ).to.deep.equal(['UPDATE on erp.a', 'role `writers`: DELETE on erp.b']);
  });

  it('the roles of an account are read as MySQL and MariaDB show them', () => {
    const roles: [string, string[]][] = [
      ['GRANT `writers` TO `u`@`%` WITH ADMIN OPTION', ['`writers`']],
      ["GRANT writers TO 'u'@'10.0.0.%'", ['`writers`']],
      ['GRANT `a`@`%`,`b c`@`%` TO `u`@`%`', ['`a`@`%`', '`b c`@`%`']],
      ['GRANT `a``b` TO `u`@`%`', ['`a``b`']],
      ['GRANT `inner` TO `writers`', []],
      ['GRANT SELECT, INSERT ON `erp`.* TO `u`@`%`', []],
      ['GRANT EXECUTE ON PROCEDURE `erp`.`p` TO `u`@`%`', []],
      ["GRANT PROXY ON ''@'%' TO 'root'@'localhost'", []],
      ['SET DEFAULT ROLE `writers` FOR `u`@`%`', []],
    ];
    for (const [grant, names] of roles) expect(rolesIn(grant), grant).to.deep.equal(names);
  });

  it('what no changed-at shows is found by a sweep, and how late is said', () => {
    const capture = { sweepMinutes: 45 } as never;
    const settings = { capture, orders: { changedAt: 'tms' }, customers: { send: 'referenced' } } as never;
    const found = judgeChanges(settings, { orders: 3, customers: 0 });
    expect(severities(found)).to.deep.equal(['ok', 'warning', 'note']);
    for (const { what } of found) expect(what).to.contain('up to 45 min late');
    expect(found.map(({ what }) => /\b(orders|customers)\./.exec(what)?.[1])).to.deep.equal([
      ...['orders', 'orders', 'customers'],
    ]);
    const alone = { capture, orders: {}, customers: { send: 'none' } } as never;
    expect(severities(judgeChanges(alone, { orders: 0, customers: 0 }))).to.deep.equal(['note']);
  });

  it('more rows than the table has are an error; fewer are one of its joins, unless a WHERE may mean it', () => {
    const judge = (query: number, losesRows: boolean, filtersRows: boolean) =>
      severities(judgeRowCount('orders.query', 'orders', { query, table: 10 }, { losesRows, filtersRows }));
    expect(judge(11, false, false)).to.deep.equal(['error']);
    expect(judge(10, true, false)).to.deep.equal([]);
    expect(judge(9, true, false)).to.deep.equal(['warning']);
    expect(judge(9, true, true)).to.deep.equal(['note']);
    expect(judge(9, false, true)).to.deep.equal([]);
  });

  it('disk, modes, unit and certificate', () => {
    expect([2e9, 5e8, 5e7].map((free) => judgeDisk('/x', free).severity)).to.deep.equal(['ok', 'warning', 'error']);
    expect(judgeMode('/x', 0o100600)).to.deep.equal([]);
    expect(judgeMode('/x', 0o100644)[0]?.todo).to.deep.equal(['chmod 600 /x']);
    const unit = (active: string, enabled: string, restarts = 0) =>
      severities(
        judgeUnit(
          `LoadState=loaded\nActiveState=${active}\nSubState=x\nUnitFileState=${enabled}\nNRestarts=${restarts}\n`,
        ),
      );
    expect(unit('active', 'enabled')).to.deep.equal(['ok']);
    expect(unit('failed', 'enabled')).to.deep.equal(['error']);
    expect(unit('inactive', 'disabled', 9)).to.deep.equal(['warning', 'warning', 'warning']);
    expect(severities(judgeUnit('LoadState=not-found\nActiveState=inactive\n'))).to.deep.equal(['note']);
    expect(severities(judgeUnit(null))).to.deep.equal(['note']);
    const now = Date.UTC(2026, 10, 23);
    const ends = (days: number) => judgeCertificate(now + days * 86_400_000, now).severity;
    expect([-1, 3, 13, 14, 90].map(ends)).to.deep.equal(['error', 'warning', 'warning', 'ok', 'ok']);
    expect(judgeCertificate(Number.NaN, now).severity).to.equal('note');
  });

  it('an answer of the service by its verdict, and no connection by its code', () => {
    const answer = (verdict: string) => judgeAnswer({ noAnswer: { code: 'timed_out' }, verdict });
    expect(answer('unauthorised').todo[0]).to.contain('service.tokenFile');
    expect(['unauthorised', 'misconfigured', 'not_sent', 'throttled'].map((one) => answer(one).severity)).to.deep.equal(
      ['error', 'error', 'warning', 'note'],
    );
    const failure = (code: string) => judgeNoConnection('host', Object.assign(new Error('x'), { code })).todo[0];
    expect(failure('UNABLE_TO_VERIFY_LEAF_SIGNATURE')).to.contain('service.tls.caFile');
    expect(failure('SELF_SIGNED_CERT_IN_CHAIN')).to.contain('service.tls.caFile');
    expect(failure('ECONNREFUSED')).to.contain('firewall');
  });

  it('a part that fails becomes a finding', async () => {
    const lines = ['Two settings do not fit:', '  orders.key: x'];
    const found = await guarded('mapping', () => Promise.reject(Object.assign(new Error('x'), { lines })));
    expect(found).to.deep.equal([
      { part: 'mapping', severity: 'error', what: 'Two settings do not fit:', todo: ['orders.key: x'] },
    ]);
  });
});

describe('the tables of a query', () => {
  const tables = [table('orders', 'id', 'tms'), table('tabSales Order', 'name'), table('order_lines', 'order_id')];
  const names = (query: string) => tablesOf(query, tables).map(({ table: { name }, alias }) => `${name} ${alias}`);

  it('are found by their names, quoted or not, with their aliases', () => {
    expect(names('SELECT * FROM orders')).to.deep.equal(['orders orders']);
    expect(names('select o.id from erp.orders AS o left join order_lines l on l.order_id = o.id')).to.deep.equal([
      'orders o',
      'order_lines l',
    ]);
    expect(names('SELECT * FROM `tabSales Order` s WHERE 1')).to.deep.equal(['tabSales Order s']);
    expect(names("SELECT 'from orders' FROM order_lines -- join orders\n")).to.deep.equal(['order_lines order_lines']);
    expect(names('SELECT * FROM orders_old')).to.deep.equal([]);
  });

  it('are those of the schema that the query writes; without one, those that need none', () => {
    const inSchema = (schema: string, isInPath: boolean) => ({ ...table('orders', 'id'), schema, isInPath });
    const both = [inSchema('archive', false), inSchema('public', true)];
    const schemas = (query: string) => tablesOf(query, both).map(({ table: { schema } }) => schema);
    expect(schemas('SELECT * FROM orders')).to.deep.equal(['public']);
    expect(schemas('SELECT * FROM "public"."orders" o')).to.deep.equal(['public']);
    expect(schemas('SELECT * FROM archive.orders a JOIN orders o USING (id)')).to.deep.equal(['archive', 'public']);
    expect(schemas('SELECT * FROM elsewhere.orders')).to.deep.equal([]);
    expect(baseTable('SELECT * FROM orders', both)?.schema).to.equal('public');
  });

  it('one of them is what the query is about, unless a subselect or a grouping is', () => {
    const base = (query: string) => baseTable(query, tables)?.name ?? null;
    expect(base('SELECT id, (SELECT COUNT(*) FROM order_lines) AS n FROM orders o JOIN x ON 1=1')).to.equal('orders');
    expect(base('SELECT * FROM (SELECT * FROM orders) o')).to.equal(null);
    expect(base('SELECT id FROM orders GROUP BY id')).to.equal(null);
    expect(base('SELECT 1 AS one')).to.equal(null);
  });

  it('joins lose rows unless they are left ones', () => {
    expect(joinsOf('SELECT * FROM a LEFT JOIN b ON 1=1')).to.deep.equal({ losesRows: false, filtersRows: false });
    expect(joinsOf('SELECT * FROM a LEFT OUTER JOIN b ON 1=1 JOIN c ON 1=1 WHERE x')).to.deep.equal({
      losesRows: true,
      filtersRows: true,
    });
  });

  it('a column stands behind its name, or an expression does', () => {
    const orders = table('orders', 'id', 'tms', 'updated_at');
    expect(columnBehind('SELECT * FROM orders', 'updated_at', orders)).to.equal('updated_at');
    expect(columnBehind('SELECT o.id, o.tms AS updated_at FROM orders o', 'updated_at', orders)).to.equal('tms');
    expect(columnBehind('SELECT `tms` AS `Updated_At` FROM orders o', 'updated_at', orders)).to.equal('tms');
    expect(columnBehind('SELECT GREATEST(tms, x) AS updated_at FROM orders', 'updated_at', orders)).to.equal(null);
    expect(columnBehind('SELECT x FROM orders', 'nowhere', orders)).to.equal(null);
  });
});
