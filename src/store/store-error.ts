/** The store could not be read or written. Says what was being done; `unreachable` tells an outage from a fault. */
export class StoreError extends Error {
  readonly unreachable: boolean;

  constructor(message: string, options: { cause?: unknown; unreachable?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.name = 'StoreError';
    this.unreachable = options.unreachable ?? false;
  }

  static wrap(action: string, cause: unknown): unknown {
    const driver =
      (cause as { driverError?: { code?: string; message?: string } }).driverError ?? (cause as { code?: string });
    const code = driver?.code;
    // Errors of our own work inside the transaction pass through as they are.
    if (!(cause as { driverError?: unknown }).driverError && !isConnectionCode(code)) return cause;
    // A connection that the server has closed meanwhile is refused by the driver itself, without a code.
    const closed = (driver as { fatal?: boolean }).fatal === true;
    // The driver's message, without TypeORM's copy of the statement and its parameters (they may hold personal data).
    const message = (driver as { message?: string }).message ?? String(cause);
    const unreachable = closed || isConnectionCode(code);
    const hint = unreachable
      ? ` ${tlsHint(code) ?? 'Is the database running, and do host, port and account in `store` fit?'}`
      : '';
    return new StoreError(`The store failed to ${action}: ${message}.${hint}`, { cause: driver, unreachable });
  }
}

/** What to do about a connection that could not be made secure. */
export function tlsHint(code: string | undefined): string | undefined {
  if (code === 'HANDSHAKE_NO_SSL_SUPPORT')
    return 'Switch TLS on at the server, or set store.tls.mode: off where everything may be read on the way.';
  if (code !== 'HANDSHAKE_SSL_ERROR') return undefined;
  return 'Compare the certificate of the server with store.tls.caFile and store.tls.serverName.';
}

function isConnectionCode(code: string | undefined): boolean {
  return (
    code !== undefined &&
    /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|PROTOCOL_|ER_ACCESS_DENIED|ER_DBACCESS_DENIED|ER_BAD_DB|ER_SERVER_SHUTDOWN|ER_CON_COUNT|HANDSHAKE_|SQLITE_CANTOPEN)/.test(
      code,
    )
  );
}
