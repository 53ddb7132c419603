import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Secret } from '../model/secret.js';
import { checkSettings } from './check-settings.js';
import { ConfigurationError } from './configuration-error.js';
import { environmentOverrides } from './environment-overrides.js';
import { checkNamedSources, readTwice, resolveSourceSecrets } from './named-sources.js';
import { readSettingsFiles } from './read-settings-files.js';
import { refuseSecretsInFiles, resolveSecrets } from './resolve-secrets.js';
import { onServer } from './sections/database-server.js';
import { checkDeskUsers } from './sections/desk.js';
import { withErpPaths } from './sections/erp.js';
import { adviseOrders } from './sections/orders.js';
import { adviseCancelled } from './sections/record-mapping.js';
import { resolveService } from './sections/service.js';
import { withStorePaths } from './sections/store.js';
import { checkTlsFiles, withPemPaths } from './sections/tls-files.js';
import { adviseWebhooks, checkWebhookSecrets } from './sections/webhooks.js';
import type { Settings } from './settings.js';
import { setIn } from './tree-path.js';

interface LoadOptions {
  /** Configuration folder. Default: $WAYBILL_CONFIG, else `config` in the working folder. */
  configDir?: string | undefined;
  /** Default: the environment of this process. */
  env?: NodeJS.ProcessEnv | undefined;
}

export interface LoadedSettings {
  /** Complete, checked and deeply frozen; every path in them is absolute. */
  settings: Settings;
  /** Settings that work but deserve a look, such as a secret file that every account may read. */
  warnings: string[];
  /** Absolute path of the configuration folder. */
  configDir: string;
  /** Absolute paths of the files that were read, in the order in which they were merged. */
  files: string[];
  /**
   * The place of a setting: a line of a file, or a variable of the environment; undefined: nowhere, so that its default
   * holds.
   */
  originOf: OriginOf;
}

export type OriginOf = (path: readonly (string | number)[]) => string | undefined;

function freezeDeeply<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) freezeDeeply(part);
  }
  return value;
}

function resolvePaths(settings: Settings, configDir: string, env: NodeJS.ProcessEnv): Settings {
  const { erp, store, service, webhooks, desk, writeBack, cluster } = settings;
  return {
    ...settings,
    service: resolveService(service, configDir),
    erp: withErpPaths(erp, configDir),
    writeBack: { ...writeBack, tls: withPemPaths(writeBack.tls, configDir) },
    store: withStorePaths(store, configDir, env),
    cluster: { ...cluster, redis: { ...cluster.redis, tls: withPemPaths(cluster.redis.tls, configDir) } },
    desk: { ...desk, usersFile: resolve(configDir, desk.usersFile) },
    webhooks: { ...webhooks, secretFiles: webhooks.secretFiles.map((file) => resolve(configDir, file)) },
  };
}

/** Every path absolute. Without a named source, nothing says that there could be one. */
function withNamed(settings: Settings, named: Settings[], configDir: string, env: NodeJS.ProcessEnv): Settings {
  const resolved = resolvePaths(settings, configDir, env);
  if (named.length === 0) return resolved;
  return { ...resolved, named: named.map((one) => resolvePaths(one, configDir, env)) };
}

/**
 * Checks settings that were made in the program (a demo, a test) the way a configuration is checked. Secrets may be
 * given as text; paths are relative to the working folder. Throws a ConfigurationError that lists every problem.
 */
export function settingsFrom(given: unknown): Settings {
  const { settings, problems } = checkSettings(given, () => undefined);
  const sources = checkNamedSources(given as Record<string, unknown>, () => undefined);
  if (settings === undefined || sources.problems.length > 0)
    throw new ConfigurationError('the program', [...problems, ...sources.problems]);
  const resolved = withNamed(settings, sources.named, process.cwd(), {});
  const twice = readTwice(resolved);
  if (twice.length > 0) throw new ConfigurationError('the program', twice);
  return freezeDeeply(resolved);
}

let remembered: Map<string, LoadedSettings> | null = null;

/**
 * Reads a folder whose local.yaml says the same once from here on, and forgets what was read before. For tests that run
 * thousands of commands in one process.
 */
export function rememberSettings(): void {
  remembered = new Map();
}

/**
 * Reads the configuration folder, puts the environment over it, finds the secrets, and checks the whole.
 * Throws one ConfigurationError that lists every problem; nothing else has been touched by then.
 */
export function loadSettings(options: LoadOptions = {}): LoadedSettings {
  if (remembered === null) return readSettings(options);
  const folder = String(options.configDir);
  const content = `${folder}\n${readFileSync(join(folder, 'local.yaml'), 'utf8')}`;
  const loaded = remembered.get(content) ?? readSettings(options);
  remembered.set(content, loaded);
  return loaded;
}

function readSettings(options: LoadOptions): LoadedSettings {
  const env = options.env ?? process.env;
  const configDir = resolve(options.configDir ?? (env.WAYBILL_CONFIG || 'config'));
  const environments = (env.NODE_CONFIG_ENV || env.NODE_ENV || '').split(',').filter(Boolean);
  const { merged, files, warnings } = readSettingsFiles(configDir, environments);

  const misplaced = refuseSecretsInFiles(merged, files);
  const { overrides, problems: wrongNames } = environmentOverrides(env);
  for (const { entry, value } of overrides) {
    setIn(merged, entry.segments, entry.node.secret ? new Secret(String(value)) : value);
  }
  const secrets = resolveSecrets(merged, configDir, env);

  const locate: OriginOf = (segments) => {
    const override = overrides.find(({ entry }) => entry.segments.every((part, index) => segments[index] === part));
    if (override !== undefined) return override.entry.environmentName;
    for (const file of files.toReversed()) {
      const line = file.lineOf(segments);
      if (line !== undefined) return `${file.name}:${line}`;
    }
    return undefined;
  };
  const sourceSecrets = resolveSourceSecrets(merged, files, configDir);
  const found = [...misplaced, ...wrongNames, ...secrets.problems, ...sourceSecrets.problems];
  const known = found.flatMap(({ path }) => [path, `${path}File`]);
  const { settings, problems } = checkSettings(merged, locate, known);
  const sources = checkNamedSources(merged, locate);
  const wrong = [...found, ...problems, ...sources.problems];
  if (settings === undefined || wrong.length > 0) throw new ConfigurationError(configDir, wrong);

  const isGiven = (...path: string[]) => locate(path) !== undefined;
  const resolved = withNamed(settings, sources.named, configDir, env);
  const webhookSecrets = checkWebhookSecrets(resolved.webhooks);
  const deskUsers = checkDeskUsers(resolved.desk);
  const { service, erp, store, writeBack, cluster } = resolved;
  const wrongFiles = [
    ...readTwice(resolved),
    ...checkTlsFiles('service.tls', service.tls),
    ...checkTlsFiles('erp.tls', onServer(erp)?.tls),
    ...(resolved.named ?? []).flatMap(({ source, erp }) =>
      checkTlsFiles(`sources.${source}.erp.tls`, onServer(erp)?.tls),
    ),
    ...(onServer(erp) && writeBack.enabled ? checkTlsFiles('writeBack.tls', writeBack.tls) : []),
    ...checkTlsFiles('store.tls', onServer(store)?.tls),
    ...checkTlsFiles('cluster.redis.tls', cluster.redis.tls),
    ...webhookSecrets.problems,
    ...deskUsers.problems,
  ];
  if (wrongFiles.length > 0) throw new ConfigurationError(configDir, wrongFiles);
  return {
    settings: freezeDeeply(resolved),
    warnings: [
      ...warnings,
      ...secrets.warnings,
      ...sourceSecrets.warnings,
      ...webhookSecrets.warnings,
      ...deskUsers.warnings,
      ...adviseWebhooks(settings.webhooks),
      ...adviseOrders(settings.orders, isGiven),
      ...adviseCancelled('customers', settings.customers, isGiven),
    ],
    configDir,
    files: files.map((file) => resolve(file.name)),
    originOf: locate,
  };
}
