import { ErpError, type ErpErrorKind, WriteBackError, type WriteBackErrorKind } from './erp-failures.js';

/**
 * Why a database failed, whatever its driver calls it. Each database has one table from the codes of its driver and server to
 * these; the ERP reader, the write-back and the store each draw their own conclusion from them.
 * refused … closed: no session, or none any more. broken … overtaken: the same may work later. right … statement: the server
 * refuses what it is asked. value: one row is at fault. unknown: neither the server nor the way to it has named a cause.
 */
export type FailureCause =
  | 'refused'
  | 'no_socket'
  | 'unknown_host'
  | 'no_way'
  | 'no_tls'
  | 'certificate'
  | 'login'
  | 'login_from_here'
  | 'database_right'
  | 'no_database'
  | 'no_file'
  | 'no_folder_right'
  | 'full'
  | 'silent'
  | 'closed'
  | 'broken'
  | 'damaged'
  | 'slow'
  | 'stopped'
  | 'locked'
  | 'busy'
  | 'overtaken'
  | 'right'
  | 'server_right'
  | 'read_only'
  | 'no_table'
  | 'no_column'
  | 'types'
  | 'parameter'
  | 'time_zone'
  | 'syntax'
  | 'statement'
  | 'value'
  | 'unknown';

/** An installation that lacks the driver of a database: waiting doesn't mend it. */
export class DriverMissing extends Error {}

/** The driver's own words and our name for the cause. */
export interface Failure {
  cause: FailureCause;
  words: string;
  /** Advice from the server itself. */
  hint?: string;
}

/** The run time of a statement and its limit, in milliseconds. */
export interface RunTime {
  ranMs: number;
  limitMs: number;
}

/** Names the failures of one kind of database, and may replace the usual advice. */
export interface Failures {
  /** Pure. @param error as the driver threw it */
  read(error: unknown, time?: RunTime): Failure;
  /** Advice that only this database needs, in the place of the usual. */
  advice?: { erp?: Advice; writeBack?: Advice };
}

type Advice = Partial<Record<FailureCause, string>>;

/** Codes by their cause, as a database lists them. */
export type FailureCodes = Partial<Record<FailureCause, readonly string[]>>;

export function causesByCode(codes: FailureCodes): ReadonlyMap<string, FailureCause> {
  const entries = Object.entries(codes) as [FailureCause, readonly string[]][];
  return new Map(entries.flatMap(([cause, names]) => names.map((name) => [name, cause] as const)));
}

/** Codes of Node, which all drivers hand on, and our own. */
export const nodeCodes = {
  refused: ['ECONNREFUSED'],
  unknown_host: ['ENOTFOUND'],
  no_way: ['ETIMEDOUT'],
  closed: ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN', 'WAYBILL_SESSION'],
} satisfies FailureCodes;

const again = 'It is tried again later.';
const printed = '`waybill erp side-tables` prints what is needed.';

/** Advice for a session that did not come about; `at` is the section of the settings. */
const connecting = (at: string) =>
  ({
    refused: `Check ${at}.host and ${at}.port, and that the server is running.`,
    no_socket: `Check ${at}.host and ${at}.port: there is no such socket.`,
    unknown_host: `Check ${at}.host.`,
    no_way: `Check ${at}.host and ${at}.port, and the firewall.`,
    no_tls: `Switch TLS on at the server, or set ${at}.tls.mode: off where everything may be read on the way.`,
    certificate: `Compare the certificate of the server with ${at}.tls.caFile and ${at}.tls.serverName.`,
    login: `Check ${at}.user and its password.`,
    login_from_here: `Check ${at}.user, and what pg_hba.conf on the server asks of it from this machine.`,
    database_right: `Check ${at}.database and what ${at}.user may read.`,
    no_database: `Check ${at}.database.`,
    full: `The server has no connection left for ${at}.user; it is tried again later.`,
  }) satisfies Advice;

const reading: Advice = {
  ...connecting('erp'),
  no_file: 'Check erp.file, and that this user may read it.',
  silent: 'The server does not answer; it is tried again later.',
  slow: 'Add an index for it, or raise erp.queryTimeoutSeconds.',
  stopped: 'The statement was stopped on the server; it is tried again later.',
  locked: 'Another program holds a lock; it is tried again later.',
  busy: `Another program holds it locked. ${again}`,
  closed: again,
  overtaken: again,
  right: 'Grant SELECT on it to erp.user.',
  read_only: 'Waybill only reads: a query may call nothing that writes.',
  time_zone: 'The server does not know erp.timeZone by this name: give another name of the zone, or update its zones.',
};

/** No session came about, or it has ended: the server can't be asked. */
const away: ReadonlySet<FailureCause> = new Set([
  ...(['refused', 'unknown_host', 'no_way', 'no_tls', 'certificate', 'full', 'silent', 'closed', 'no_file'] as const),
]);
/** The server can't do it now, and may later. */
const passing: ReadonlySet<FailureCause> = new Set([
  'broken',
  'damaged',
  'stopped',
  'locked',
  'busy',
  'overtaken',
] as const);
/** A person has to let us in. */
const ofAccount: ReadonlySet<FailureCause> = new Set(['login', 'login_from_here', 'database_right', 'no_database']);
/** The driver is the source of every failure outside of a transaction. Inside one of the store it may also be our own work. */
const elsewhere: ReadonlySet<FailureCause> = new Set(['no_socket', 'no_folder_right', 'unknown']);
const mayWorkLater = (cause: FailureCause) => away.has(cause) || passing.has(cause) || elsewhere.has(cause);

/** The action that failed: `doing` completes "Could not … the ERP database", or is `connect`. */
interface Read {
  doing: string;
  place: string;
  /** The kind of a failure that the causes do not decide. */
  otherwise: ErpErrorKind;
  time?: RunTime;
}

/** Says what a failure to read the ERP means. Pure. */
export function readFailure(failures: Failures, error: unknown, { doing, place, otherwise, time }: Read): ErpError {
  const { cause, words, hint } = failures.read(error, time);
  const kind = kindOfRead(cause, otherwise);
  const usual = reading[cause] ?? (kind === 'unreachable' ? again : '');
  const advice = failures.advice?.erp?.[cause] ?? usual;
  // Settings are told the detail alone. The server's hint about types says less than we do.
  const said =
    kind === 'unreachable' ? [words] : [words, cause === 'types' ? undefined : hint, advice.replace(/\.$/, '')];
  const detail = said.filter(Boolean).join('. ');
  const what = ['connect', 'open', 'read'].includes(doing) ? doing.replace('connect', 'connect to') : `${doing} in`;
  const message = `Could not ${what} the ERP database ${place}: ${detail}. ${kind === 'unreachable' ? advice : ''}`;
  return new ErpError(kind, message.trim(), { cause: error, detail });
}

function kindOfRead(cause: FailureCause, otherwise: ErpErrorKind): ErpErrorKind {
  if (mayWorkLater(cause) || ofAccount.has(cause) || otherwise === 'unreachable') return 'unreachable';
  return cause === 'time_zone' ? 'mapping' : otherwise;
}

const granted = `Grant it to the account of writeBack; ${printed}`;
const { no_tls, certificate, login, login_from_here, no_database } = connecting('writeBack');
const writing: Advice = {
  ...{ no_tls, certificate, login, login_from_here, no_database },
  database_right: `The account of writeBack may do nothing in writeBack.database; ${printed}`,
  right: granted,
  server_right: granted,
  no_table: `Make the table; ${printed}`,
  no_column: `Add the column, or make the table anew; ${printed}`,
  syntax: 'Correct the statement under writeBack.',
  types: 'Write CAST(:name AS …) around the parameter, or compare it with a column of its type.',
  parameter: 'Write CAST(:name AS …) around the parameter, or compare it with a column of its type.',
  read_only: 'Name the server that takes writes in writeBack.host: this one is a standby, or set to read only.',
};

/** Says what a failure to write `what` back means. Pure. */
export function writeFailure(
  failures: Failures,
  error: unknown,
  { what, place, time }: { what: string; place: string; time?: RunTime },
): WriteBackError {
  const { cause, words } = failures.read(error, time);
  const kind = kindOfWrite(cause);
  const known = failures.advice?.writeBack?.[cause] ?? writing[cause] ?? '';
  const advice = known || (kind === 'target' ? 'Correct what it names.' : '');
  return new WriteBackError(kind, `Could not write ${what} back into ${place}: ${words}. ${advice}`.trim(), {
    cause: error,
  });
}

function kindOfWrite(cause: FailureCause): WriteBackErrorKind {
  if (cause === 'value') return 'row';
  return mayWorkLater(cause) || cause === 'slow' ? 'unreachable' : 'target';
}

/** True if the store can't be asked now, whatever is asked. */
export function isStoreAway(cause: FailureCause): boolean {
  return away.has(cause) || ofAccount.has(cause);
}

/** Tells if a whole transaction of the store may run again: as long as another process writes, or a few times. */
export function storeRetry(cause: FailureCause): 'a few times' | 'patiently' | null {
  if (cause === 'busy') return 'patiently';
  return cause === 'locked' || cause === 'overtaken' ? 'a few times' : null;
}

/** The next step for a store that can't be opened, or a connection that could not be made. Undefined: nothing special. */
export function storeAdvice(cause: FailureCause): string | undefined {
  if (cause === 'damaged')
    return 'The file of the store is damaged. Stop Waybill, move the file away, put the newest copy in its place, and say `waybill recover` (docs/failures.md).';
  const advice: Advice = connecting('store');
  if (cause !== 'no_file' && cause !== 'no_folder_right' && cause !== 'read_only') return advice[cause];
  return 'Run it as the account of the store, which may write the file and into its folder, also to read.';
}
