import { readFileSync } from 'node:fs';
import type { Secret } from './secret.js';

/** The address of a database server. Every path is absolute. */
export interface DatabasePlace {
  host: string;
  port: number;
  tls?: DatabaseTls | undefined;
}

interface DatabaseTls {
  mode?: 'required' | 'off' | undefined;
  caFile?: string | undefined;
  serverName?: string | undefined;
  certificateFile?: string | undefined;
  key?: Secret | undefined;
  keyFile?: string | undefined;
}

/** True if a database lies in a file; else it is on a server. */
export function isInFile<Place extends object>(place: Place): place is Extract<Place, { file: string }> {
  return 'file' in place;
}

/** The file that a database lies in; null: it is on a server. */
export function databaseFile(place: { file: string } | { host: string }): string | null {
  return isInFile(place) ? place.file : null;
}

/** True if a host name stays on this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\]|::1)$/.test(hostname);
}

/** `host`, `host:port` or `[address]:port`. */
export function hostAndPort(text: string, defaultPort: number): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  return { host: bracketed ?? plain ?? text, port: Number(port ?? defaultPort) };
}

/** True if a connection to this host has to be secure. A path is the folder of a local socket. */
export function isTlsRequired(host: string, mode: DatabaseTls['mode']): boolean {
  return mode === undefined ? !isLoopback(host) && !host.startsWith('/') : mode === 'required';
}

/**
 * The certificates that a secure connection trusts and shows; null if none is needed. The files are read now, so a
 * certificate that was renewed counts, with its key.
 */
export function secureOptions({ host, tls = {} }: DatabasePlace) {
  if (!isTlsRequired(host, tls.mode)) return null;
  const { caFile, certificateFile, key, keyFile } = tls;
  const ownKey = keyFile === undefined ? key?.reveal() : contentsOf(keyFile);
  return {
    minVersion: 'TLSv1.2' as const,
    ...(caFile === undefined ? {} : { ca: contentsOf(caFile) }),
    ...(certificateFile === undefined ? {} : { cert: contentsOf(certificateFile), key: ownKey }),
  };
}

/** @throws Error in words: to a driver, the code of a file that is gone would mean a socket. */
function contentsOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Error(`${file} can not be read (${(error as NodeJS.ErrnoException).code})`);
  }
}
