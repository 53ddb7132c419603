import { webhookSecretProblem } from '../model/webhook-secret-problem.js';
import type { ConfigurationProblem } from './configuration-error.js';
import { readSecretFile } from './read-secret-file.js';
import type { WebhookSettings } from './sections/webhooks.js';

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
