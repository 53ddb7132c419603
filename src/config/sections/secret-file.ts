import { readFileSync, statSync } from 'node:fs';
import { Secret } from '../../model/secret.js';

const largestBytes = 65_536;

type SecretFile = { secret: Secret; warning?: string } | { fault: string; hint: string };

/**
 * Reads a secret from a file, less one line break at its end. Called again when a secret is rotated.
 * A file that other accounts may read gives a warning, not an error: refusing it would stop a working connector.
 */
export function readSecretFile(file: string): SecretFile {
  let text: string;
  let mode: number;
  try {
    const facts = statSync(file);
    // A pipe would block here, and could not be read a second time.
    if (!facts.isFile())
      return { fault: 'is not a regular file', hint: 'name a file that holds nothing but the secret' };
    if (facts.size > largestBytes) {
      return { fault: 'is far too large for a secret', hint: 'name a file that holds nothing but the secret' };
    }
    mode = facts.mode;
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { fault: 'does not exist', hint: 'create the file' };
    if (code === 'EACCES' || code === 'EPERM') {
      return { fault: 'may not be read by this account', hint: 'give the file to the account that runs Waybill' };
    }
    return { fault: `can not be read (${code})`, hint: 'check the file' };
  }
  const value = text.replace(/\r?\n$/, '');
  if (value.trim() === '') return { fault: 'is empty', hint: 'write the secret into it' };
  const secret = new Secret(value);
  if ((mode & 0o007) === 0) return { secret };
  return { secret, warning: `${file} may be read by every account on this machine; run: chmod o-rwx ${file}` };
}
