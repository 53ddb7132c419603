import { causesByCode, type FailureCause, type Failures, nodeCodes } from '../failures.js';

/** Keyed by the driver's name of an error, or by its number where the driver has no name or a wrong one. */
const causes = causesByCode({
  ...nodeCodes,
  no_tls: ['HANDSHAKE_NO_SSL_SUPPORT'],
  certificate: ['HANDSHAKE_SSL_ERROR'],
  login: ['ER_ACCESS_DENIED_ERROR', 'ER_ACCESS_DENIED_NO_PASSWORD_ERROR'],
  database_right: ['ER_DBACCESS_DENIED_ERROR'],
  no_database: ['ER_BAD_DB_ERROR'],
  // The server's connections, or what one account may use.
  full: ['ER_CON_COUNT_ERROR', 'ER_TOO_MANY_USER_CONNECTIONS', 'ER_USER_LIMIT_REACHED'],
  // 1927: somebody ended the session. MariaDB's own; the driver has no name for it.
  closed: [...nodeCodes.closed, 'ER_SERVER_SHUTDOWN', '1927'],
  silent: ['PROTOCOL_SEQUENCE_TIMEOUT'],
  // The server is closed to writing for a while, or has no room.
  broken: ['ER_OPTION_PREVENTS_STATEMENT', 'ER_READ_ONLY_MODE', 'ER_DISK_FULL', 'ER_RECORD_FILE_FULL'],
  // MariaDB's own: max_statement_time was exceeded. The driver has no name for it.
  slow: ['1969', 'ER_QUERY_TIMEOUT'],
  stopped: ['ER_QUERY_INTERRUPTED'],
  locked: ['ER_LOCK_WAIT_TIMEOUT', '1205'],
  // Deadlock, snapshot conflict, a table that was altered since the snapshot: the server asks for the whole transaction again
  // (field notes, InnoDB).
  overtaken: ['ER_LOCK_DEADLOCK', '1213', 'ER_CHECKREAD', '1020', 'ER_TABLE_DEF_CHANGED'],
  right: ['ER_TABLEACCESS_DENIED_ERROR', 'ER_COLUMNACCESS_DENIED_ERROR'],
  server_right: ['ER_SPECIFIC_ACCESS_DENIED_ERROR', 'ER_PROCACCESS_DENIED_ERROR'],
  no_table: ['ER_NO_SUCH_TABLE'],
  no_column: ['ER_BAD_FIELD_ERROR'],
  syntax: ['ER_PARSE_ERROR'],
  // A value that its column does not take, such as one that an ENUM does not name: servers give it no SQL state. MariaDB's own
  // 4025 is a CHECK constraint; the driver takes it for another error, of MySQL.
  value: ['1265', '1366', 'ER_CONSTRAINT_FAILED', '4025', 'ER_NET_PACKET_TOO_LARGE'],
});

/** The causes of failures of MySQL and MariaDB. */
export const mysqlFailures: Failures = {
  read(error) {
    const { errno, code, fatal, sqlState, message } = error as DriverError;
    const name = code ?? String(errno ?? '');
    const words = (message ?? String(error)) || name;
    const known = causes.get(name) ?? causes.get(String(errno));
    return { cause: known ?? unlisted(name, sqlState ?? '', fatal ?? false), words };
  },
};

interface DriverError {
  errno?: number;
  code?: string;
  fatal?: boolean;
  sqlState?: string;
  message?: string;
}

function unlisted(code: string, sqlState: string, isFatal: boolean): FailureCause {
  // 22: data, 23: constraints, 45: what a trigger of the ERP raises.
  if (/^(22|23|45)/.test(sqlState)) return 'value';
  // 08: the connection. One that the server has closed meanwhile is refused by the driver itself, without a code.
  if (isFatal || /^08/.test(sqlState) || /^(PROTOCOL_|HANDSHAKE_)/.test(code)) return 'closed';
  return /^ER_|^\d+$/.test(code) ? 'statement' : 'unknown';
}
