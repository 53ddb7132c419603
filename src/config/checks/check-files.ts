import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Secret, webhookSecretProblem } from '../../model/secret.js';
import type { ConfigurationProblem } from '../configuration-error.js';
import { readSecretFile } from '../sections/secret-file.js';
import type { Settings } from '../settings.js';

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
  { caFile, certificateFile, key, passphrase }: TlsFiles,
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

/** Checks that the files of `webhooks.secretFiles` hold secrets that can be used. */
export function checkWebhookSecrets(webhooks: Settings['webhooks']) {
  const problems: ConfigurationProblem[] = [];
  const warnings: string[] = [];
  for (const [index, file] of webhooks.enabled ? webhooks.secretFiles.entries() : []) {
    const path = `webhooks.secretFiles.${index}`;
    const read = readSecretFile(file);
    if ('fault' in read) {
      problems.push({ path, message: `the file ${read.fault}`, found: file, hint: read.hint });
      continue;
    }
    const problem = webhookSecretProblem(webhooks.scheme, read.secret.reveal());
    if (problem)
      problems.push({ path, message: `the secret in the file ${problem}`, found: file, hint: 'copy it again' });
    if (read.warning !== undefined) warnings.push(read.warning);
  }
  return { problems, warnings };
}

/** Checks that the file of `desk.usersFile` can be read: without it no person can sign in. */
export function checkDeskUsers({ enabled, usersFile }: Settings['desk']) {
  const problems: ConfigurationProblem[] = [];
  const warnings: string[] = [];
  const read = enabled ? readSecretFile(usersFile) : { warning: undefined };
  if ('fault' in read) {
    const hint = 'put the line into it that `waybill desk user NAME --role act` prints';
    problems.push({ path: 'desk.usersFile', message: `the file ${read.fault}`, found: usersFile, hint });
  } else if (read.warning !== undefined) warnings.push(read.warning);
  return { problems, warnings };
}
