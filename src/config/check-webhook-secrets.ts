import type { ConfigurationProblem } from './configuration-error.js';
import { readSecretFile } from './read-secret-file.js';
import type { WebhookSettings } from './webhook-settings.js';

/** Whether the files of `webhooks.secretFiles` hold secrets that can be used. */
export function checkWebhookSecrets(webhooks: WebhookSettings): {
  problems: ConfigurationProblem[];
  warnings: string[];
} {
  const problems: ConfigurationProblem[] = [];
  const warnings: string[] = [];
  if (!webhooks.enabled) return { problems, warnings };
  for (const [i, file] of webhooks.secretFiles.entries()) {
    const path = `webhooks.secretFiles.${i}`;
    const read = readSecretFile(file);
    if ('fault' in read) {
      problems.push({ path, message: `the file ${read.fault}`, found: file, hint: read.hint });
      continue;
    }
    const odd = webhookSecretProblem(webhooks.scheme, read.secret.reveal());
    if (odd) problems.push({ path, message: `the secret in the file ${odd}`, found: file, hint: 'copy it again' });
    if (read.warning !== undefined) warnings.push(read.warning);
  }
  return { problems, warnings };
}

/** Why a text can't be a signing secret, or null. The standard's secrets are base64 of 24 to 64 bytes. Pure. */
export function webhookSecretProblem(scheme: WebhookSettings['scheme'], secret: string): string | null {
  if (scheme === 'hmac') return secret.length < 16 ? 'has fewer than 16 characters' : null;
  const text = secret.replace(/^whsec_/, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.length % 4 !== 0)
    return 'is not base64, with or without whsec_ before it';
  const bytes = Buffer.from(text, 'base64').length;
  return bytes < 24 || bytes > 64 ? `has ${bytes} bytes; Standard Webhooks asks for 24 to 64` : null;
}
