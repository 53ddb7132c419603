import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, type PeerCertificate } from 'node:tls';
import { type DatabasePlace, secureOptions } from '../../model/database-place.js';
import { type ServerAccount, socketForDriver } from '../server.js';

/**
 * Options of pg for every connection to a PostgreSQL server: of the store, of the ERP and of the write-back. The environment
 * variables of pg, such as PGSSLMODE, have no say.
 */
export function postgresOptions({ database, user, password, ...place }: ServerAccount) {
  return {
    host: place.host,
    port: place.port,
    stream: socketForDriver,
    ssl: sslOptions(place),
    database,
    ...(user === undefined ? {} : { user }),
    // Without one, the driver would look for it in the environment and in a file of the account's home.
    password: password?.reveal() ?? noPassword,
    application_name: 'waybill',
    client_encoding: 'UTF8',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

function sslOptions(place: DatabasePlace): false | ConnectionOptions {
  const { host, tls } = place;
  const secure = secureOptions(place);
  if (secure === null) return false;
  const name = tls?.serverName ?? host;
  // pg would check the certificate against the host. An address can not be asked for by name.
  const verify = (_host: string, certificate: PeerCertificate) => checkServerIdentity(name, certificate);
  return { ...secure, ...(isIP(name) === 0 ? { servername: name } : {}), checkServerIdentity: verify };
}

function noPassword(): never {
  throw new Error('the server asks for a password, and none is set');
}
