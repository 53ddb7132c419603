import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Secret } from './secret.js';

/** How a MySQL or MariaDB server is reached. Every path is absolute. */
export interface MysqlPlace {
  host: string;
  port: number;
  tls?: MysqlTls | undefined;
}

interface MysqlTls {
  mode?: 'required' | 'off' | undefined;
  caFile?: string | undefined;
  serverName?: string | undefined;
  certificateFile?: string | undefined;
  key?: Secret | undefined;
}

/** Whether a host name stays on this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\]|::1)$/.test(hostname);
}

/** Whether a connection to this host has to be secure. */
export function isTlsRequired(host: string, mode: MysqlTls['mode']): boolean {
  return mode === undefined ? !isLoopback(host) : mode === 'required';
}

/** Options of mysql2 for the way to this server. The files are read now, so a certificate that was renewed counts. */
export function mysqlTransport({ host, port, tls = {} }: MysqlPlace) {
  if (!isTlsRequired(host, tls.mode)) return { host, port };
  const { caFile, serverName, certificateFile, key } = tls;
  return {
    // mysql2 checks the certificate against its host, whatever the socket is connected to.
    host: serverName ?? host,
    port,
    stream: (): Socket => connect({ host, port, noDelay: true, keepAlive: true }),
    ssl: {
      minVersion: 'TLSv1.2',
      verifyIdentity: true,
      ...(caFile === undefined ? {} : { ca: readFileSync(caFile, 'utf8') }),
      ...(certificateFile === undefined ? {} : { cert: readFileSync(certificateFile, 'utf8'), key: key?.reveal() }),
    },
  };
}
