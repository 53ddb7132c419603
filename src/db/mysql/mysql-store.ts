import type { PoolConnection } from 'mysql2';
import type { QueryRunner } from 'typeorm';
import { storeAccount, storePlace } from '../server.js';
import { unionOfParameters } from '../sqlite/sqlite-store.js';
import type { StoreDialect, StoreOptions } from '../store-dialect.js';
import { mysqlCatalogue, mysqlInspection } from './mysql-catalogue.js';
import { mysqlFailures } from './mysql-failure.js';
import { mysqlOptions } from './options.js';
import { mysqlDriver } from './pool.js';
import { mysqlStoreAccount } from './store-account.js';

/** The pool lets go of a connection after this time without use; the server has to wait longer than that. */
const poolIdleMs = 5_000;

/**
 * Further settings of each session. A process that is frozen, or cut off from the store, in the middle of a transaction
 * holds its row locks, and no other process could take over until the server let go: by default after eight hours. A
 * lock on a whole table or on everything, such as that of a backup, is waited for as long as one on a row, not for a
 * day. Others may change the rows that a transaction reads, unless it locks them.
 */
const session = {
  isolation: 'READ-COMMITTED',
  statementTimeout: 0,
  lockTimeout: 50,
  idleTimeout: 10,
  idleTransactionTimeout: 5,
} as const;

/** The name of a lock counts for the whole server, and has 64 characters at most. */
const lockName = "CONCAT('waybill ', MD5(DATABASE()))";

/** MySQL and MariaDB. */
export const mysql: StoreDialect = {
  name: 'mysql',
  driver: 'mysql',
  connections: 6,
  // With half as many the server takes a sixth more CPU time for each message, and a drain an eighth longer.
  messagesAtOnce: 256,
  keepsStatements: false,
  options(settings): StoreOptions {
    const account = storeAccount(settings);
    const { database, password } = account;
    return {
      type: 'mysql',
      driver: mysqlDriver({ ...session, database }),
      database,
      password: password?.reveal(),
      connectTimeout: 10_000,
      supportBigNumbers: true,
      bigNumberStrings: false,
      dateStrings: true,
      extra: {
        ...mysqlOptions(account),
        // Sums of whole numbers; the store has no DECIMAL column.
        decimalNumbers: true,
        connectionLimit: 6,
        // Below the limit, or the driver never looks for idle connections.
        maxIdle: 5,
        idleTimeout: poolIdleMs,
      },
    };
  },
  place: storePlace,
  cut: (connection) => (connection as PoolConnection).destroy(),
  begin: ['START TRANSACTION'],
  beginSnapshot: [
    'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ',
    'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY',
  ],
  failureEndsTransaction: false,
  migrationLock: {
    // The session that holds it rests while another one works.
    take: ['SET SESSION wait_timeout=28800', `SELECT GET_LOCK(${lockName}, 60) AS taken`],
    release: [`SELECT RELEASE_LOCK(${lockName})`, `SET SESSION wait_timeout=${session.idleTimeout}`],
  },

  forUpdate: ' FOR UPDATE',
  // MariaDB knows no FOR SHARE.
  forShare: ' LOCK IN SHARE MODE',
  skipLocked: ' FOR UPDATE SKIP LOCKED',
  // From UTC: in the hour that comes twice in autumn, UNIX_TIMESTAMP(NOW()) can't tell the second from the first.
  nowMs: "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000)",
  hasOwnClock: true,
  afterErasing: null,
  bind: (sql) => sql,
  parameter: (value) => value,
  insertNew: (insert) => insert.replace(/^\s*INSERT INTO/, 'INSERT IGNORE INTO'),
  onTaken: () => 'ON DUPLICATE KEY UPDATE',
  inserted: (column) => `VALUES(${column})`,
  returningId: '',
  insertedId: ({ raw }) => Number((raw as { insertId: number }).insertId),
  parameterRows: unionOfParameters,
  updateFrom(table, { set, source, on, where }) {
    const assignments = Object.entries(set).map(([column, value]) => `t.${column}=${value}`);
    return `UPDATE ${table} AS t JOIN (${source}) AS v ON ${on} SET ${assignments.join(',')} WHERE ${where}`;
  },
  asText: (expression) => `CAST(${expression} AS CHAR)`,
  sumText: (expression) => `CAST(SUM(${expression}) AS CHAR)`,
  toSum: (text) => BigInt(text ?? 0),
  caseless: (text) => `LOWER(${text})`,
  contains: (text, part) => `INSTR(${text}, ${part})>0`,

  schemaWords: async (runner) => ({
    id: 'BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY',
    longText: 'MEDIUMTEXT',
    columns: (definition) => definition,
    end: ` ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=${await exactCollation(runner)}`,
    nullability: (column, type, as) => `MODIFY ${column} ${type} ${as}`,
    async addCheck(table, name, condition) {
      const known = `SELECT 1 FROM information_schema.table_constraints
        WHERE constraint_schema=DATABASE() AND table_name=? AND constraint_name=?`;
      if ((await runner.query(known, [table, name])).length > 0) return;
      await runner.query(`ALTER TABLE ${table} ADD CONSTRAINT ${name} CHECK (${condition})`);
    },
    jsonObject: (name, value) => `JSON_OBJECT('${name}', ${value})`,
  }),
  catalogue: mysqlCatalogue,
  moveCounter: () => null,
  inspection: mysqlInspection,
  damage: null,
  account: mysqlStoreAccount,
  async durabilityWarning(dataSource) {
    const [row] = await dataSource.query('SELECT @@innodb_flush_log_at_trx_commit AS flush');
    if (Number(row?.flush) === 1) return null;
    return `The store's server has innodb_flush_log_at_trx_commit=${row?.flush}: a power cut may lose what was acknowledged. Set it to 1.`;
  },

  failures: mysqlFailures,
};

/**
 * Byte by byte and with every trailing space: under `utf8mb4_bin` the keys `A` and `A ` are one. MariaDB and MySQL have
 * different names for it; very old servers have none.
 */
async function exactCollation(runner: QueryRunner): Promise<string> {
  const rows: { name: string }[] = await runner.query(
    "SELECT collation_name AS name FROM information_schema.collations WHERE collation_name IN ('utf8mb4_nopad_bin', 'utf8mb4_0900_bin')",
  );
  return rows[0]?.name ?? 'utf8mb4_bin';
}
