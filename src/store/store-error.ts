import type { DriverError, StoreDialect } from './dialects/dialect.js';

/** The store could not be read or written. Says what was being done; `unreachable` tells an outage from a fault. */
export class StoreError extends Error {
  readonly unreachable: boolean;

  constructor(message: string, options: { cause?: unknown; unreachable?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.name = 'StoreError';
    this.unreachable = options.unreachable ?? false;
  }

  static wrap(dialect: StoreDialect, action: string, cause: unknown): unknown {
    const { driverError } = cause as { driverError?: DriverError };
    const driver = driverError ?? (cause as DriverError);
    const unreachable = dialect.isUnreachable(driver);
    // Errors of our own work inside the transaction pass through as they are.
    if (driverError === undefined && !unreachable) return cause;
    // The driver's message, without TypeORM's copy of the statement and its parameters (they may hold personal data).
    const message = driver.message ?? String(cause);
    const hint = unreachable
      ? ` ${dialect.tlsHint(driver) ?? 'Is the database running, and do host, port and account in `store` fit?'}`
      : '';
    return new StoreError(`The store failed to ${action}: ${message}.${hint}`, { cause: driver, unreachable });
  }
}
