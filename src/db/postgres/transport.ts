import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type DatabasePlace, secureOptions } from '../../model/database-place.js';

/** Options of pg for the way to a PostgreSQL server; its environment variables, such as PGSSLMODE, have no say. */
export function postgresTransport(place: DatabasePlace): {
  host: string;
  port: number;
  ssl: false | ConnectionOptions;
} {
  const { host, port, tls } = place;
  const secure = secureOptions(place);
  if (secure === null) return { host, port, ssl: false };
  const name = tls?.serverName ?? host;
  // pg would check the certificate against the host. An address can not be asked for by name.
  const verify = (_host: string, certificate: PeerCertificate) => checkServerIdentity(name, certificate);
  return {
    host,
    port,
    ssl: { ...secure, ...(isIP(name) === 0 ? { servername: name } : {}), checkServerIdentity: verify },
  };
}
