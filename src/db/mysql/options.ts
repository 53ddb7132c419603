import type { Socket } from 'node:net';
import { secureOptions } from '../../model/database-place.js';
import { type ServerAccount, socketForDriver } from '../server.js';

/** Options of mysql2 for every connection to a MySQL or MariaDB server: of the store, of the ERP and of the write-back. */
export function mysqlOptions({ database, user, password, ...place }: ServerAccount) {
  const { host, port, tls } = place;
  const secure = secureOptions(place);
  return {
    // mysql2 checks the certificate against its host, whatever the socket is connected to.
    host: secure === null ? host : (tls?.serverName ?? host),
    port,
    stream: (): Socket =>
      socketForDriver().connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 10_000 }),
    ...(secure && { ssl: { ...secure, verifyIdentity: true } }),
    database,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password: password.reveal() }),
    charset: 'utf8mb4',
    // Our own error describes a failure; the driver would record the stack of every query in case it fails.
    trace: false,
    // The driver would keep half a megabyte for a list of 16,000, and hardly any is prepared.
    maxPreparedStatements: 1,
  };
}
