import { redact } from '../model/redact.js';

const maxExcerpt = 500;

/**
 * A bounded excerpt of a body for the audit, with everything taken out that looks like a credential, and without control
 * characters, which would reach the terminal of whoever reads it.
 * @param secrets the values that are known, e.g. the token in use
 */
export function excerptOf(body: string, secrets: readonly string[]): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: see above
  const plain = redact(body, secrets).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, ' ');
  return plain.slice(0, maxExcerpt);
}
