import { ErpError, type ErpErrorKind, WriteBackError, type WriteBackErrorKind } from '../erp-failures.js';
import { AGAIN_LATER, byCode, COMPARE, IN_THE_CLEAR, NO_TLS, PRINTED } from '../failure-table.js';

/** The driver's own, which have words and no code. */
const NO_ANSWER_IN_TIME = 'timeout expired';
const NO_TLS_THERE = 'The server does not support SSL connections';
/** The code that stands for all of OpenSSL's and Node's about a certificate. */
const CERTIFICATE = 'certificate';
/** `57014` of a statement that ran as long as it may: the words of the server are in its own language. */
const OVERDUE = 'overdue';

const NAMES =
  'a name with capital letters needs double quotes, and a table outside the search_path of the account its schema: schema.table';

const readFailures = byCode<ErpErrorKind>([
  ['unreachable', 'Check erp.host and erp.port, and that the server is running.', 'ECONNREFUSED'],
  ['unreachable', 'Check erp.host and erp.port: there is no such socket.', 'ENOENT'],
  ['unreachable', 'Check erp.host.', 'ENOTFOUND'],
  ['unreachable', 'Check erp.host and erp.port, and the firewall.', 'ETIMEDOUT', NO_ANSWER_IN_TIME],
  ['unreachable', 'Check erp.user and its password.', '28P01'],
  ['unreachable', 'Check erp.user, and what pg_hba.conf on the server asks of it from this machine.', '28000'],
  ['unreachable', `${NO_TLS} erp.tls.mode: off ${IN_THE_CLEAR}`, NO_TLS_THERE],
  ['unreachable', `${COMPARE} erp.tls.caFile and erp.tls.serverName.`, CERTIFICATE],
  ['unreachable', 'Check erp.database.', '3D000'],
  ['unreachable', 'The server has no connection left for erp.user; it is tried again later.', '53300'],
  ['unreachable', 'Another program holds a lock; it is tried again later.', '55P03'],
  ['unreachable', 'The statement was stopped on the server; it is tried again later.', '57014'],
  ['query', 'Add an index for it, or raise erp.queryTimeoutSeconds.', OVERDUE],
  ['query', 'Grant SELECT on it to erp.user, and USAGE on its schema.', '42501'],
  ['query', `Check the name: ${NAMES}.`, '42P01', '42703', '3F000'],
  ['query', 'Compare a column with its own type, or write CAST(… AS …) around one of them.', '42883', '42804'],
  ['query', 'Waybill only reads: a query may call nothing that writes.', '25006'],
]);

const TIME_ZONE =
  'The server does not know erp.timeZone by this name: give another name of the zone, or update its zones.';
const BAD_VALUE = 'One row can stop all of them: let the query or the condition test a value before it converts it.';

const writeFailures = byCode<WriteBackErrorKind>([
  ['target', `Grant it to the account of writeBack; ${PRINTED}`, '42501'],
  ['target', 'Check writeBack.user and its password.', '28P01'],
  ['target', 'Check writeBack.user, and what pg_hba.conf on the server asks of it from this machine.', '28000'],
  ['target', 'Check writeBack.database.', '3D000'],
  ['unreachable', `${NO_TLS} writeBack.tls.mode: off ${IN_THE_CLEAR}`, NO_TLS_THERE],
  ['unreachable', `${COMPARE} writeBack.tls.caFile and writeBack.tls.serverName.`, CERTIFICATE],
  ['target', `Make the table (${NAMES}); ${PRINTED}`, '42P01', '3F000'],
  ['target', `Add the column, or make the table anew; ${PRINTED}`, '42703', '42P10'],
  ['target', 'Correct the statement under writeBack.', '42601'],
  ['target', 'Write CAST(:name AS …) around the parameter, or compare it with a column of its type.', '42P18', '42883'],
  [
    'target',
    'Name the server that takes writes in writeBack.host: this one is a standby, or set to read only.',
    '25006',
  ],
  ['unreachable', '', OVERDUE],
]);

interface Cause {
  /** SQLSTATE, or the code of Node. Absent for what the driver says itself. */
  code?: string;
  message?: string;
  hint?: string;
}

/** How long a statement ran, and how long it may, in milliseconds. */
export interface RunTime {
  ranMs: number;
  limitMs: number;
}

/**
 * Says what a failure to read means. Pure.
 * @param otherwise the kind of a failure that the table doesn't know
 */
export function postgresReadFailure(
  cause: unknown,
  doing: string,
  place: string,
  otherwise: ErpErrorKind,
  time?: RunTime,
): ErpError {
  const { code, words, hint } = driverError(cause, time);
  const [kind, advice] = readFailures.get(code) ?? unlisted(code, words, otherwise);
  // Settings are told the detail alone. The server's hint about types says less than we do.
  const said = kind === 'unreachable' ? [words] : [words, code === '42883' ? '' : hint, advice.replace(/\.$/, '')];
  const detail = said.filter(Boolean).join('. ');
  const what = doing === 'connect' ? 'connect to' : `${doing} in`;
  const message = `Could not ${what} the ERP database ${place}: ${detail}. ${kind === 'unreachable' ? advice : ''}`;
  return new ErpError(kind, message.trim(), { cause, detail });
}

function unlisted(code: string, words: string, otherwise: ErpErrorKind): readonly [ErpErrorKind, string] {
  if (isAway(code) || otherwise === 'unreachable') return ['unreachable', AGAIN_LATER];
  if (code === '22023' && words.includes('TimeZone')) return ['mapping', TIME_ZONE];
  return [otherwise, code.startsWith('22') ? BAD_VALUE : ''];
}

/** Says what a failure to write `what` back means. Pure. */
export function postgresWriteFailure(cause: unknown, what: string, place: string, time?: RunTime): WriteBackError {
  const { code, words } = driverError(cause, time);
  const [kind, known] = writeFailures.get(code) ?? ([kindByState(code), ''] as const);
  const advice = known || (kind === 'target' ? 'Correct what it names.' : '');
  return new WriteBackError(kind, `Could not write ${what} back into ${place}: ${words}. ${advice}`.trim(), { cause });
}

function kindByState(code: string): WriteBackErrorKind {
  if (isAway(code)) return 'unreachable';
  // 22: data, 23: constraints, 44: a view's check, P0: what a trigger of the ERP raises.
  return /^(22|23|44|P0)/.test(code) ? 'row' : 'target';
}

/**
 * Whether the server or the way to it is what failed, and the same may work later: 08 connection, 40 another transaction,
 * 53 resources, 55P03 a lock, 57 an operator, 58 and XX the server itself, 25P03 our own silence; else no server has answered.
 */
function isAway(code: string): boolean {
  return /^(08|40|53|55P03|57|58|XX|25P03)/.test(code) || !/^[0-9FHPX][0-9A-Z]{4}$/.test(code);
}

function driverError(cause: unknown, time: RunTime | undefined) {
  const { code = '', message, hint = '' } = cause as Cause;
  const words = (message ?? String(cause)).replace(/\.$/, '') || code;
  const isOverdue = code === '57014' && time !== undefined && time.ranMs >= time.limitMs;
  const isCertificate = /CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^HOSTNAME/.test(code);
  const plain = isCertificate ? CERTIFICATE : code || words;
  return { code: isOverdue ? OVERDUE : plain, words, hint: hint.replace(/\.$/, '') };
}
