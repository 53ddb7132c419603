import type { DataSource } from 'typeorm';
import { dialectOfSource } from '../db/databases.js';
import { isStoreAway, storeAdvice } from '../db/failures.js';
import type { DriverError } from '../db/store-dialect.js';
import type { TellsFact } from '../model/facts/failure.js';
import type { WorkFact } from '../model/facts/work.js';
import { outside } from '../model/outside.js';
import { redact } from '../model/redact.js';

/** Longest message that is stored; the databases write long ones. */
const longest = 1_000;

/** The store could not be read or written. Says what was being done; `unreachable` tells an outage from a fault. */
export class StoreError extends Error implements TellsFact {
  readonly unreachable: boolean;
  /** Nobody has made it yet. */
  readonly isAbsent: boolean;

  constructor(message: string, options: { cause?: unknown; unreachable?: boolean; isAbsent?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.name = 'StoreError';
    this.unreachable = options.unreachable ?? false;
    this.isAbsent = options.isAbsent ?? false;
  }

  get fact(): WorkFact {
    return { code: 'store_failed', unavailable: this.unreachable, message: outside(this.message, longest) };
  }

  static wrap(source: DataSource, action: string, cause: unknown): unknown {
    const dialect = dialectOfSource(source);
    const { driverError } = cause as { driverError?: DriverError };
    const driver = driverError ?? (cause as DriverError);
    const failure = dialect.failures.read(driver).cause;
    const unreachable = isStoreAway(failure);
    // Errors of our own work inside the transaction pass through as they are.
    if (driverError === undefined && !unreachable) return cause;
    // The driver's message, without TypeORM's copy of the statement and its parameters (they may hold personal data).
    // The server chose these words, which may be kept: its password is not for the store or a copy of it.
    const { password } = source.options as { password?: unknown };
    const words = (driver.message ?? String(cause)).replace(/\.+$/, '');
    const message = redact(words, typeof password === 'string' ? [password] : []);
    const outage = 'Is the database running, and do host, port and account in `store` fit?';
    const hint = storeAdvice(failure) ?? (unreachable ? outage : '');
    return new StoreError(`The store failed to ${action}: ${message}. ${hint}`.trimEnd(), {
      cause: driver,
      unreachable,
    });
  }
}

/**
 * The store lacks what this process has committed: a failover led to a replica that was behind, or a copy was restored under
 * the running process.
 */
export class StoreWentBack extends StoreError {
  constructor() {
    super(
      'The store lacks what this process has written into it: a failover led to a replica that was behind, or an older copy was restored. ' +
        'Delivery is held until `waybill recover`.',
    );
    this.name = 'StoreWentBack';
  }
}

/** The SQLite file is not at its path any more, so whatever is written goes into a file that nobody sees. */
export class StoreMoved extends StoreError {
  constructor(file: string) {
    super(
      `The store's file ${file} was moved, deleted or replaced while Waybill ran. Waybill writes nothing more: restart it, and it compares the file with its witness.`,
    );
    this.name = 'StoreMoved';
  }
}
