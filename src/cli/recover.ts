import type { Command } from 'commander';
import { DateTime } from 'luxon';
import type { Settings } from '../config/settings.js';
import { previewRecovery, recover } from '../operator/recover.js';
import type { UnboundFate } from '../outbound/recovery/recover-messages.js';
import type { RecoveryHold } from '../outbound/recovery/store-witness.js';
import { readBindings } from './bindings-file.js';
import { type CommonOptions, describeCommand, exitCode, print, printJson, UsageError, withApp } from './command.js';
import { confirm } from './terminal/confirm.js';

interface RecoverCommandOptions extends CommonOptions {
  fromService?: boolean;
  sentSince?: string;
  lookUp?: boolean;
  bindings?: string;
  dryRun?: boolean;
  yes?: boolean;
  reason: string;
}

export function recoverCommand(): Command {
  return describeCommand({
    name: 'recover',
    summary: 'After the store was lost or an older copy restored: learn again what was sent, and let delivery go on.',
    example: 'waybill recover --dry-run',
    json: true,
  })
    .option('--bindings <file>', 'take over what `waybill bindings export` wrote')
    .option(
      '--from-service',
      'send what may have been sent once more with its key and bytes: the service answers with what it has',
    )
    .option(
      '--sent-since <date>',
      'with --from-service: nothing that is still to be sent went out before this time. Of a restored copy it is known',
    )
    .option('--look-up', 'ask the service for each record (service.endpoints.lookUpOrder and lookUpCustomer)')
    .option('--dry-run', 'say what would be done, write and send nothing')
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(async (options: RecoverCommandOptions) => {
      await withApp('recover', options, async (app) => {
        const { context, settings } = app;
        const reader = app.reader();
        await reader.check();
        const shown = await previewRecovery(context, reader);
        const { hold } = shown;
        if (!hold) {
          if (options.json) printJson({ environment: settings.service.environment, hold: null });
          else print('There is nothing to recover: the store is the newest one that was seen here.');
          return exitCode.done;
        }
        const fate = fateOf(options, hold, settings, context.nowMs());
        if (!options.json || !options.yes) {
          const out = options.json ? (text: string) => void process.stderr.write(`${text}\n`) : print;
          out(`Service       ${settings.service.baseUrl} (${settings.service.environment})`);
          out(`Held          ${hold.reason}`);
          out(`Not proven    ${shown.orders} orders and ${shown.customers} customers may have been sent before`);
          if (options.bindings) out(`First         those that ${options.bindings} knows are bound again`);
          out(`Then          ${inWords(fate)}`);
        }
        if (options.dryRun) {
          if (options.json)
            printJson({ environment: settings.service.environment, dryRun: true, ...shown, to: fate.to });
          return exitCode.done;
        }
        if (!(await confirm('Do this, and let delivery go on?', options.yes))) return exitCode.failed;
        const result = await recover(context, reader, {
          fate,
          bindings: options.bindings ? readBindings(options.bindings, settings) : null,
          reason: options.reason,
        });
        if (options.json) printJson({ environment: settings.service.environment, dryRun: false, ...result });
        else {
          const { bindings } = result;
          if (options.bindings)
            print(`${bindings.imported} bindings were taken over, and ${bindings.removed} records that were removed.`);
          if (result.doubtedBindings > 0)
            print(
              `${result.doubtedBindings} records may have been changed since by what was lost: every field of them is sent again (more than capture.maxUpdates wait for: waybill confirm).`,
            );
          print(
            result.to === 'parked'
              ? `${result.unbound} records wait for a person: waybill outbox --state parked`
              : `${result.unbound} records are in doubt now; a running daemon settles them, or: waybill sync`,
          );
          if (result.unproven > 0)
            print(
              `${result.unproven} records that were held or refused may have been let go since: waybill outbox --state parked`,
            );
        }
        const parked = result.unproven + (result.to === 'parked' ? result.unbound : 0);
        return parked > 0 ? exitCode.waitsForPerson : exitCode.done;
      });
    });
}

/** What becomes of creates that may have been sent. A key is only used again by one who can say that the service still knows it. */
function fateOf(options: RecoverCommandOptions, hold: RecoveryHold, settings: Settings, nowMs: number): UnboundFate {
  const { endpoints, idempotency } = settings.service;
  if (options.sentSince !== undefined && !options.fromService)
    throw new UsageError('--sent-since belongs to --from-service.');
  if (options.lookUp && !endpoints.lookUpOrder)
    throw new UsageError('--look-up needs service.endpoints.lookUpOrder in the settings.');
  if (options.fromService) {
    const stated = options.sentSince === undefined ? null : dateOf(options.sentSince, settings.erp.timeZone);
    const sentSince = stated ?? (hold.kind === 'older' ? hold.copyAt : null);
    if (sentSince === null)
      throw new UsageError(
        'Nothing says when the lost store began to send what is still eligible. Say it: --from-service --sent-since DATE.',
      );
    if (nowMs - sentSince < idempotency.lifetimeHours * 3_600_000) return { to: 'in_doubt', sentSince };
    if (!options.lookUp)
      throw new UsageError(
        `${new Date(sentSince).toISOString()} is longer ago than the service remembers a key (service.idempotency.lifetimeHours: ${idempotency.lifetimeHours}), so that sending again could make second records. Use --bindings or --look-up.`,
      );
  }
  // Older than any lifetime of a key: looked up, never resent blindly.
  if (options.lookUp) return { to: 'in_doubt', sentSince: 1, lookUp: true };
  return { to: 'parked' };
}

function dateOf(text: string, zone: string): number {
  const date = DateTime.fromISO(text, { zone });
  if (!date.isValid) throw new UsageError(`--sent-since ${text} is no date. Write it as 2026-11-21T08:00.`);
  return date.toMillis();
}

function inWords(fate: UnboundFate): string {
  if (fate.to === 'parked') return 'the rest is parked as unproven, for a person to look at';
  if (fate.lookUp) return 'the rest is looked up at the service, one by one';
  return 'the rest is sent once more with its key and bytes; the service answers with what it has, or makes it now';
}
