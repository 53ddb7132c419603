import { type App, secretsOf } from '../app.js';
import { loadSettings } from '../config/load-settings.js';
import { Secret } from '../model/secret.js';

/** What a running daemon takes over. The service's credential is read by its client, from the files that it watches. */
const taken = /^(log\.level|service\.(token|credential\.clientSecret|tls\.(key|passphrase)|proxy\.password))$/;

/** Takes over log level and credential from the settings as they are now. Wrong settings are logged and change nothing. */
export function reload({ settings, log, secrets, client }: App, configDir: string | undefined): void {
  try {
    const fresh = loadSettings({ configDir }).settings;
    for (const secret of secretsOf(fresh)) secrets.add(secret);
    client().readFilesAgain();
    log.level = fresh.log.level;
    const needRestart = [...differences(settings, fresh)].filter((path) => !taken.test(path));
    log.info('Reloaded credential and log level', { logLevel: fresh.log.level });
    if (needRestart.length > 0)
      log.warn('Other settings have changed, and wait for a restart', { settings: needRestart });
  } catch (error) {
    log.error('Nothing was reloaded', { error: (error as Error).message });
  }
}

/** The settings that differ, by their paths. */
function* differences(before: unknown, after: unknown, path: readonly string[] = []): Generator<string> {
  const [old, fresh] = [before, after].map((value) => (value instanceof Secret ? value.reveal() : value));
  if (isTree(old) && isTree(fresh))
    for (const name of new Set([...Object.keys(old), ...Object.keys(fresh)]))
      yield* differences(old[name], fresh[name], [...path, name]);
  else if (old !== fresh) yield path.join('.');
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
