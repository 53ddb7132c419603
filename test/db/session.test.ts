import { expect } from 'chai';
import { type MysqlSession, meansOtherwise, prepareSession } from '../../src/db/mysql/session.js';
import { checkSettings, sessionSettings } from '../../src/db/postgres/session.js';
import { SessionRefused } from '../../src/db/session-refused.js';

const wanted: MysqlSession = {
  database: 'erp',
  isolation: 'REPEATABLE-READ',
  readOnly: true,
  statementTimeout: 0.5,
  lockTimeout: 1,
  idleTimeout: 10,
  idleTransactionTimeout: 5,
};

/** A server that keeps what it is told, except for `lies`. */
function server(version: string, lies: Record<string, string> = {}) {
  const asked: string[] = [];
  const variables = new Map<string, string>();
  const ask = async (sql: string) => {
    asked.push(sql);
    if (sql.startsWith('SELECT VERSION()')) return [[version, 'ANSI_QUOTES,STRICT_TRANS_TABLES', 'other']];
    for (const [, name = '', value = ''] of sql.matchAll(/(\w+) = ('[^']*'|[\d.]+|DEFAULT)/g))
      variables.set(name, value.replaceAll("'", ''));
    if (sql.startsWith('SET NAMES'))
      for (const name of ['character_set_client', 'character_set_results', 'collation_connection'])
        variables.set(name, name === 'collation_connection' ? 'utf8mb4_general_ci' : 'utf8mb4');
    if (sql.startsWith('USE')) variables.set('DATABASE()', sql.slice(5, -1));
    if (!sql.startsWith('SELECT')) return [];
    const names = sql
      .slice('SELECT '.length)
      .replaceAll(/@@(SESSION\.)?/g, '')
      .split(', ');
    return [names.map((name) => lies[name] ?? variables.get(name))];
  };
  return { ask, asked, lies };
}

describe('a session on MySQL or MariaDB', () => {
  for (const version of ['10.11.6-MariaDB', '10.2.1-MariaDB', '8.0.40', '5.7.44'])
    it(`has on ${version} all that was set`, async () => {
      const { ask, asked } = server(version);
      const { inheritedModes } = await prepareSession(ask, wanted);
      expect(inheritedModes).to.deep.equal(['ANSI_QUOTES', 'STRICT_TRANS_TABLES']);
      const set = asked.find((sql) => sql.startsWith('SET SESSION')) ?? '';
      expect(asked).to.include('USE `erp`');
      expect(set).to.include("sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'");
      expect(set.includes('max_statement_time = 0.5')).to.equal(version.includes('MariaDB'));
      expect(set.includes('max_execution_time = 500')).to.equal(!version.includes('MariaDB'));
      expect(set.includes('idle_transaction_timeout')).to.equal(version.startsWith('10.11'));
      expect(set.includes('transaction_isolation')).to.equal(version.startsWith('8'));
    });

  for (const [name, value] of [
    ['sql_mode', 'NO_BACKSLASH_ESCAPES'],
    ['sql_select_limit', '1000'],
    ['character_set_client', 'latin1'],
    ['tx_isolation', 'SERIALIZABLE'],
    ['DATABASE()', 'other'],
  ] as const)
    it(`is refused when it is set up, and later, with another ${name}`, async () => {
      const { ask, lies } = server('10.11.6-MariaDB');
      const { check } = await prepareSession(ask, wanted);
      await check();
      lies[name] = value;
      for (const asks of [check, () => prepareSession(ask, wanted)]) {
        const error = await asks().then(
          () => null,
          (refused: unknown) => refused,
        );
        expect(error).to.be.instanceOf(SessionRefused).and.to.have.property('message').that.includes(`"${value}"`);
      }
    });

  it('tells what a query means otherwise to programs that keep the modes of the server', () => {
    const ansi = ['ANSI_QUOTES', 'PIPES_AS_CONCAT'];
    expect(meansOtherwise('SELECT "id" FROM orders', ansi)).to.include('ANSI_QUOTES').and.include('`…`');
    expect(meansOtherwise('SELECT a || b FROM orders', ansi)).to.include('PIPES_AS_CONCAT').and.include('CONCAT');
    for (const harmless of [`SELECT 'a"b\\'"' -- "c"\n, \`d"\` /* || */ FROM orders # "`, "SELECT 'it''s \"' FROM o"])
      expect(meansOtherwise(harmless, ansi)).to.equal(null);
    expect(meansOtherwise('SELECT "text", a || b FROM orders', ['STRICT_TRANS_TABLES'])).to.equal(null);
  });
});

describe('a session on PostgreSQL', () => {
  const settings = sessionSettings({ statement_timeout: '90000', TimeZone: 'Europe/Berlin' });

  it('is taken where the server writes a setting in a form of its own', () => {
    const own: Record<string, string> = { statement_timeout: '90s', TimeZone: 'europe/berlin' };
    checkSettings(
      settings,
      Object.entries(settings).map(([name, value]) => own[name] ?? value),
    );
  });

  it('is refused with another setting', () => {
    const row = Object.entries(settings).map(([name, value]) => (name === 'transform_null_equals' ? 'on' : value));
    expect(() => checkSettings(settings, row)).to.throw(SessionRefused, /transform_null_equals "on".*set "off"/);
    expect(() => checkSettings(settings, [])).to.throw(SessionRefused);
  });
});
