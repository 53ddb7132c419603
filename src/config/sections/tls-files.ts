import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { Secret } from '../../model/secret.js';
import type { ConfigurationProblem } from '../configuration-error.js';

interface TlsFiles {
  caFile?: string | undefined;
  certificateFile?: string | undefined;
  key?: Secret | undefined;
  passphrase?: Secret | undefined;
}

/**
 * Checks that the files of a group for TLS can be read, hold the right things, and belong together.
 * @param group its place, such as `service.tls`
 */
export function checkTlsFiles(
  group: string,
  { caFile, certificateFile, key, passphrase }: TlsFiles = {},
): ConfigurationProblem[] {
  const problems: ConfigurationProblem[] = [];
  const check = (path: string, file: string | undefined, hint: string, use: (pem: string) => void) => {
    if (file === undefined) return;
    let pem: string;
    try {
      pem = readFileSync(file, 'utf8');
    } catch (error) {
      const message = `the file can not be read (${(error as NodeJS.ErrnoException).code})`;
      problems.push({ path, message, found: file, hint: 'create it, or give it to the account that runs Waybill' });
      return;
    }
    try {
      use(pem);
    } catch (error) {
      const { reason, code } = error as { reason?: string; code?: string };
      const message = `is refused by TLS (${reason ?? code ?? 'no reason given'})`;
      problems.push({ path, message, found: file, hint });
    }
  };
  check(`${group}.caFile`, caFile, 'it has to be PEM', (ca) => {
    // OpenSSL takes a file without a single certificate for an empty list of authorities.
    if (!ca.includes('-----BEGIN CERTIFICATE-----'))
      throw Object.assign(new Error('no certificate'), { reason: 'no certificate in it' });
    createSecureContext({ ca });
  });
  const together = 'check that certificate, private key and passphrase belong together, and that both files are PEM';
  check(`${group}.certificateFile`, certificateFile, together, (cert) => {
    if (key === undefined) return;
    createSecureContext({ cert, key: key.reveal(), ...(passphrase ? { passphrase: passphrase.reveal() } : {}) });
  });
  return problems;
}

type PemFiles = { caFile?: string | undefined; certificateFile?: string | undefined };

/** The files of a group for TLS with absolute paths. */
export function withPemPaths<Tls extends PemFiles>({ caFile, certificateFile, ...tls }: Tls, configDir: string) {
  return {
    ...tls,
    ...(caFile === undefined ? {} : { caFile: resolve(configDir, caFile) }),
    ...(certificateFile === undefined ? {} : { certificateFile: resolve(configDir, certificateFile) }),
  };
}
