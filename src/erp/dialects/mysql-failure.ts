import type { ErpSettings } from '../../config/sections/erp.js';
import { ErpError, type ErpErrorKind } from '../erp-error.js';

/** What a failure means, and what the reader of the message can do about it. */
const FAILURES: Record<string, { kind: ErpErrorKind; advice: string }> = {
  ECONNREFUSED: { kind: 'unreachable', advice: 'Check erp.host and erp.port, and that the server is running.' },
  ENOTFOUND: { kind: 'unreachable', advice: 'Check erp.host.' },
  ETIMEDOUT: { kind: 'unreachable', advice: 'Check erp.host and erp.port, and the firewall.' },
  ER_ACCESS_DENIED_ERROR: { kind: 'unreachable', advice: 'Check erp.user and its password.' },
  ER_DBACCESS_DENIED_ERROR: { kind: 'unreachable', advice: 'Check erp.database and what erp.user may read.' },
  ER_BAD_DB_ERROR: { kind: 'unreachable', advice: 'Check erp.database.' },
  ER_TABLEACCESS_DENIED_ERROR: { kind: 'query', advice: 'Grant SELECT on the table to erp.user.' },
  ER_COLUMNACCESS_DENIED_ERROR: { kind: 'query', advice: 'Grant SELECT on the column to erp.user.' },
  // MariaDB's own numbers have no name in the driver: max_statement_time was exceeded.
  1969: { kind: 'query', advice: 'Add an index for it, or raise erp.queryTimeoutSeconds.' },
  ER_QUERY_TIMEOUT: { kind: 'query', advice: 'Add an index for it, or raise erp.queryTimeoutSeconds.' },
  ER_LOCK_WAIT_TIMEOUT: { kind: 'unreachable', advice: 'Another program holds a lock; it is tried again later.' },
  ER_LOCK_DEADLOCK: { kind: 'unreachable', advice: 'It is tried again later.' },
  ER_CHECKREAD: { kind: 'unreachable', advice: 'It is tried again later.' },
  ER_QUERY_INTERRUPTED: { kind: 'unreachable', advice: 'Somebody stopped the statement; it is tried again later.' },
  PROTOCOL_SEQUENCE_TIMEOUT: { kind: 'unreachable', advice: 'The server does not answer; it is tried again later.' },
};
const AGAIN_LATER = { kind: 'unreachable', advice: 'It is tried again later.' } as const;

export function mysqlFailure(
  cause: unknown,
  doing: string,
  settings: MysqlSettings,
  otherwise: ErpErrorKind,
): ErpError {
  const {
    errno,
    code = String(errno ?? ''),
    fatal = false,
    message = String(cause),
  } = cause as { errno?: number; code?: string; fatal?: boolean; message?: string };
  const { kind, advice } =
    FAILURES[code] ?? (fatal || otherwise === 'unreachable' ? AGAIN_LATER : { kind: otherwise, advice: '' });
  const detail = message === '' ? code : message;
  const at = `the ERP database ${identityOf(settings)}`;
  const what = doing === 'connect' ? `connect to ${at}` : `${doing} in ${at}`;
  return new ErpError(kind, `Could not ${what}: ${detail}. ${advice}`.trim(), { cause, detail });
}

export type MysqlSettings = Extract<ErpSettings, { type: 'mysql' }>;

/** Names the database that is read, without the account that reads it. */
export function identityOf({ host, port, database }: MysqlSettings): string {
  return `mysql://${host}:${port}/${database}`;
}
