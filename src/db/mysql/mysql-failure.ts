import { ErpError, type ErpErrorKind, WriteBackError, type WriteBackErrorKind } from '../erp-failures.js';
import { AGAIN_LATER, byCode, COMPARE, IN_THE_CLEAR, NO_TLS, PRINTED } from '../failure-table.js';

/** MariaDB's own: max_statement_time was exceeded. The driver has no name for it. */
const MAX_STATEMENT_TIME = '1969';
/** MariaDB's own: a CHECK constraint. The driver takes it for another error, of MySQL. */
const CONSTRAINT_FAILED = '4025';

const readFailures = byCode<ErpErrorKind>([
  ['unreachable', 'Check erp.host and erp.port, and that the server is running.', 'ECONNREFUSED'],
  ['unreachable', 'Check erp.host.', 'ENOTFOUND'],
  ['unreachable', 'Check erp.host and erp.port, and the firewall.', 'ETIMEDOUT'],
  ['unreachable', 'Check erp.user and its password.', 'ER_ACCESS_DENIED_ERROR'],
  ['unreachable', `${NO_TLS} erp.tls.mode: off ${IN_THE_CLEAR}`, 'HANDSHAKE_NO_SSL_SUPPORT'],
  ['unreachable', `${COMPARE} erp.tls.caFile and erp.tls.serverName.`, 'HANDSHAKE_SSL_ERROR'],
  ['unreachable', 'Check erp.database and what erp.user may read.', 'ER_DBACCESS_DENIED_ERROR'],
  ['unreachable', 'Check erp.database.', 'ER_BAD_DB_ERROR'],
  ['query', 'Grant SELECT on the table to erp.user.', 'ER_TABLEACCESS_DENIED_ERROR'],
  ['query', 'Grant SELECT on the column to erp.user.', 'ER_COLUMNACCESS_DENIED_ERROR'],
  ['query', 'Add an index for it, or raise erp.queryTimeoutSeconds.', MAX_STATEMENT_TIME, 'ER_QUERY_TIMEOUT'],
  ['unreachable', 'Another program holds a lock; it is tried again later.', 'ER_LOCK_WAIT_TIMEOUT'],
  ['unreachable', AGAIN_LATER, 'ER_LOCK_DEADLOCK', 'ER_CHECKREAD'],
  ['unreachable', 'The statement was stopped on the server; it is tried again later.', 'ER_QUERY_INTERRUPTED'],
  ['unreachable', 'The server does not answer; it is tried again later.', 'PROTOCOL_SEQUENCE_TIMEOUT'],
]);

const writeFailures = byCode<WriteBackErrorKind>([
  ['target', `Grant it to the account of writeBack; ${PRINTED}`, 'ER_TABLEACCESS_DENIED_ERROR'],
  ['target', `Grant it to the account of writeBack; ${PRINTED}`, 'ER_COLUMNACCESS_DENIED_ERROR'],
  ['target', `Grant it to the account of writeBack; ${PRINTED}`, 'ER_SPECIFIC_ACCESS_DENIED_ERROR'],
  ['target', 'Grant it to the account of writeBack.', 'ER_PROCACCESS_DENIED_ERROR'],
  ['target', `The account of writeBack may do nothing in writeBack.database; ${PRINTED}`, 'ER_DBACCESS_DENIED_ERROR'],
  ['target', 'Check writeBack.user and its password.', 'ER_ACCESS_DENIED_ERROR'],
  ['target', 'Check writeBack.database.', 'ER_BAD_DB_ERROR'],
  ['unreachable', `${NO_TLS} writeBack.tls.mode: off ${IN_THE_CLEAR}`, 'HANDSHAKE_NO_SSL_SUPPORT'],
  ['unreachable', `${COMPARE} writeBack.tls.caFile and writeBack.tls.serverName.`, 'HANDSHAKE_SSL_ERROR'],
  ['target', `Make the table; ${PRINTED}`, 'ER_NO_SUCH_TABLE'],
  ['target', `Add the column, or make the table anew; ${PRINTED}`, 'ER_BAD_FIELD_ERROR'],
  ['target', 'Correct the statement under writeBack.', 'ER_PARSE_ERROR'],
  ['unreachable', '', MAX_STATEMENT_TIME, 'ER_QUERY_TIMEOUT', 'ER_QUERY_INTERRUPTED'],
  ['unreachable', '', 'ER_LOCK_WAIT_TIMEOUT', 'ER_LOCK_DEADLOCK', 'ER_CHECKREAD'],
  ['unreachable', '', 'ER_CON_COUNT_ERROR', 'ER_OPTION_PREVENTS_STATEMENT', 'ER_SERVER_SHUTDOWN'],
  // A value that its column does not take, such as one that an ENUM does not name: servers give it no SQL state.
  ['row', '', '1265', '1366', 'ER_CONSTRAINT_FAILED', CONSTRAINT_FAILED],
]);

/**
 * Says what a failure to read means. Pure.
 * @param otherwise the kind of a failure that the table doesn't know
 */
export function mysqlReadFailure(cause: unknown, doing: string, place: string, otherwise: ErpErrorKind): ErpError {
  const { code, fatal, words: detail } = driverError(cause);
  const isAway = fatal || otherwise === 'unreachable';
  const unlisted = isAway ? (['unreachable', AGAIN_LATER] as const) : ([otherwise, ''] as const);
  const [kind, advice] = readFailures.get(code) ?? unlisted;
  const what = doing === 'connect' ? 'connect to' : `${doing} in`;
  return new ErpError(kind, `Could not ${what} the ERP database ${place}: ${detail}. ${advice}`.trim(), {
    cause,
    detail,
  });
}

/** Says what a failure to write `what` back means. Pure. */
export function mysqlWriteFailure(cause: unknown, what: string, place: string): WriteBackError {
  const { errno, code, sqlState, words } = driverError(cause);
  const unlisted = [kindByState(sqlState, errno !== undefined && /^ER_|^\d+$/.test(code)), ''] as const;
  const [kind, known] = writeFailures.get(code) ?? writeFailures.get(String(errno)) ?? unlisted;
  const advice = known || (kind === 'target' ? 'Correct what it names.' : '');
  return new WriteBackError(kind, `Could not write ${what} back into ${place}: ${words}. ${advice}`.trim(), { cause });
}

function kindByState(sqlState: string, isFromServer: boolean): WriteBackErrorKind {
  // 22: data, 23: constraints, 45: what a trigger of the ERP raises.
  if (/^(22|23|45)/.test(sqlState)) return 'row';
  // What a server refuses without such a state is about the statement. Without a number, no server has answered.
  return isFromServer ? 'target' : 'unreachable';
}

function driverError(cause: unknown) {
  const { errno, code, fatal, sqlState, message } = cause as {
    errno?: number;
    code?: string;
    fatal?: boolean;
    sqlState?: string;
    message?: string;
  };
  const name = code ?? String(errno ?? '');
  const words = (message ?? String(cause)) || name;
  return { errno, code: name, fatal: fatal ?? false, sqlState: sqlState ?? '', words };
}
