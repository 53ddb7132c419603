import { isIP } from 'node:net';
import { z } from 'zod';
import { isTlsRequired } from '../../model/database-place.js';
import { type Partly, type Report, requireSetting } from '../configuration-error.js';
import { type fileKind, isServerKind, type ServerKind, serverKinds, servers } from './database-kinds.js';
import { group, pemFile, secret, secretFile, text, whole } from './value-types.js';

/** @param credential what systemd calls the private key */
export const databaseTls = (credential: string) =>
  group('Secure connection to that server.', {
    mode: z
      .enum(['required', 'off'])
      .optional()
      .describe(
        'required: the server is told nothing before it has shown a certificate for its name from a trusted authority. off: everything travels in the clear. Default: off for a server on this machine, else required.',
      ),
    caFile: pemFile('certificates of the authorities to trust; the well-known ones are then not trusted'),
    serverName: text
      .optional()
      .describe(
        'Name that the certificate of the server has to hold. Default: host; required where host is an address.',
      ),
    certificateFile: pemFile('the client certificate and its chain, where the server asks for one'),
    key: secret
      .optional()
      .describe('Private key of the client certificate, PEM. Only from the environment; prefer keyFile.'),
    keyFile: secretFile('the private key of the client certificate, PEM', credential),
  });

export type DatabaseTls = z.output<ReturnType<typeof databaseTls>>;

/** The variants of a section, one for each kind of server. */
export function onServers<Variant>(variant: (kind: ServerKind) => Variant): [Variant, ...Variant[]] {
  return serverKinds.map(variant) as [Variant, ...Variant[]];
}

/**
 * The address of a database on a server; the ERP and the store are described alike.
 * @param meanings what is particular to one of them, and the first word of its credentials under systemd
 */
export function serverConnection(
  kind: ServerKind,
  meanings: { host: string; database: string; user: string; credential: string },
) {
  return {
    host: text.default('127.0.0.1').describe(meanings.host),
    port: whole(1, 65_535)
      .default(servers[kind].port)
      .describe(`Port of that server. On PostgreSQL the default is ${servers.postgres.port}.`),
    database: text.describe(meanings.database),
    user: text.describe(meanings.user),
    password: secret.optional().describe('Password of that account. Only from the environment; prefer passwordFile.'),
    passwordFile: secretFile('the password', `${meanings.credential}-password`),
    tls: databaseTls(`${meanings.credential}-tls-key`),
  };
}

/** A database on a server; undefined where it is a file, or nothing is chosen. */
export function onServer<Place extends { type?: string | undefined }>(place: Place | undefined) {
  return isServerKind(place?.type) ? (place as Exclude<Place, { type?: typeof fileKind | undefined }>) : undefined;
}

/** The requirements of a secure connection to a server of ours. @param group its place in the settings */
export function checkServerTls(
  group: string,
  server: { host?: string | undefined; tls?: Partly<DatabaseTls> | undefined } | undefined,
  report: Report,
): void {
  const { host, tls } = server ?? {};
  if (host === undefined || !isTlsRequired(host, tls?.mode)) return;
  if (isIP(host) !== 0)
    requireSetting(
      tls?.serverName,
      `${group}.tls.serverName`,
      `the name in the server’s certificate, because its host ${host} is an address`,
      report,
    );
  if (tls?.certificateFile !== undefined)
    requireSetting(
      tls.key,
      `${group}.tls.keyFile`,
      `the file with the private key of ${group}.tls.certificateFile`,
      report,
    );
}
