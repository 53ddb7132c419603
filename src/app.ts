import { hostname, userInfo } from 'node:os';
import { ConfigurationError } from './config/configuration-error.js';
import { loadSettings, type OriginOf } from './config/load-settings.js';
import { readSecretFile } from './config/sections/secret-file.js';
import type { Settings } from './config/settings.js';
import type { ErpReader } from './erp/erp-reader.js';
import type { ErpWriter } from './erp/write-back/erp-writer.js';
import { switchWriteBack } from './inbound/write-back/write-back-state.js';
import { KnownSecrets, Secret } from './model/secret.js';
import type { JobContext } from './ops/job-context.js';
import { createLogger } from './ops/logger.js';
import { vanishedSource } from './outbound/capture/sources.js';
import { environmentProblem } from './outbound/deliver/go-live.js';
import { noteEndpoint } from './outbound/deliver/profile-notices.js';
import { holdOlderStore, WitnessKeeper, witnessFilesOf } from './outbound/recovery/store-witness.js';
import type { ServiceClient } from './service/service-client.js';
import { systemClock } from './store/clock.js';
import { openExistingStore, openStore, openStoreForReading, openStoreIfAny } from './store/open-store.js';
import type { Store } from './store/store.js';
import { sharedThread } from './v8.js';
import { factsInWords, tell } from './words/words.js';

interface AppOptions {
  configDir?: string | undefined;
  /** Settings made in the program (the demo) instead of a configuration folder. */
  settings?: Settings;
  /** The actor, for the audit: a command's name or `daemon`. */
  role: string;
  log: 'stdout' | 'stderr';
  /** Told what no output may hold, before anything can fail that knows it. */
  hide?: (secrets: readonly string[]) => void;
  /**
   * Only looks: does not create the store, bring its schema up to date, or write into it. if-any: where there is no store yet, an
   * empty one in memory stands in for it.
   */
  readOnly?: boolean | 'if-any';
  /** Makes no store: without one it fails as `readOnly` does. */
  needsStore?: boolean;
}

/** The parts of Waybill, built once for a command and closed in the opposite order. */
export interface App extends Pick<JobContext, 'settings' | 'store' | 'log'> {
  context: JobContext;
  /** There is no store yet: an empty one stands in for it. */
  isStoreAbsent: boolean;
  /** Texts that no output may hold. It grows with every secret that comes while the program runs. */
  secrets: KnownSecrets;
  /** The place where a setting was given. */
  originOf: OriginOf;
  /** Built when it is first asked for, with the library that it needs: most commands need no ERP, or no service. */
  reader(): Promise<ErpReader>;
  client(): Promise<ServiceClient>;
  /** null: nothing is written back into the ERP. */
  writer(): Promise<ErpWriter | null>;
  close(): Promise<void>;
}

/**
 * Starts settings, log and store, in this order; the ERP and the service when they are needed.
 * @throws ConfigurationError before anything is touched
 */
export async function openApp(options: AppOptions): Promise<App> {
  const loaded = options.settings
    ? { settings: options.settings, warnings: [], originOf: () => undefined }
    : loadSettings({ configDir: options.configDir });
  const { settings } = loaded;
  const secrets = new KnownSecrets(secretsOf(settings));
  options.hide?.(secrets.all);
  const level = options.log === 'stderr' && settings.log.level === 'info' ? 'warn' : settings.log.level;
  const log = createLogger({
    level,
    stream: options.log,
    secrets: secrets.all,
    inWords: (line) => factsInWords(line) as object,
  });
  const { store, warnings, isAbsent = false } = await openerOf(options)(settings.store);
  for (const warning of [...loaded.warnings, ...warnings]) log.warn(warning);
  if (!options.readOnly) store.onWentBack = () => holdOlderStore(store, Date.now());
  let witness: WitnessKeeper | null = null;
  try {
    await checkEnvironment(store, options, settings);
    if (!options.readOnly) {
      await checkSources(store, options, settings);
      // Before anything is written: an older copy of the store must not grow past what its witness remembers.
      const files = witnessFilesOf(settings.store);
      if (files) witness = await WitnessKeeper.start(store, files, log);
      await switchWriteBack(store, settings.writeBack);
    }
  } catch (error) {
    await witness?.stop();
    // An open store keeps the process alive, and a retry opens its own.
    await store.close();
    throw error;
  }

  const actor = actorOf(options.role);
  const context: JobContext = {
    store,
    settings,
    actor,
    log,
    nowMs: Date.now,
    clock: systemClock,
    random: Math.random,
    thread: sharedThread,
  };
  let reader: Promise<ErpReader> | null = null;
  let client: Promise<ServiceClient> | null = null;
  let writer: Promise<ErpWriter | null> | null = null;
  const notices = new Set<Promise<void>>();
  return {
    context,
    isStoreAbsent: isAbsent,
    settings,
    store,
    log,
    secrets,
    originOf: loaded.originOf,
    reader: () => {
      reader ??= import('./erp/open-erp.js').then(({ openSources }) => openSources(settings));
      return reader;
    },
    writer: () => {
      writer ??= import('./erp/open-erp.js').then(({ openErpWriter }) => openErpWriter(settings));
      return writer;
    },
    client: () => {
      client ??= openClient(context, secrets, notices);
      return client;
    },
    close: async () => {
      // A part that could not be opened must not keep the store open: its caller has the error.
      const opened = <T>(part: Promise<T> | null) => part?.catch(() => null);
      (await opened(client))?.close();
      await Promise.all(notices);
      await (await opened(writer))?.close();
      await (await opened(reader))?.close();
      await witness?.stop();
      await store.close();
    },
  };
}

function openerOf({ readOnly, needsStore }: AppOptions) {
  if (readOnly) return readOnly === 'if-any' ? openStoreIfAny : openStoreForReading;
  return needsStore ? openExistingStore : openStore;
}

/** @param notices holds what the client is still writing down, so that the store stays open for it */
async function openClient(
  context: JobContext,
  secrets: KnownSecrets,
  notices: Set<Promise<void>>,
): Promise<ServiceClient> {
  const { ServiceClient } = await import('./service/service-client.js');
  const { settings, log, nowMs, random } = context;
  return new ServiceClient({
    service: settings.service,
    quickResends: settings.delivery.quickResends,
    isShared: settings.cluster.enabled,
    nowMs,
    random,
    secrets,
    warn: (message) => log.warn(message),
    onToken: (fault) => {
      if (fault) log.warn('No access token', { reason: fault.reason });
      else log.info('A new access token');
    },
    onEndpointNotice: (notice) => {
      const noted = noteEndpoint(context, notice)
        .catch((error: Error) => {
          log.error('A notice of the service could not be recorded', { error: error.message });
        })
        .finally(() => notices.delete(noted));
      notices.add(noted);
    },
  });
}

/** @throws ConfigurationError when the store belongs to another environment than the settings name */
async function checkEnvironment(store: Store, { configDir }: AppOptions, { service }: Settings): Promise<void> {
  const { environment } = service;
  const problem = await store.read('read the environment', (tx) => environmentProblem(tx, environment));
  if (problem)
    throw new ConfigurationError(configDir ?? 'the configuration folder', [
      { path: 'service.environment', message: tell(problem), found: environment },
    ]);
}

/** @throws ConfigurationError when messages of a source wait that the settings no longer name: they would wait for ever */
async function checkSources(store: Store, { configDir }: AppOptions, settings: Settings): Promise<void> {
  const gone = await store.read('look for the sources', (tx) => vanishedSource(tx, settings));
  if (gone === null) return;
  const message = 'is no longer in the settings, and messages of it are still to be sent';
  const hint = `put it back, and take it out when they are delivered or closed: waybill outbox --source ${gone}`;
  throw new ConfigurationError(configDir ?? 'the configuration folder', [{ path: `sources.${gone}`, message, hint }]);
}

/** Every secret of the settings, which nothing may print. */
export function secretsOf(settings: Settings): string[] {
  const { webhooks } = settings;
  const ofWebhooks = webhooks.enabled ? webhooks.secretFiles.map(readSecretFile) : [];
  return [...secretsIn(settings), ...ofWebhooks.flatMap((read) => ('secret' in read ? [read.secret.reveal()] : []))];
}

/** Private keys are not among them: every output knows one by its form. */
function secretsIn(value: unknown): string[] {
  if (value instanceof Secret) return value.reveal().includes('PRIVATE KEY-----') ? [] : [value.reveal()];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(secretsIn) : [];
}

/** The actor, for the audit: the daemon, or the login of the operator (the one behind sudo, if there is one). */
function actorOf(role: string): string {
  const who = role === 'daemon' ? role : `${process.env.SUDO_USER ?? userInfo().username} (${role})`;
  return `${who}@${hostname()}:${process.pid}`;
}
