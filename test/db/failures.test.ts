import { expect } from 'chai';
import {
  type FailureCause,
  type Failures,
  isStoreAway,
  readFailure,
  storeRetry,
  writeFailure,
} from '../../src/db/failures.js';
import { mysqlFailures } from '../../src/db/mysql/mysql-failure.js';
import { postgresFailures } from '../../src/db/postgres/postgres-failure.js';
import { sqliteFailures } from '../../src/db/sqlite/sqlite-failure.js';

type Told = readonly [
  what: string,
  error: { code?: string; errno?: number; sqlState?: string; fatal?: boolean; severity?: string },
  FailureCause,
];

const kinds: Record<string, { failures: Failures; told: readonly Told[] }> = {
  'MySQL or MariaDB': {
    failures: mysqlFailures,
    told: [
      ['a server that is away', { code: 'ECONNREFUSED', errno: -111 }, 'refused'],
      ['a connection that broke', { code: 'ECONNRESET', fatal: true }, 'closed'],
      ['a connection that the driver knows to be closed', { fatal: true }, 'closed'],
      ['a packet of the driver that is lost', { code: 'PROTOCOL_CONNECTION_LOST' }, 'closed'],
      ['a session that something has changed', { code: 'WAYBILL_SESSION' }, 'closed'],
      ['a wrong password', { code: 'ER_ACCESS_DENIED_ERROR', errno: 1045, sqlState: '28000' }, 'login'],
      ['a missing grant', { code: 'ER_TABLEACCESS_DENIED_ERROR', errno: 1142, sqlState: '42000' }, 'right'],
      ['a table that is not there', { code: 'ER_NO_SUCH_TABLE', errno: 1146, sqlState: '42S02' }, 'no_table'],
      ['a lock that somebody holds', { code: 'ER_LOCK_WAIT_TIMEOUT', errno: 1205, sqlState: 'HY000' }, 'locked'],
      ['a deadlock', { code: 'ER_LOCK_DEADLOCK', errno: 1213, sqlState: '40001' }, 'overtaken'],
      ['a snapshot that another transaction has overtaken', { errno: 1020 }, 'overtaken'],
      ['a table that was altered since', { code: 'ER_TABLE_DEF_CHANGED', errno: 1412, sqlState: 'HY000' }, 'overtaken'],
      ['a session that somebody ended on MariaDB', { errno: 1927, sqlState: '70100' }, 'closed'],
      [
        'a node of a cluster that is not ready',
        { code: 'ER_UNKNOWN_COM_ERROR', errno: 1047, sqlState: '08S01' },
        'closed',
      ],
      [
        'an account that has used up its share',
        { code: 'ER_USER_LIMIT_REACHED', errno: 1226, sqlState: '42000' },
        'full',
      ],
      ['a full disk', { code: 'ER_DISK_FULL', errno: 1021 }, 'broken'],
      ['a statement that ran too long on MariaDB', { errno: 1969, sqlState: '70100' }, 'slow'],
      ['a server that is closed to writing', { code: 'ER_OPTION_PREVENTS_STATEMENT', errno: 1290 }, 'broken'],
      ['a value that an ENUM does not name', { code: 'WARN_DATA_TRUNCATED', errno: 1265, sqlState: '01000' }, 'value'],
      ['a text that its column can not hold', { code: 'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD', errno: 1366 }, 'value'],
      ['a text that is too long', { code: 'ER_DATA_TOO_LONG', errno: 1406, sqlState: '22001' }, 'value'],
      ['a text that no packet holds', { code: 'ER_NET_PACKET_TOO_LARGE', errno: 1153, sqlState: '08S01' }, 'value'],
      [
        'anything else that the server refuses',
        { code: 'ER_CANT_DO_THIS_DURING_AN_TRANSACTION', errno: 1179 },
        'statement',
      ],
      ['an error of our own', {}, 'unknown'],
    ],
  },
  PostgreSQL: {
    failures: postgresFailures,
    told: [
      ['a server that is away', { code: 'ECONNREFUSED' }, 'refused'],
      ['a pipe that broke', { code: 'EPIPE' }, 'closed'],
      ['a server that shuts down', { code: '57P01', severity: 'FATAL' }, 'closed'],
      ['a server that is starting', { code: '57P03' }, 'closed'],
      ['a session that something has changed', { code: 'WAYBILL_SESSION' }, 'closed'],
      ['a wrong password', { code: '28P01', severity: 'FATAL' }, 'login'],
      ['an account that may not connect from here', { code: '28000', severity: 'FATAL' }, 'login_from_here'],
      ['a certificate of nobody we trust', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }, 'certificate'],
      ['a missing grant', { code: '42501' }, 'right'],
      ['a table that is not there', { code: '42P01' }, 'no_table'],
      ['a column that is not there', { code: '42703' }, 'no_column'],
      ['a standby', { code: '25006' }, 'read_only'],
      ['a lock that somebody holds', { code: '55P03' }, 'locked'],
      ['a transaction that another one stopped', { code: '40001' }, 'overtaken'],
      ['a server without room', { code: '53100' }, 'broken'],
      ['a value that an enum does not name', { code: '22P02' }, 'value'],
      ['a text that is too long', { code: '22001' }, 'value'],
      ['a trigger of the ERP', { code: 'P0001' }, 'value'],
      ['a key that is there already', { code: '23505' }, 'value'],
      ['anything else that the server refuses', { code: '0A000' }, 'statement'],
      ['an error of our own', {}, 'unknown'],
    ],
  },
  SQLite: {
    failures: sqliteFailures,
    told: [
      ['another process that writes', { code: 'SQLITE_BUSY_SNAPSHOT' }, 'busy'],
      ['a file that is not there', { code: 'SQLITE_CANTOPEN' }, 'no_file'],
      ['a file that is no database', { code: 'SQLITE_NOTADB' }, 'no_database'],
      ['a folder that it may not write', { code: 'SQLITE_READONLY_CANTINIT' }, 'read_only'],
      ['a full disk', { code: 'SQLITE_FULL' }, 'broken'],
      ['a key that is there already', { code: 'SQLITE_CONSTRAINT_PRIMARYKEY' }, 'value'],
      ['a table that is not there', { code: 'SQLITE_ERROR' }, 'statement'],
      ['an error of our own', {}, 'unknown'],
    ],
  },
};

/** The kind of a failure for the ERP reader and for the write-back, whether the store is away, and whether it runs again. */
const conclusions: Partial<Record<FailureCause, readonly [string, string, boolean, ReturnType<typeof storeRetry>]>> = {
  refused: ['unreachable', 'unreachable', true, null],
  closed: ['unreachable', 'unreachable', true, null],
  full: ['unreachable', 'unreachable', true, null],
  login: ['unreachable', 'target', true, null],
  login_from_here: ['unreachable', 'target', true, null],
  certificate: ['unreachable', 'unreachable', true, null],
  no_database: ['unreachable', 'target', true, null],
  no_file: ['unreachable', 'unreachable', true, null],
  broken: ['unreachable', 'unreachable', false, null],
  slow: ['query', 'unreachable', false, null],
  locked: ['unreachable', 'unreachable', false, 'a few times'],
  overtaken: ['unreachable', 'unreachable', false, 'a few times'],
  busy: ['unreachable', 'unreachable', false, 'patiently'],
  right: ['query', 'target', false, null],
  read_only: ['query', 'target', false, null],
  no_table: ['query', 'target', false, null],
  no_column: ['query', 'target', false, null],
  statement: ['query', 'target', false, null],
  value: ['query', 'row', false, null],
  // Inside a transaction of the store an error of our own work stays what it is.
  unknown: ['unreachable', 'unreachable', false, null],
};

const reading = (failures: Failures, error: unknown, time?: { ranMs: number; limitMs: number }) =>
  readFailure(failures, error, { doing: 'read rows', place: 'the ERP', otherwise: 'query', ...(time && { time }) });
const errorOf = (fields: object, words = 'its words') => Object.assign(new Error(words), fields);

for (const [kind, { failures, told }] of Object.entries(kinds))
  describe(`a failure of ${kind}`, () => {
    for (const [what, fields, cause] of told)
      it(`is "${cause}" for ${what}, and means the same to reader, write-back and store as with any other database`, () => {
        const error = errorOf(fields);
        expect(failures.read(error)).to.include({ cause, words: 'its words' });
        expect([
          reading(failures, error).kind,
          writeFailure(failures, error, { what: 'invoices', place: 'the ERP' }).kind,
          isStoreAway(cause),
          storeRetry(cause),
        ]).to.deep.equal(conclusions[cause]);
      });
  });

describe('a failure', () => {
  for (const [cause, failures, fields, advice, words] of [
    ['a wrong password', mysqlFailures, { code: 'ER_ACCESS_DENIED_ERROR' }, /Check erp\.user and its password\.$/],
    ['a wrong password', postgresFailures, { code: '28P01' }, /Check erp\.user and its password\.$/],
    ['an account', postgresFailures, { code: '28000' }, /pg_hba\.conf/],
    ['a certificate', postgresFailures, { code: 'SELF_SIGNED_CERT_IN_CHAIN' }, /erp\.tls\.caFile/],
    ['a server that is starting', postgresFailures, { code: '57P03' }, /It is tried again later\.$/],
    ['a column', postgresFailures, { code: '42703' }, /Check the name/],
    ['a row', postgresFailures, { code: '22P02' }, /One row can stop all of them/],
    ['a zone', postgresFailures, { code: '22023' }, /erp\.timeZone/, 'invalid value for parameter "TimeZone": "X"'],
    ['a grant', mysqlFailures, { code: 'ER_COLUMNACCESS_DENIED_ERROR' }, /Grant SELECT on it to erp\.user\.$/],
  ] as const)
    it(`of ${cause} says what to do`, () => {
      expect(reading(failures, errorOf(fields, words)).message).to.match(advice);
    });

  it('of a statement that ran too long differs from one that somebody stopped, in whatever language the server speaks', () => {
    const endedAfter = (ranMs: number) =>
      reading(postgresFailures, errorOf({ code: '57014' }, 'Anweisung abgebrochen'), { ranMs, limitMs: 500 });
    expect(endedAfter(501))
      .to.include({ kind: 'query' })
      .and.have.property('message')
      .that.includes('raise erp.queryTimeoutSeconds');
    expect(endedAfter(20))
      .to.include({ kind: 'unreachable' })
      .and.have.property('message')
      .that.includes('stopped on the server');
  });
});
