import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Logger } from 'winston';
import { type App, openApp, secretsOf } from '../app.js';
import { loadSettings } from '../config/load-settings.js';
import type { AlertSettings } from '../config/sections/alert.js';
import { runSchedule } from '../daemon/schedule.js';
import type { TellAlert } from '../daemon/tell-alerts.js';
import type { Desk } from '../desk/desk.js';
import type { DeskParts } from '../desk/tools.js';
import { ErpError } from '../erp/erp-reader.js';
import { endForgeries, receiveWebhooks, type WebhookReceiver } from '../inbound/webhooks/receive-webhooks.js';
import { Secret } from '../model/secret.js';
import { runAlertCommand } from '../ops/alert-command.js';
import { postAlert } from '../ops/alert-webhook.js';
import { createLogger } from '../ops/logger.js';
import { logWhatIsPrinted } from '../ops/printed-lines.js';
import { ServiceManager } from '../ops/service-manager.js';
import { StoreError } from '../store/store-error.js';
import { type CommonOptions, describeCommand, exitCode } from './command.js';
import { removeLeftScratch } from './given-file.js';
import { stopSignal } from './terminal/stop-signal.js';
import { goOnWithoutRoom, hideFromErrors } from './terminal/streams.js';

const storeWaitMs = 5_000;
const lingerMs = 2_000;

export function daemonCommand(): Command {
  return describeCommand(
    'daemon',
    'Capture, deliver and pull on schedule until SIGTERM. SIGHUP reloads credential and log level. A second daemon on the same store stands by.',
    'waybill daemon --config /etc/waybill',
  ).action(runDaemon);
}

async function runDaemon(options: CommonOptions): Promise<void> {
  const early = createLogger({ level: 'info', stream: 'stdout', secrets: [] });
  const logNow = () => app?.log ?? early;
  logWhatIsPrinted(logNow);
  goOnWithoutRoom();
  const manager = new ServiceManager(process.env, logNow);
  const stop = stopSignal(
    (name) => {
      app?.log.info('Stopping', { signal: name });
      void manager.tell('STOPPING=1');
    },
    ['SIGTERM', 'SIGINT'],
  );
  let app: App | null = null;
  let listener: WebhookReceiver | null = null;
  let desk: Desk | null = null;
  // Until the daemon has started there is nothing to reload.
  process.on('SIGHUP', () => {
    if (!app) return;
    void manager.tell('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`);
    void reload(app, options.config).then(() => manager.tell('READY=1'));
  });
  try {
    app = await openWhenReachable(options, stop.signal, manager, early);
    if (!app) return;
    const { context, log, secrets, settings } = app;
    const { store } = app;
    // Nothing that it does from here on would be on record.
    const moved = new Promise<never>((_, reject) => {
      store.onMoved = reject;
    });
    moved.catch((error: Error) => log.error(error.message));
    await removeLeftScratch(settings);
    await checkMapping(app);
    log.info('Started', {
      installation: settings.installation,
      environment: settings.service.environment,
      pid: process.pid,
    });
    void manager.tell('READY=1', 'STATUS=Started');
    stop.signal.addEventListener('abort', () => {
      setTimeout(() => {
        // This is safe: a request under way is on record as an attempt without an outcome.
        log.warn('The drain took too long. The next daemon will treat the requests under way as in doubt');
        process.exit(exitCode.done);
      }, settings.delivery.drainSeconds * 1000).unref();
    });
    const webhooks = new EventEmitter();
    const onEvent = () => webhooks.emit('event');
    if (settings.webhooks.enabled) listener = await receiveWebhooks(context, { knownSecrets: secrets, onEvent });
    else await endForgeries(context);
    const partners = {
      reader: await app.reader(),
      client: await app.client(),
      writer: await app.writer(),
      tell: tellerOf(settings.alert, secrets.all),
      webhooks,
      beat: () => manager.beat(),
    };
    if (settings.desk.enabled) desk = await openDesk(app);
    await Promise.race([runSchedule(context, partners, stop.signal), moved]);
    log.info('Stopped');
  } finally {
    stop.release();
    manager.close();
    await desk?.close();
    await listener?.close();
    await app?.close();
    // A connection that neither answers nor breaks must not keep a daemon that has ended from being started again.
    setTimeout(() => process.exit(), lingerMs).unref();
  }
  process.exitCode = exitCode.done;
}

/** Tells the program and the webhook of the settings. If one of them fails, both are told again. */
function tellerOf(
  { command, webhookUrl, timeoutSeconds }: AlertSettings,
  secrets: readonly string[],
): TellAlert | null {
  const timeoutMs = timeoutSeconds * 1000;
  if (command === undefined && webhookUrl === undefined) return null;
  return async (notice, signal) => {
    if (webhookUrl) await postAlert({ url: webhookUrl.reveal(), timeoutMs, secrets }, notice, signal);
    if (command) await runAlertCommand({ command, timeoutMs, secrets }, notice, signal);
  };
}

/** Loaded only here: no other command needs a web server. Delivery goes on without it, as where another daemon has its port. */
export async function openDesk({ context, reader: openReader, secrets, originOf }: App): Promise<Desk | null> {
  try {
    const { startDesk } = await import('../desk/desk.js');
    const reader = await openReader();
    const { readErpNow } = await import('../operator/values/record-values.js');
    const erpNow: DeskParts['erpNow'] = (...record) => readErpNow(reader, ...record);
    return await startDesk({ context, erpNow, erpIdentity: reader.identity(), secrets: secrets.all, originOf });
  } catch (error) {
    context.log.error('The desk could not be opened', { error: (error as Error).message });
    return null;
  }
}

/** Waits for the store: at boot the database often comes up later than Waybill. @returns null when told to stop meanwhile */
async function openWhenReachable(
  options: CommonOptions,
  signal: AbortSignal,
  manager: ServiceManager,
  log: Logger,
): Promise<App | null> {
  while (!signal.aborted) {
    manager.beat();
    try {
      return await openApp({ configDir: options.config, role: 'daemon', log: 'stdout', hide: hideFromErrors });
    } catch (error) {
      if (!(error instanceof StoreError && error.unreachable)) throw error;
      // The settings are right, so systemd need not wait; it would take a start that lasts for a failed one.
      void manager.tell('READY=1', 'STATUS=Waiting for the store');
      log.error('Waiting for the store', { error: error.message, againInSeconds: storeWaitMs / 1000 });
      await sleep(storeWaitMs, undefined, { signal }).catch(() => undefined);
    }
  }
  return null;
}

/**
 * Reports a mapping that names a missing column at once, because that is a wrong configuration. An ERP that can't be
 * reached may come back later, and what is in the outbox already need not wait for it.
 */
async function checkMapping({ reader, log }: App): Promise<void> {
  try {
    await (await reader()).check();
  } catch (error) {
    if (!(error instanceof ErpError && error.kind === 'unreachable')) throw error;
    log.warn('The ERP cannot be reached yet, so its mapping was not checked', { error: error.message });
  }
}

/** The work that a running daemon takes over. The service's credential is read by its client, from the files that it watches. */
const taken = /^(log\.level|service\.(token|credential\.clientSecret|tls\.(key|passphrase)|proxy\.password))$/;

/** Takes over log level and credential from the settings as they are now. Wrong settings are logged and change nothing. */
async function reload({ settings, log, secrets, client }: App, configDir: string | undefined): Promise<void> {
  try {
    const fresh = loadSettings({ configDir }).settings;
    for (const secret of secretsOf(fresh)) secrets.add(secret);
    (await client()).readFilesAgain();
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
