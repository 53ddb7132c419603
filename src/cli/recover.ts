import type { Command } from 'commander';
import type { Settings } from '../config/settings.js';
import {
  type ForeseenRecovery,
  keepSameStore,
  previewRecovery,
  type RecoverResult,
  readRecoveryState,
  recover,
} from '../operator/recover.js';
import { kindsInSideTables, sideTableBindings } from '../operator/side-table-bindings.js';
import { keyLifetimeMs, mayBeForgotten } from '../outbound/outbox/idempotency-key.js';
import { withoutFirstKeys } from '../outbound/recovery/first-keys.js';
import type { UnboundFate } from '../outbound/recovery/recover-messages.js';
import type { RecoveryHold } from '../outbound/recovery/store-witness.js';
import type { ExportedBindings, RefusedBinding } from '../outbound/recovery/take-over-bindings.js';
import { openBindings } from './bindings-file.js';
import { type CommandApp, confirm, exitCode, inApp, jsonCommand, parseTime, UsageError } from './command.js';
import { readGivenFile } from './given-file.js';
import { writeError } from './terminal/streams.js';

/** Records that are named on the terminal; `--json` names more. */
const maxNamed = 10;

interface RecoverOptions {
  fromService?: boolean;
  sentSince?: string;
  firstKeys?: boolean;
  lookUp?: boolean;
  park?: boolean;
  bindings?: string;
  sideTables?: boolean;
  sameStore?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  reason?: string;
}

export function recoverCommand(): Command {
  return jsonCommand(
    'recover',
    'After the store was lost or replaced by an older copy: find out what was sent, and release delivery. An option that says how starts a recovery also where Waybill knows of no loss, such as after the witness was lost too.',
    'waybill recover --dry-run',
  )
    .option('--bindings <file>', 'take over the bindings that `waybill bindings export` wrote; `-` is stdin')
    .option('--side-tables', 'take over the ids that the write-back has put into the side tables of the ERP')
    .option(
      '--from-service',
      'send again, with the same key and bytes, what may have been sent: the service answers with what it has',
    )
    .option(
      '--sent-since <date>',
      'with --from-service: when the lost store began to send what is still eligible; not needed for a restored copy',
    )
    .option(
      '--first-keys',
      'with --from-service: you vouch that no record was sent again under a later key; without it Waybill asks the service, or a person, where it can not know',
    )
    .option('--look-up', 'ask the service for each record (service.endpoints.lookUpOrder and lookUpCustomer)')
    .option('--park', 'park what nothing proves, for a person to look at; so it is without another option, too')
    .option('--same-store', 'only the witness file was lost: the store is the one that ran last, and no copy')
    .option('--dry-run', 'say what would be done; write and send nothing')
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit')
    .action(inApp(recoverStore));
}

async function recoverStore(app: CommandApp, options: RecoverOptions): Promise<number> {
  checkOptions(options, app.settings);
  const { hold, ...known } = await readRecoveryState(app.context);
  if (options.sameStore) return sayItIsTheSame(app, options, hold);
  const isAsked = [options.bindings, options.sideTables, options.fromService, options.lookUp, options.park].some(
    Boolean,
  );
  if (!hold && !isAsked) return sayNothingIsLost(app, options);
  const { bindings: given } = options;
  if (options.sideTables) {
    const writer = await app.writer();
    if (writer === null) throw new UsageError(noSideTables);
    const said = { name: 'the side tables of the ERP', exportedAt: null };
    return recoverBy(app, options, hold, { ...sideTableBindings(app.context, writer), ...said }, known);
  }
  if (given === undefined) return recoverBy(app, options, hold, null, known);
  return readGivenFile(given, app.settings, async (file) => {
    const exported = await openBindings(file, app.settings);
    return recoverBy(
      app,
      options,
      hold,
      { ...exported, name: given },
      { ...known, isRekeyed: known.isRekeyed || exported.rekeyedAt !== null },
    );
  });
}

/** @throws UsageError for an option that would have no effect beside the others */
function checkOptions(options: RecoverOptions, settings: Settings): void {
  const given = {
    '--bindings': options.bindings,
    '--side-tables': options.sideTables,
    '--from-service': options.fromService,
    '--sent-since': options.sentSince,
    '--first-keys': options.firstKeys,
    '--look-up': options.lookUp,
    '--park': options.park,
  };
  const named = Object.entries(given).flatMap(([name, value]) => (value ? [name] : []));
  if (options.sameStore && named.length > 0)
    throw new UsageError(`--same-store says that nothing was lost, and ${named.join(' and ')} that something was.`);
  const fates = named.filter((name) => ['--from-service', '--look-up', '--park'].includes(name));
  if (fates.length > 1)
    throw new UsageError(`${fates.join(' and ')} say different things of the same records. Give one of them.`);
  if (options.sideTables && options.bindings !== undefined)
    throw new UsageError('--bindings and --side-tables name two sources of the same. Give the newer one of them.');
  if (options.sideTables && (!settings.writeBack.enabled || kindsInSideTables({ settings }).length === 0))
    throw new UsageError(noSideTables);
  if (options.sentSince !== undefined && !options.fromService)
    throw new UsageError('--sent-since belongs to --from-service.');
  if (options.firstKeys && !options.fromService) throw new UsageError('--first-keys belongs to --from-service.');
  if (options.lookUp && !settings.service.endpoints.lookUpOrder)
    throw new UsageError('--look-up needs service.endpoints.lookUpOrder in the settings.');
}

const noSideTables =
  '--side-tables needs writeBack.enabled, and side tables of orders or customers: statements of the settings write where Waybill can not read.';

/** Advice for a store that was lost together with its witness, in the words of the command line. */
export const lostWithWitness =
  'If a store was lost together with its witness (a new disk, a new machine), say how to find out what it had sent: waybill recover --bindings FILE (an export), --side-tables (of the write-back), --look-up, --from-service --sent-since DATE, or --park.';

function sayNothingIsLost({ output, settings }: CommandApp, { reason }: RecoverOptions): number {
  const plain = 'There is nothing to recover: no newer store than this one was ever seen here. Nothing was changed.';
  if (reason !== undefined)
    throw new UsageError(`${plain} So there is nothing that --reason could give a reason for. ${lostWithWitness}`);
  output.json({ environment: settings.service.environment, hold: null });
  output.lines(plain, lostWithWitness);
  return exitCode.done;
}

async function sayItIsTheSame(
  { context, output, settings }: CommandApp,
  { dryRun, yes, reason }: RecoverOptions,
  hold: RecoveryHold | null,
): Promise<number> {
  if (!hold) throw new UsageError('Nothing is held, so --same-store has nothing to release.');
  if (hold.witness !== null)
    throw new UsageError(`The witness proves that it is not the same store: ${output.tell(hold.reason)}.`);
  const { environment, baseUrl } = settings.service;
  output.json({ environment, dryRun: dryRun ?? false, hold, sameStore: true });
  output.lines(
    `Service       ${baseUrl} (${environment})`,
    `Held          ${output.tell(hold.reason)}`,
    'Then          delivery goes on as if nothing had happened. What a newer store has sent would be sent again',
  );
  if (dryRun) return exitCode.done;
  if (!(await confirm('Is this the store that ran here last?', yes))) return exitCode.failed;
  await keepSameStore(context, reason ?? noReason);
  output.line('Delivery goes on.');
  return exitCode.done;
}

const blindKeys =
  'Beware        no customer goes out again, so nothing would show that the service has forgotten its keys, and these orders would be made twice. Ask its operator first';

const noReason = 'no reason given';

/** @property exportedAt null: they are as new as the last write-back */
type GivenBindings = ExportedBindings & { name: string; exportedAt: string | null };

async function recoverBy(
  app: CommandApp,
  options: RecoverOptions,
  hold: RecoveryHold | null,
  given: GivenBindings | null,
  { isRekeyed, areFirstKeysProven }: { isRekeyed: boolean; areFirstKeysProven: boolean },
): Promise<number> {
  const { context, settings, output } = app;
  const { environment, baseUrl } = settings.service;
  if (isRekeyed && options.fromService)
    throw new UsageError(
      "The records got other keys (`waybill rekey`, or `replaces` in the mapping), so what was sent before went out under keys that Waybill can't make again. Use --bindings or --look-up.",
    );
  const said = fateOf(options, hold, settings, context.nowMs(), output.time);
  const fate = withoutFirstKeys(said, areFirstKeysProven, settings.service.endpoints.lookUpOrder !== undefined);
  const reader = await app.reader();
  await reader.check();
  const foreseen = await previewRecovery(context, reader, given);
  const plan = [
    `Service       ${baseUrl} (${environment})`,
    `Held          ${hold ? output.tell(hold.reason) : 'not yet: delivery is held from your yes until the recovery has ended, because you say that a store was lost'}`,
    ...planOfBindings(given, foreseen),
    `Not proven    ${foreseen.orders} orders and ${foreseen.customers} customers may have been sent before`,
    foreseen.unproven > 0 && `  of those    ${foreseen.unproven} were held or refused here, and are parked as unproven`,
    foreseen.doubtedBindings > 0 &&
      `Sent again    every field of ${foreseen.doubtedBindings} bound records, as updates`,
    fate !== said && unknownKeys,
    fate.to === 'in_doubt' && fate.sentSince !== null && foreseen.orders > 0 && foreseen.customers === 0 && blindKeys,
    `Then          ${inWords(fate)}`,
  ].filter((line) => line !== false);
  for (const line of plan) {
    output.line(line);
    // The person who is asked must see it, and stdout is for the JSON.
    if (output.isJson && !options.yes) writeError(line);
  }
  if (options.dryRun) {
    output.json({ environment, dryRun: true, hold, isRekeyed, ...foreseen, to: fate.to });
    return exitCode.done;
  }
  if (!(await confirm('Do this, and let delivery go on?', options.yes))) return exitCode.failed;
  const result = await recover(context, reader, {
    fate: said,
    bindings: given,
    reason: options.reason ?? noReason,
  });
  output.json({ environment, dryRun: false, ...result });
  return tellResult(app, result, given !== null);
}

function planOfBindings(given: GivenBindings | null, { bindings }: ForeseenRecovery): string[] {
  if (given === null) return [];
  const { imported, older, removed, taken, refused } = bindings;
  return [
    ...(given.exportedAt === null
      ? []
      : [`Export        of ${given.exportedAt}: what was sent after it is not proven`]),
    `First         the ${imported} records in ${given.name} are bound again`,
    ...(removed > 0 ? [`Removed       ${removed} records, which the service has no more`] : []),
    ...(older > 0 ? [`Left as is    ${older} records, which are known here as well or better`] : []),
    ...(taken > 0 ? [`Refused       ${taken} records, which the export contradicts`, ...namesOf(refused)] : []),
  ];
}

function namesOf(refused: readonly RefusedBinding[]): string[] {
  return refused
    .slice(0, maxNamed)
    .map(({ entity, sourceKey, serviceId, heldBy, boundTo }) =>
      boundTo === undefined
        ? `  ${entity} ${sourceKey} was to be ${serviceId}, which is ${entity} ${heldBy}`
        : `  ${entity} ${sourceKey} was to be ${serviceId}, and is ${boundTo} here: the service may have two records of it (waybill bindings move, if that one is right)`,
    );
}

function tellResult({ output }: CommandApp, result: RecoverResult, hasExport: boolean): number {
  const { bindings: taken, doubtedBindings, to, unbound, unproven } = result;
  output.lines(
    hasExport && `${taken.imported} bindings were taken over, and ${taken.removed} records that were removed.`,
    taken.taken > 0 &&
      `${taken.taken} bindings were left out, because the export contradicts what is known here. Find out which of the two it is, then settle the other one: waybill outbox --state parked`,
    ...namesOf(taken.refused),
    taken.taken > maxNamed && `  and ${taken.taken - maxNamed} more: waybill audit --outcome binding_refused`,
    doubtedBindings > 0 &&
      `The lost store may have changed ${doubtedBindings} records since: Waybill sends every field of them again (more than capture.maxUpdates wait for: waybill confirm).`,
    to === 'parked'
      ? `${unbound} records wait for a person: waybill outbox --state parked`
      : `${unbound} records are in doubt now. A running daemon settles them. Without one: waybill sync`,
    unproven > 0 &&
      `The lost store may have sent ${unproven} records that were held or refused: waybill outbox --state parked`,
  );
  const waits = taken.taken > 0 || unproven > 0 || (to === 'parked' && unbound > 0);
  return waits ? exitCode.waitsForPerson : exitCode.done;
}

/** The fate of creates that may have been sent. Only a person can say that the service still knows their keys. */
function fateOf(
  options: RecoverOptions,
  hold: RecoveryHold | null,
  settings: Settings,
  nowMs: number,
  time: (ms: number) => string,
): UnboundFate {
  const { idempotency } = settings.service;
  if (options.fromService) {
    const stated =
      options.sentSince === undefined ? null : parseTime('--sent-since', options.sentSince, settings.erp.timeZone);
    const sentSince = stated ?? (hold?.kind === 'lost' ? null : (hold?.copyAt ?? null));
    if (sentSince === null)
      throw new UsageError(
        'Waybill does not know when the lost store began to send what is still eligible. Say it: --from-service --sent-since DATE.',
      );
    if (!mayBeForgotten(sentSince, nowMs, keyLifetimeMs(settings.service)))
      return { to: 'in_doubt', sentSince, ...(options.firstKeys && { firstKeys: true }) };
    throw new UsageError(
      `${time(sentSince)} lies ahead, or longer ago than the service remembers a key (service.idempotency.lifetimeHours: ${idempotency.lifetimeHours ?? 'not set'}), so sending again could make second records. Use --bindings or --look-up.`,
    );
  }
  // Without a time they are looked up, never resent blindly.
  if (options.lookUp) return { to: 'in_doubt', sentSince: null, lookUp: true };
  return { to: 'parked' };
}

const unknownKeys =
  'Not sent      no witness proves that no record was sent again under a later key (after a removal, a repair or `resolve --not-delivered`). ' +
  'Its first key would make a second record. If you know that there is none, add --first-keys';

function inWords(fate: UnboundFate): string {
  if (fate.to === 'parked') return 'the rest is parked as unproven, for a person to look at';
  if (fate.lookUp) return 'Waybill asks the service for each of the rest';
  return (
    'the rest is sent once more with its key and bytes; the service answers with what it has, or makes it now. A record whose key ' +
    `is spelled otherwise since${fate.firstKeys ? ', or that was sent again under a later key,' : ''} would be made twice`
  );
}
