import { hostname, userInfo } from 'node:os';
import type { Logger } from 'winston';
import { ConfigurationError } from './config/configuration-error.js';
import { loadSettings } from './config/load-settings.js';
import type { Settings } from './config/settings.js';
import type { ErpReader } from './erp/erp-reader.js';
import { openErpReader, openErpWriter } from './erp/open-erp.js';
import type { ErpWriter } from './erp/write-back/erp-writer.js';
import { switchWriteBack } from './inbound/write-back/write-back-state.js';
import { KnownSecrets } from './model/secret.js';
import type { JobContext } from './ops/job-context.js';
import { createLogger } from './ops/logger.js';
import { environmentProblem } from './outbound/deliver/go-live.js';
import { noteEndpoint } from './outbound/deliver/profile-notices.js';
import { WitnessKeeper } from './outbound/recovery/store-witness.js';
import { ServiceClient } from './service/service-client.js';
import { systemClock } from './store/clock.js';
import { openStore, openStoreForReading } from './store/open-store.js';
import type { Store } from './store/store.js';

export interface AppOptions {
  configDir?: string | undefined;
  /** Settings made in the program (the demo) instead of a configuration folder. */
  settings?: Settings;
  /** What acts, for the audit: a command's name or `daemon`. */
  role: string;
  log: 'stdout' | 'stderr';
  /** Only looks: neither makes a store, nor brings its schema up to date, nor writes into it. */
  readOnly?: boolean;
}

/** The parts of Waybill, built once for a command and closed in the opposite order. */
export interface App {
  context: JobContext;
  settings: Settings;
  store: Store;
  log: Logger;
  /** What no output may hold; it grows with every secret that comes while the program runs. */
  secrets: readonly string[];
  /** Adds a secret that came while the program runs. */
  rememberSecret: (secret: string) => void;
  /** Built when it is first asked for: most commands need no ERP. */
  reader(): ErpReader;
  client(): ServiceClient;
  /** null: nothing is written back into the ERP. */
  writer(): ErpWriter | null;
  close(): Promise<void>;
}

/**
 * Start order: settings, log, store; the ERP and the service when they are needed. A wrong configuration throws before
 * anything is touched.
 */
export async function openApp(options: AppOptions): Promise<App> {
  const loaded = options.settings
    ? { settings: options.settings, warnings: [] }
    : loadSettings({ configDir: options.configDir });
  const { settings } = loaded;
  const secrets = new KnownSecrets(secretsOf(settings));
  const level = options.log === 'stderr' && settings.log.level === 'info' ? 'warn' : settings.log.level;
  const log = createLogger({ level, stream: options.log, secrets: secrets.all });

  const { store, warnings } = await (options.readOnly ? openStoreForReading : openStore)(settings.store);
  for (const warning of [...loaded.warnings, ...warnings]) log.warn(warning);
  const problem = await store
    .read('read the environment', (tx) => environmentProblem(tx, settings.service.environment))
    .catch(async (error) => {
      // Whoever tries again opens another one; this one would keep the process alive after its end.
      await store.close();
      throw error;
    });
  if (problem) {
    await store.close();
    throw new ConfigurationError(options.configDir ?? 'the configuration folder', [
      { path: 'service.environment', message: problem, found: settings.service.environment },
    ]);
  }

  let witness: WitnessKeeper | null = null;
  if (!options.readOnly)
    try {
      // Before anything is written: an older copy of the store must not grow past what its witness remembers.
      if (settings.store.witnessFile) witness = await WitnessKeeper.start(store, settings.store.witnessFile, log);
      await switchWriteBack(store, settings.writeBack);
    } catch (error) {
      await witness?.stop();
      await store.close();
      throw error;
    }

  const actor =
    options.role === 'daemon'
      ? `daemon@${hostname()}:${process.pid}`
      : `${operator()} (${options.role})@${hostname()}:${process.pid}`;
  let reader: ErpReader | null = null;
  let client: ServiceClient | null = null;
  let writer: ErpWriter | null = null;
  const noticing = new Set<Promise<void>>();
  const context: JobContext = { store, settings, actor, log, nowMs: Date.now, clock: systemClock, random: Math.random };
  return {
    context,
    settings,
    store,
    log,
    secrets: secrets.all,
    rememberSecret: (secret) => secrets.add(secret),
    reader: () => {
      reader ??= openErpReader(settings);
      return reader;
    },
    writer: () => {
      writer ??= openErpWriter(settings);
      return writer;
    },
    client: () => {
      client ??= new ServiceClient({
        service: settings.service,
        quickResends: settings.delivery.quickResends,
        nowMs: Date.now,
        secrets,
        warn: (message) => log.warn(message),
        onToken: (fault) => {
          if (fault) log.warn('No access token', { reason: fault.reason });
          else log.info('A new access token');
        },
        onEndpointNotice: (notice) => {
          const noted = noteEndpoint(context, notice)
            .catch((error: Error) => {
              log.error('A notice of the service is not on record', { error: error.message });
            })
            .finally(() => noticing.delete(noted));
          noticing.add(noted);
        },
      });
      return client;
    },
    close: async () => {
      client?.close();
      await Promise.all(noticing);
      await writer?.close();
      await reader?.close();
      await witness?.stop();
      await store.close();
    },
  };
}

/** Everything that must never be printed. */
export function secretsOf(settings: Settings): string[] {
  const { erp, store, service } = settings;
  const secrets = [
    service.token,
    service.credential.kind === 'oauth' ? service.credential.clientSecret : undefined,
    service.tls.passphrase,
    service.proxy?.password,
    erp.type === 'sqlite' ? undefined : erp.password,
    store.type === 'sqlite' ? undefined : store.password,
    settings.writeBack.password,
  ];
  return secrets.flatMap((secret) => (secret ? [secret.reveal()] : []));
}

/** Who sits in front of the terminal: the login behind sudo, if there is one. */
function operator(): string {
  return process.env.SUDO_USER ?? userInfo().username;
}
