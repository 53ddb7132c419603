import { causesByCode, type FailureCause, type Failures, nodeCodes } from '../failures.js';

/** SQLSTATE, or the words of what the driver says itself, which have no code. */
const causes = causesByCode({
  ...nodeCodes,
  no_socket: ['ENOENT'],
  no_way: [...nodeCodes.no_way, 'timeout expired', 'timeout exceeded when trying to connect'],
  no_tls: ['The server does not support SSL connections'],
  login: ['28P01'],
  login_from_here: ['28000'],
  no_database: ['3D000'],
  full: ['53300'],
  stopped: ['57014'],
  locked: ['55P03'],
  overtaken: ['40001', '40P01'],
  right: ['42501'],
  read_only: ['25006'],
  no_table: ['42P01', '3F000'],
  no_column: ['42703', '42P10'],
  types: ['42883', '42804'],
  parameter: ['42P18'],
  syntax: ['42601'],
});

const names =
  'a name with capital letters needs double quotes, and a table outside the search_path of the account its schema: schema.table';

/** The causes of failures of PostgreSQL. The words of the server are in its own language. */
export const postgresFailures: Failures = {
  read(error, time) {
    const { code = '', message, hint = '', severity } = error as DriverError;
    const words = (message ?? String(error)).replace(/\.$/, '') || code;
    const known = causes.get(code || words) ?? unlisted(code, words, severity);
    const isOverdue = known === 'stopped' && time !== undefined && time.ranMs >= time.limitMs;
    const cause = code === '22023' && words.includes('TimeZone') ? 'time_zone' : known;
    return { cause: isOverdue ? 'slow' : cause, words, hint: hint.replace(/\.$/, '') };
  },
  advice: {
    erp: {
      right: 'Grant SELECT on it to erp.user, and USAGE on its schema.',
      no_table: `Check the name: ${names}.`,
      no_column: `Check the name: ${names}.`,
      types: 'Compare a column with its own type, or write CAST(… AS …) around one of them.',
      value: 'One row can stop all of them: let the query or the condition test a value before it converts it.',
    },
    writeBack: { no_table: `Make the table (${names}); \`waybill erp side-tables\` prints what is needed.` },
  },
};

interface DriverError {
  /** SQLSTATE, or the code of Node. Absent for what the driver says itself. */
  code?: string;
  message?: string;
  hint?: string;
  severity?: string;
}

/** Messages without a code from pg, its pool and TypeORM about a connection that could not be made, or is gone. */
const gone = /Connection terminated|not queryable|Query runner already released/i;

function unlisted(code: string, words: string, severity: string | undefined): FailureCause {
  // Certificates that Node refuses, and what OpenSSL says of a handshake.
  if (/CERT|^ERR_(TLS|SSL)|^UNABLE_TO|^HOSTNAME|^DEPTH_ZERO/.test(code)) return 'certificate';
  // 08: connection, 57P: shut down or starting, 25P03: our own silence.
  if (severity === 'FATAL' || /^(08|57P|25P03)/.test(code)) return 'closed';
  if (/^28/.test(code)) return 'login';
  // 40: another transaction, 53: resources, 57: an operator, 58 and XX: the server itself.
  if (/^(40|53|57|58|XX)/.test(code)) return 'broken';
  // 22: data, 23: constraints, 44: a view's check, P0: what a trigger of the ERP raises.
  if (/^(22|23|44|P0)/.test(code)) return 'value';
  if (/^[0-9FHPX][0-9A-Z]{4}$/.test(code)) return 'statement';
  return gone.test(words) ? 'closed' : 'unknown';
}
