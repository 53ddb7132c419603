import { connect, type Socket } from 'node:net';
import { type DatabasePlace, secureOptions } from '../../model/database-place.js';

/** Options of mysql2 for the way to a MySQL or MariaDB server. */
export function mysqlTransport(place: DatabasePlace) {
  const { host, port, tls } = place;
  const secure = secureOptions(place);
  if (secure === null) return { host, port };
  return {
    // mysql2 checks the certificate against its host, whatever the socket is connected to.
    host: tls?.serverName ?? host,
    port,
    stream: (): Socket => connect({ host, port, noDelay: true, keepAlive: true }),
    ssl: { ...secure, verifyIdentity: true },
  };
}
