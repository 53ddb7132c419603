import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ConfigurationProblem } from './configuration-error.js';
import type { SettingsFile } from './read-settings-files.js';
import { readSecretFile } from './sections/secret-file.js';
import { type SettingEntry, settingList } from './setting-list.js';
import { dropIn, getIn, setIn } from './tree-path.js';

interface ResolvedSecrets {
  problems: ConfigurationProblem[];
  warnings: string[];
}

const secretEntries = settingList.filter((entry) => entry.node.secret);

/** `service.token` → `service-token`, the credential's name under systemd; every word apart, in small letters. */
const credentialName = (entry: SettingEntry) =>
  entry.segments.map((name) => name.replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()).join('-');

const fileSegments = (entry: SettingEntry) => [...entry.segments.slice(0, -1), `${entry.segments.at(-1)}File`];

/**
 * Refuses a secret in any settings file, because such files are copied, mailed and committed.
 * @param within the place of a named source
 */
export function refuseSecretsInFiles(
  merged: Record<string, unknown>,
  files: SettingsFile[],
  within: readonly string[] = [],
): ConfigurationProblem[] {
  const problems: ConfigurationProblem[] = [];
  for (const entry of secretEntries) {
    const segments = [...within, ...entry.segments];
    for (const file of files) {
      const value = getIn(file.content, segments);
      if (value === undefined || value === null) continue;
      problems.push({
        path: segments.join('.'),
        message: 'a secret does not belong in a settings file',
        where: `${file.name}:${file.lineOf(segments) ?? 1}`,
        hint:
          `take it out and change it at its source, if others could read it; then name a file of its own in ` +
          `${[...within, ...fileSegments(entry)].join('.')}${within.length > 0 ? '' : `, or set ${entry.environmentName}`}`,
      });
    }
    dropIn(merged, segments);
  }
  return problems;
}

/**
 * Puts each secret into the settings: from the environment (already there), else from its file, else from systemd's
 * credentials. The `…File` setting then holds the absolute path of the file that was read, so that the secret can be
 * read again when it changes.
 */
export function resolveSecrets(
  merged: Record<string, unknown>,
  configDir: string,
  env: NodeJS.ProcessEnv,
): ResolvedSecrets {
  const problems: ConfigurationProblem[] = [];
  const warnings: string[] = [];
  for (const entry of secretEntries) {
    const place = fileSegments(entry);
    const path = place.join('.');
    // erp.password has no meaning for a SQLite file, so its credential is left alone.
    const owner = entry.only === undefined ? undefined : getIn(merged, entry.only.path.split('.'));
    if (entry.only !== undefined && !(typeof owner === 'string' && entry.only.names.includes(owner))) continue;
    const named = getIn(merged, place);
    if (getIn(merged, entry.segments) !== undefined) {
      if (named !== undefined && named !== null) {
        warnings.push(`${entry.environmentName} is set, so the file in ${path} is not read`);
        dropIn(merged, place);
      }
      continue;
    }
    const credential = env.CREDENTIALS_DIRECTORY && join(env.CREDENTIALS_DIRECTORY, credentialName(entry));
    let file: string | undefined;
    if (typeof named === 'string' && named !== '') file = resolve(configDir, named);
    else if (named === undefined || named === null)
      file = credential && existsSync(credential) ? credential : undefined;
    if (file === undefined) continue;
    setIn(merged, place, file);
    const read = readSecretFile(file);
    if ('fault' in read) {
      problems.push({ path, message: `the file ${read.fault}`, found: file, hint: read.hint });
      continue;
    }
    setIn(merged, entry.segments, read.secret);
    if (read.warning !== undefined) warnings.push(read.warning);
  }
  return { problems, warnings };
}
