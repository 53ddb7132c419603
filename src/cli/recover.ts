import type { Command } from 'commander';
import type { Settings } from '../config/settings.js';
import { previewRecovery, recover } from '../operator/recover.js';
import { keyLifetimeMs, mayBeForgotten, sentUnknownWhen } from '../outbound/outbox/idempotency-key.js';
import type { UnboundFate } from '../outbound/recovery/recover-messages.js';
import type { RecoveryHold } from '../outbound/recovery/store-witness.js';
import { countBindings, readBindings } from './bindings-file.js';
import { type CommandApp, confirm, exitCode, inApp, jsonCommand, parseTime, UsageError } from './command.js';
import { readGivenFile } from './given-file.js';
import { writeError } from './terminal/streams.js';

/** Records that are named on the terminal; `--json` names more. */
const maxNamed = 10;

interface RecoverOptions {
  fromService?: boolean;
  sentSince?: string;
  lookUp?: boolean;
  bindings?: string;
  dryRun?: boolean;
  yes?: boolean;
  reason: string;
}

export function recoverCommand(): Command {
  return jsonCommand(
    'recover',
    'After the store was lost or replaced by an older copy: find out what was sent, and release delivery.',
    'waybill recover --dry-run',
  )
    .option('--bindings <file>', 'take over the bindings that `waybill bindings export` wrote; `-` is stdin')
    .option(
      '--from-service',
      'send again, with the same key and bytes, what may have been sent: the service answers with what it has',
    )
    .option(
      '--sent-since <date>',
      'with --from-service: when the lost store began to send what is still eligible; not needed for a restored copy',
    )
    .option('--look-up', 'ask the service for each record (service.endpoints.lookUpOrder and lookUpCustomer)')
    .option('--dry-run', 'say what would be done; write and send nothing')
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(inApp(recoverStore));
}

async function recoverStore(app: CommandApp, options: RecoverOptions): Promise<number> {
  const { context, settings, output } = app;
  const { environment, baseUrl } = settings.service;
  const reader = await app.reader();
  await reader.check();
  const shown = await previewRecovery(context, reader);
  const { hold, isRekeyed } = shown;
  if (!hold) {
    output.json({ environment, hold: null });
    output.line('There is nothing to recover: no newer store than this one was ever seen here.');
    return exitCode.done;
  }
  if (isRekeyed && options.fromService)
    throw new UsageError(
      "The records got other keys (`waybill rekey`, or `replaces` in the mapping), so what was sent before went out under keys that Waybill can't make again. Use --bindings or --look-up.",
    );
  const { bindings: given, reason } = options;
  // The real run checks the file before it takes over anything; the dry run says now what it would find.
  const listed =
    given && options.dryRun ? await readGivenFile(given, settings, (file) => countBindings(file, settings)) : null;
  const fate = fateOf(options, hold, settings, context.nowMs(), output.time);
  const plan = [
    `Service       ${baseUrl} (${environment})`,
    `Held          ${hold.reason}`,
    `Not proven    ${shown.orders} orders and ${shown.customers} customers may have been sent before`,
    ...(given ? [`First         the ${listed === null ? '' : `${listed} `}records in ${given} are bound again`] : []),
    `Then          ${inWords(fate)}`,
  ];
  for (const line of plan) {
    output.line(line);
    // The person who is asked must see it, and stdout is for the JSON.
    if (output.isJson && !options.yes) writeError(line);
  }
  if (options.dryRun) {
    output.json({ environment, dryRun: true, ...shown, bindings: listed, to: fate.to });
    return exitCode.done;
  }
  if (!(await confirm('Do this, and let delivery go on?', options.yes))) return exitCode.failed;
  const result = given
    ? await readGivenFile(given, settings, (file) =>
        recover(context, reader, { fate, bindings: readBindings(file, settings), reason }),
      )
    : await recover(context, reader, { fate, bindings: null, reason });
  const { bindings: taken, doubtedBindings, to, unbound, unproven } = result;
  output.json({ environment, dryRun: false, ...result });
  output.lines(
    given !== undefined &&
      `${taken.imported} bindings were taken over, and ${taken.removed} records that were removed.`,
    taken.taken > 0 &&
      `${taken.taken} bindings were left out, because another record has their id at the service. Find out which of the two it is, then settle the other one: waybill outbox --state parked`,
    ...taken.refused
      .slice(0, maxNamed)
      .map(
        ({ entity, sourceKey, serviceId, heldBy }) =>
          `  ${entity} ${sourceKey} was to be ${serviceId}, which is ${entity} ${heldBy}`,
      ),
    taken.taken > maxNamed && `  and ${taken.taken - maxNamed} more: waybill audit --outcome binding_refused`,
    doubtedBindings > 0 &&
      `The lost store may have changed ${doubtedBindings} records since: Waybill sends every field of them again (more than capture.maxUpdates wait for: waybill confirm).`,
    to === 'parked'
      ? `${unbound} records wait for a person: waybill outbox --state parked`
      : `${unbound} records are in doubt now. A running daemon settles them. Without one: waybill sync`,
    unproven > 0 &&
      `The lost store may have sent ${unproven} records that were held or refused: waybill outbox --state parked`,
  );
  return unproven > 0 || (to === 'parked' && unbound > 0) ? exitCode.waitsForPerson : exitCode.done;
}

/** What becomes of creates that may have been sent. Only a person can say that the service still knows their keys. */
function fateOf(
  options: RecoverOptions,
  hold: RecoveryHold,
  settings: Settings,
  nowMs: number,
  time: (ms: number) => string,
): UnboundFate {
  const { endpoints, idempotency } = settings.service;
  if (options.sentSince !== undefined && !options.fromService)
    throw new UsageError('--sent-since belongs to --from-service.');
  if (options.lookUp && !endpoints.lookUpOrder)
    throw new UsageError('--look-up needs service.endpoints.lookUpOrder in the settings.');
  if (options.fromService) {
    const stated =
      options.sentSince === undefined ? null : parseTime('--sent-since', options.sentSince, settings.erp.timeZone);
    const sentSince = stated ?? (hold.kind === 'older' ? hold.copyAt : null);
    if (sentSince === null)
      throw new UsageError(
        'Waybill does not know when the lost store began to send what is still eligible. Say it: --from-service --sent-since DATE.',
      );
    if (!mayBeForgotten(sentSince, nowMs, keyLifetimeMs(settings.service))) return { to: 'in_doubt', sentSince };
    if (!options.lookUp)
      throw new UsageError(
        `${time(sentSince)} lies ahead, or longer ago than the service remembers a key (service.idempotency.lifetimeHours: ${idempotency.lifetimeHours ?? 'not set'}), so sending again could make second records. Use --bindings or --look-up.`,
      );
  }
  // A time older than any lifetime of a key: the records are looked up, never resent blindly.
  if (options.lookUp) return { to: 'in_doubt', sentSince: sentUnknownWhen, lookUp: true };
  return { to: 'parked' };
}

function inWords(fate: UnboundFate): string {
  if (fate.to === 'parked') return 'the rest is parked as unproven, for a person to look at';
  if (fate.lookUp) return 'Waybill asks the service for each of the rest';
  return 'the rest is sent once more with its key and bytes; the service answers with what it has, or makes it now. A record whose key is spelled otherwise since would be made twice';
}
