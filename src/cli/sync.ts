import { Argument, type Command } from 'commander';
import type { Settings } from '../config/settings.js';
import type { FindBy } from '../operator/find-records.js';
import { excludedFromPass, exclusionInWords } from '../operator/foresee-delivery.js';
import { type SyncOptions, type SyncResult, type SyncStage, sync } from '../operator/sync.js';
import { tell, tellWhole } from '../words/words.js';
import {
  type CommandApp,
  checkReader,
  defined,
  entityOf,
  exitCode,
  inApp,
  jsonCommand,
  limitOption,
  namedHolds,
  type Plural,
  parseRange,
  pluralArgument,
  repeatable,
  sourceOption,
  UsageError,
} from './command.js';
import { byOption, keysMeantBy } from './named-records.js';
import { showResync } from './reconcile/show-resync.js';
import type { Output } from './terminal/output.js';
import { progressBar } from './terminal/progress-bar.js';
import { stopSignal } from './terminal/stop-signal.js';
import { writeError } from './terminal/streams.js';

const shownRecords = 20;

type CaptureResult = NonNullable<SyncResult['capture']>;
type TouchedRecord = CaptureResult['touched'][number];

interface SyncCommandOptions {
  dryRun?: boolean;
  limit?: number;
  key?: string[];
  by?: FindBy;
  trial?: boolean;
}

export function syncCommand(): Command {
  return jsonCommand(
    'sync',
    'Run once, now: read the ERP, deliver what is due, pull unpaid invoices.',
    'waybill sync --limit 5',
  )
    .addArgument(
      new Argument('[stage]', 'only this stage; without it all three').choices(['capture', 'deliver', 'pull']),
    )
    .option('--dry-run', 'show creates, updates and removals; write and send nothing')
    .addOption(limitOption('send at most n new or changed orders, and their customers'))
    .addOption(repeatable('--key <key>', 'send only the order with this key of the ERP, and its customer'))
    .addOption(byOption())
    .addOption(sourceOption())
    .option('--trial', 'send these few to a production service before go-live; with --limit or --key')
    .action(
      inApp(syncOnce, {
        check: ({ trial, limit, key }: SyncCommandOptions) => {
          if (trial && limit === undefined && !key)
            throw new UsageError('--trial sends only a few records: add --limit 5 or --key.');
        },
      }),
    );
}

async function syncOnce(app: CommandApp, options: SyncCommandOptions, stage: SyncStage | undefined): Promise<number> {
  const { limit, trial = false } = options;
  const keys = options.key && (await keysMeantBy(app, options.key, options.by, 'order'));
  if (!stage || stage === 'capture') await checkReader(app);
  return syncAndReport(app, options, {
    stages: stage ? [stage] : ['capture', 'deliver', 'pull'],
    ...defined({ limit, source: app.source, filter: keys && { entity: 'order' as const, keys } }),
    trial,
  });
}

interface ResyncOptions extends Pick<SyncCommandOptions, 'key' | 'by' | 'dryRun'> {
  from?: string;
  to?: string;
  force?: boolean;
  plan?: boolean;
}

export function resyncCommand(): Command {
  return jsonCommand(
    'resync',
    'Read records of the ERP again and send those that differ; with --force also the unchanged ones.',
    'waybill resync orders --from 2026-11-01 --to 2026-11-08 --dry-run',
  )
    .addArgument(pluralArgument('<entity>', 'what to read'))
    .addOption(repeatable('--key <key>', 'only this key of the ERP'))
    .addOption(byOption())
    .addOption(sourceOption())
    .option('--from <date>', 'dated from here on (included), by the column of startFrom, else by changedAt')
    .option('--to <date>', 'dated before this day or time, in erp.timeZone')
    .option('--dry-run', 'say what would be sent; write and send nothing')
    .option(
      '--plan',
      'say what would become of each record, which fields would change, and how long it would take; do nothing',
    )
    .option('--force', 'send unchanged records again with their old key and bytes, while the service remembers them')
    .action(inApp(resync));
}

async function resync(app: CommandApp, options: ResyncOptions, plural: Plural): Promise<number> {
  const { from, to, plan, force = false } = options;
  const entity = entityOf(plural);
  const keys = options.key && (await keysMeantBy(app, options.key, options.by, entity));
  parseRange(['--from', from], ['--to', to], app.settings.erp.timeZone);
  await checkReader(app);
  const filter = { entity, ...defined({ keys, from, to }) };
  if (plan) return showResync(app, plural, filter);
  return syncAndReport(app, options, {
    stages: ['capture', 'deliver'],
    ...defined({ source: app.source }),
    filter,
    force,
  });
}

/** Syncs with a progress bar, until it is done or a signal stops it, and prints what came of it. */
async function syncAndReport(
  app: CommandApp,
  options: SyncCommandOptions | ResyncOptions,
  request: Omit<SyncOptions, 'dryRun' | 'signal' | 'onProgress'>,
): Promise<number> {
  const bar = progressBar();
  const stop = stopSignal(() => {
    bar.stop();
    writeError('waybill: stopping: requests under way end first. A second Ctrl-C ends at once.');
  });
  try {
    const partners = { reader: await app.reader(), client: app.client, writer: app.writer };
    const { signal } = stop;
    const dryRun = options.dryRun ?? false;
    const result = await sync(app.context, partners, { ...request, dryRun, signal, onProgress: bar.show });
    bar.stop();
    return await reportSync(app, result, { dryRun, keys: options.key, by: options.by, filter: request.filter });
  } finally {
    bar.stop();
    stop.release();
  }
}

/** Prints what a sync did. @returns the exit code, which says whether a person is needed */
async function reportSync(
  { output, settings, reader }: CommandApp,
  result: SyncResult,
  {
    dryRun,
    keys,
    by,
    filter,
  }: { dryRun: boolean; keys: string[] | undefined; by: FindBy | undefined; filter: SyncOptions['filter'] },
): Promise<number> {
  const { environment, baseUrl } = settings.service;
  const { capture, deliver, pull, writeBack } = result;
  const excluded = await excludedFromPass(reader, filter, capture);
  // A first pass touches hundreds of records: JSON names as many as the table, unless they were asked for by name.
  const named = capture && {
    ...capture,
    ...namedHolds(capture.holds.map((hold) => tell(hold))),
    touched: keys ? capture.touched : mostTelling(capture.touched),
  };
  output.json({ environment, dryRun, ...result, capture: named, ...excluded });
  // A person who names a key wants to know that it was not found, not that zero orders went well.
  if (keys && capture && !capture.stopped && capture.read.orders + capture.read.customers === 0) {
    writeError(
      by === 'number'
        ? `waybill: none of ${keys.join(', ')} is the number of an eligible record that Waybill has read before. The first time, name it by the ERP’s primary key (--by key).`
        : `waybill: none of ${keys.join(', ')} is the key of an eligible record. A key is the ERP’s primary key, not the number that people know; orders.pending and orders.startFrom say what is eligible.`,
    );
    return exitCode.failed;
  }
  output.line(`Service: ${baseUrl} (${environment})`);
  if (capture) printCapture(output, capture, dryRun, settings);
  output.lines(
    ...exclusionInWords(excluded, settings.orders),
    dryRun &&
      'Nothing was sent, and the service was not asked: whether it takes the credential shows with the first request (waybill sync --limit 1).',
  );
  if (deliver) printDelivery(output, deliver, result);
  if (pull) printPull(output, pull);
  if (writeBack) printWriteBack(output, writeBack);
  return codeOf(result);
}

function codeOf({ capture, deliver, pull, writeBack, open }: SyncResult): number {
  const held = capture?.stopped ?? deliver?.stopped ?? (pull && pull.outcome !== 'proven' ? pull.reason : null);
  const parked =
    (capture?.parked ?? 0) +
    (deliver?.parked ?? 0) +
    (deliver?.flagged ?? 0) +
    (pull?.malformed ?? 0) +
    (deliver?.adopted.differing ?? 0);
  if (pull?.outcome === 'failed' || capture?.busy || capture?.failed.length) return exitCode.failed;
  const unwritten = (writeBack?.failures.length ?? 0) + (writeBack?.refused ?? 0);
  if (held || parked + unwritten > 0) return exitCode.waitsForPerson;
  return open > 0 ? exitCode.failed : exitCode.done;
}

function printCapture(output: Output, capture: CaptureResult, dryRun: boolean, settings: Settings): void {
  const { captured, removed, read, unchanged, parked, waiting } = capture;
  const { skipped, skippedLines, holds, stopped, touched } = capture;
  const { settleSeconds } = settings.orders;
  const verb = dryRun ? 'Would capture' : 'Captured';
  const removals = removed.orders + removed.customers;
  output.lines(
    `${verb} ${captured.orders} orders and ${captured.customers} customers ` +
      `(read ${read.orders} and ${read.customers}; ${unchanged} unchanged, ${waiting} waiting for their lines, ${parked} parked).`,
    dryRun &&
      parked > 0 &&
      (parked === captured.orders + captured.customers + removals
        ? 'None of them could be sent as they are.'
        : `${parked} of them could not be sent as they are.`),
    skippedLines > 0 && `${skippedLines} of their lines are texts, which orders.lines.text leaves out.`,
    waiting > 0 &&
      (dryRun
        ? `${waiting} of the orders first wait for their lines, up to ${settleSeconds} s (orders.settleSeconds).`
        : `Orders that wait for their lines may go in ${settleSeconds} s (orders.settleSeconds): run it again then.`),
    removals > 0 &&
      `${verb} the removal of ${removed.orders} orders and ${removed.customers} customers, cancelled or deleted in the ERP.`,
    ...capture.failed.map(
      ({ source, reason }) =>
        `Source ${source || 'default'} could not be read, and the others were: ${output.tell(reason)}`,
    ),
    ...holds.map((hold) =>
      dryRun ? `Would be held: ${tell(hold)}` : `Held: ${tell(hold)}. Look at them: waybill confirm --dry-run`,
    ),
    ...skipped
      .slice(0, shownRecords)
      .map(({ entity, sourceKey, reason }) => `  left alone: ${entity} ${sourceKey}: ${tell(reason)}`),
    skipped.length > shownRecords && `  … and ${skipped.length - shownRecords} more left alone`,
    stopped && `Capture stopped: ${output.tell(stopped.reason)}`,
  );
  if (!dryRun || touched.length === 0) return;
  const shown = mostTelling(touched);
  output.table(
    ['entity', 'key', 'number', 'what', 'amount', 'parked because'],
    shown.map((one) => [
      one.entity,
      one.sourceKey,
      one.number,
      inWords(one),
      amountOf(one),
      one.parked && tell(one.parked),
    ]),
  );
  // The records named above are a sample.
  const more = captured.orders + captured.customers + removals - shown.length;
  output.lines(
    more > 0 && `… and ${more} more`,
    shown.some(({ because }) => because === 'deleted') &&
      `A record counts as deleted when sweeps in a row have missed it for ${settings.capture.deletedAfterMinutes} min (capture.deletedAfterMinutes).`,
  );
}

/** Removals first, because they can't be taken back. Then orders, which people look for; the customers would fill the page. */
function mostTelling(touched: readonly TouchedRecord[]): TouchedRecord[] {
  const rank = ({ because, entity }: TouchedRecord) => {
    if (because !== null) return 0;
    return entity === 'order' ? 1 : 2;
  };
  return [...touched].sort((a, b) => rank(a) - rank(b)).slice(0, shownRecords);
}

/** Minor units, with the currency where orders may have several. */
function amountOf({ total, currency }: TouchedRecord): string | null {
  return total === null || currency === null ? total : `${total} ${currency}`;
}

function inWords({ operation, because }: TouchedRecord): string {
  return because === null ? operation : `${operation} (${because} in the ERP)`;
}

function printDelivery(
  output: Output,
  { delivered, adopted, attempts, parked: refused, flagged, watched, stopped }: NonNullable<SyncResult['deliver']>,
  { open, parked, capture }: SyncResult,
): void {
  const differing =
    adopted.differing > 0 ? `; ${adopted.differing} of them differ: waybill bindings adopted --open` : '';
  output.lines(
    watched
      ? `${watched} delivers; this command watched it. ${open} messages are still open.`
      : `Delivered ${delivered.orders} orders and ${delivered.customers} customers in ${attempts} attempts.`,
    adopted.customers > 0 && `The service already had ${adopted.customers} customers, which are adopted${differing}.`,
    parked > 0 &&
      `${parked} wait for a person, ${(capture?.parked ?? 0) + refused} of them new: waybill outbox --state parked`,
    flagged > 0 && `${flagged} were delivered, but a person should look at them: waybill audit --event delivered`,
  );
  const left = open > 0 ? `. ${open} messages are left to the next run, or to a daemon.` : '';
  if (stopped && !watched) output.line(`Delivery stopped: ${output.tell(stopped)}${left}`);
  else if (open > 0 && !watched) output.line(`${open} wait for their next try or for their customer: waybill outbox`);
}

function printPull(output: Output, pull: NonNullable<SyncResult['pull']>): void {
  const { outcome, unpaid, passes, pages, added, unlisted, missed, leaving, reason, malformed } = pull;
  const why = reason && tellWhole(reason, output);
  const read = `Unpaid invoices: ${unpaid}, read ${passes} times on ${pages} pages in all (${added} new, ${unlisted} no longer listed)`;
  output.lines(
    outcome === 'proven' && `${read}.`,
    outcome === 'unproven' && `${read}; the list is not proven, so ${missed} that were not met stay listed: ${why}`,
    (outcome === 'failed' || outcome === 'held') && `The list of invoices stays as it was: ${why}`,
    leaving > 0 && `${leaving} that are missing wait for you: waybill confirm invoices --dry-run`,
    malformed > 0 && `${malformed} invoices are invalid: waybill invoices --malformed`,
  );
}

function printWriteBack(
  output: Output,
  { busy, held, written, refused, failures }: NonNullable<SyncResult['writeBack']>,
): void {
  if (held || busy) {
    output.line(
      held ? `Nothing is written back into the ERP: ${output.tell(held)}.` : `${busy} writes back into the ERP.`,
    );
    return;
  }
  const { orders, customers, invoices } = written;
  output.lines(
    `Written back into the ERP: ${orders} orders, ${customers} customers, ${invoices} invoices.`,
    refused > 0 && `The ERP refused ${refused}: waybill status`,
    ...[...new Set(failures.map(({ reason }) => output.tell(reason)))].map((reason) => `Not written back: ${reason}`),
  );
}
