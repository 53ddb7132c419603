import { WriteBackError, type WriteBackErrorKind } from './write-back-error.js';

const printed = '`waybill erp side-tables` prints what is needed';

/** What a person does about a failure that stops a whole target, by the code of the driver. */
const targetAdvice: Record<string, string> = {
  ER_TABLEACCESS_DENIED_ERROR: `Grant it to the account of writeBack; ${printed}`,
  ER_COLUMNACCESS_DENIED_ERROR: `Grant it to the account of writeBack; ${printed}`,
  ER_SPECIFIC_ACCESS_DENIED_ERROR: `Grant it to the account of writeBack; ${printed}`,
  ER_PROCACCESS_DENIED_ERROR: 'Grant it to the account of writeBack',
  ER_DBACCESS_DENIED_ERROR: `The account of writeBack may do nothing in writeBack.database; ${printed}`,
  ER_ACCESS_DENIED_ERROR: 'Check writeBack.user and its password',
  ER_BAD_DB_ERROR: 'Check writeBack.database',
  ER_NO_SUCH_TABLE: `Make the table; ${printed}`,
  ER_BAD_FIELD_ERROR: `Add the column, or make the table anew; ${printed}`,
  ER_PARSE_ERROR: 'Correct the statement under writeBack',
};

const laterCodes = new Set([
  'ER_LOCK_WAIT_TIMEOUT',
  'ER_LOCK_DEADLOCK',
  'ER_CHECKREAD',
  'ER_QUERY_INTERRUPTED',
  'ER_QUERY_TIMEOUT',
  'ER_CON_COUNT_ERROR',
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_SERVER_SHUTDOWN',
]);
/** A value that its column does not take, such as one that an ENUM does not name. Servers give them no class of their own. */
const valueErrors = new Set([1265, 1366]);
/** MariaDB's own: max_statement_time was exceeded. */
const statementTimeout = 1969;

/** Says what a failure of MySQL or MariaDB means for the write-back. Pure. */
export function mysqlWriteFailure(cause: unknown, what: string, place: string): WriteBackError {
  const {
    errno,
    code = String(errno ?? ''),
    sqlState = '',
    message = String(cause),
  } = cause as { errno?: number; code?: string; sqlState?: string; message?: string };
  const kind = kindOf(code, errno, sqlState);
  const advice = kind === 'target' ? (targetAdvice[code] ?? 'Correct what it names') : '';
  const words = message === '' ? code : message;
  return new WriteBackError(kind, `Could not write ${what} back into ${place}: ${words}.${advice && ` ${advice}.`}`, {
    cause,
  });
}

function kindOf(code: string, errno: number | undefined, sqlState: string): WriteBackErrorKind {
  if (code in targetAdvice) return 'target';
  if (laterCodes.has(code) || errno === statementTimeout) return 'unreachable';
  if (errno !== undefined && valueErrors.has(errno)) return 'row';
  // 22: data, 23: constraints, 45: what a trigger of the ERP raises.
  if (/^(22|23|45)/.test(sqlState) || code === 'ER_CONSTRAINT_FAILED' || errno === 4025) return 'row';
  // Whatever the server refuses without a class of its own is about the statement; without a number there was no server.
  return errno !== undefined && /^ER_|^\d+$/.test(code) ? 'target' : 'unreachable';
}
