import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { ConfigurationProblem } from './configuration-error.js';
import type { TlsSettings } from './sections/service-credential.js';

/** Whether the files of `service.tls` can be read, hold what they should, and belong together. */
export function checkTlsFiles(tls: TlsSettings): ConfigurationProblem[] {
  const problems: ConfigurationProblem[] = [];
  const read = (name: 'caFile' | 'certificateFile'): string | undefined => {
    const file = tls[name];
    if (file === undefined) return undefined;
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      problems.push({
        path: `service.tls.${name}`,
        message: `the file can not be read (${(error as NodeJS.ErrnoException).code})`,
        found: file,
        hint: 'create it, or give it to the account that runs Waybill',
      });
      return undefined;
    }
  };
  const ca = read('caFile');
  const cert = read('certificateFile');
  const attempt = (path: string, file: string | undefined, make: () => void, hint: string) => {
    try {
      make();
    } catch (error) {
      const said = (error as { reason?: string; code?: string }).reason ?? (error as { code?: string }).code;
      problems.push({ path, message: `is refused by TLS (${said ?? 'no reason given'})`, found: file ?? '', hint });
    }
  };
  if (ca !== undefined)
    attempt('service.tls.caFile', tls.caFile, () => createSecureContext({ ca: pemOnly(ca) }), 'it has to be PEM');
  const { key, passphrase } = tls;
  if (cert !== undefined && key !== undefined)
    attempt(
      'service.tls.certificateFile',
      tls.certificateFile,
      () =>
        createSecureContext({
          cert,
          key: key.reveal(),
          ...(passphrase ? { passphrase: passphrase.reveal() } : {}),
        }),
      'check that certificate, private key and passphrase belong together, and that both files are PEM',
    );
  return problems;
}

/** OpenSSL takes a file without a single certificate for an empty list of authorities. */
function pemOnly(text: string): string {
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw Object.assign(new Error('no certificate'), { reason: 'no certificate in it' });
  return text;
}
