import type { SyncResult } from '../operator/sync.js';
import { type CommandApp, exitCode } from './command.js';
import type { Output } from './terminal/output.js';

const shownRecords = 20;

/** Prints what a sync did. @returns the exit code, which says whether a person is needed */
export function reportSync(
  { output, settings }: CommandApp,
  result: SyncResult,
  { dryRun, keys }: { dryRun: boolean; keys: string[] | undefined },
): number {
  const { environment, baseUrl } = settings.service;
  const { capture, deliver, pull, writeBack, open } = result;
  output.json({ environment, dryRun, ...result });
  // A person who names a key wants to know that it was not found, not that zero orders went well.
  if (keys && capture && !capture.stopped && capture.read.orders + capture.read.customers === 0) {
    process.stderr.write(
      `waybill: none of ${keys.join(', ')} is the key of an eligible record. ` +
        'A key is the ERP’s primary key, not the number that people know; orders.pending and orders.startFrom say what is eligible.\n',
    );
    return exitCode.failed;
  }
  output.line(`Service: ${baseUrl} (${environment})`);
  if (capture) printCapture(output, capture, dryRun, settings.orders.settleSeconds);
  if (deliver) printDelivery(output, deliver, open);
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
  if (pull?.outcome === 'failed' || capture?.busy) return exitCode.failed;
  const unwritten = (writeBack?.failures.length ?? 0) + (writeBack?.refused ?? 0);
  if (held || parked + unwritten > 0) return exitCode.waitsForPerson;
  return open > 0 ? exitCode.failed : exitCode.done;
}

type Capture = NonNullable<SyncResult['capture']>;

function printCapture(
  output: Output,
  { captured, read, unchanged, parked, waiting, skipped, stopped, touched }: Capture,
  dryRun: boolean,
  settleSeconds: number,
): void {
  output.line(
    `${dryRun ? 'Would capture' : 'Captured'} ${captured.orders} orders and ${captured.customers} customers ` +
      `(read ${read.orders} and ${read.customers}; ${unchanged} unchanged, ${waiting} waiting for their lines, ${parked} parked).`,
  );
  if (waiting > 0)
    output.line(
      `Orders that wait for their lines may go in ${settleSeconds} s (orders.settleSeconds): run it again then.`,
    );
  for (const { entity, sourceKey, reason } of skipped.slice(0, shownRecords))
    output.line(`  left alone: ${entity} ${sourceKey}: ${reason}`);
  if (skipped.length > shownRecords) output.line(`  … and ${skipped.length - shownRecords} more left alone`);
  if (stopped) output.line(`Capture stopped: ${stopped.reason}`);
  if (!dryRun || touched.length === 0) return;
  // People look for orders; the customers would fill the page.
  const ordered = [...touched].sort((a, b) => Number(b.entity === 'order') - Number(a.entity === 'order'));
  output.table(
    ['entity', 'key', 'number', 'what', 'amount', 'parked because'],
    ordered
      .slice(0, shownRecords)
      .map((one) => [one.entity, one.sourceKey, one.number, one.operation, one.total, one.parked]),
  );
  if (touched.length > shownRecords) output.line(`… and ${touched.length - shownRecords} more`);
}

function printDelivery(
  output: Output,
  { delivered, adopted, attempts, parked, flagged, watched, stopped }: NonNullable<SyncResult['deliver']>,
  open: number,
): void {
  output.line(
    watched
      ? `${watched} delivers; this command watched it. ${open} messages are still open.`
      : `Delivered ${delivered.orders} orders and ${delivered.customers} customers in ${attempts} attempts.`,
  );
  if (adopted.customers > 0)
    output.line(
      `The service already had ${adopted.customers} customers, which are adopted${adopted.differing > 0 ? `; ${adopted.differing} of them differ: waybill bindings adopted --open` : ''}.`,
    );
  if (parked > 0) output.line(`${parked} wait for a person: waybill outbox --state parked`);
  if (flagged > 0) output.line(`${flagged} were delivered with a total that differs: waybill audit --event delivered`);
  if (stopped && !watched) output.line(`Delivery stopped: ${stopped}`);
  else if (open > 0 && !watched) output.line(`${open} wait for their next try or for their customer: waybill outbox`);
}

function printPull(output: Output, pull: NonNullable<SyncResult['pull']>): void {
  const read = `Unpaid invoices: ${pull.unpaid}, read ${pull.passes} times on ${pull.pages} pages in all`;
  const changes = `${pull.added} new, ${pull.unlisted} no longer listed`;
  if (pull.outcome === 'proven') output.line(`${read} (${changes}).`);
  else if (pull.outcome === 'unproven')
    output.line(
      `${read} (${changes}); the list is not proven, so ${pull.missed} that were not met stay listed: ${pull.reason}`,
    );
  else output.line(`Invoices were not pulled: ${pull.reason}`);
  if (pull.malformed > 0) output.line(`${pull.malformed} invoices make no sense: waybill invoices --malformed`);
}

function printWriteBack(
  output: Output,
  { busy, held, written, refused, failures }: NonNullable<SyncResult['writeBack']>,
): void {
  if (held || busy) {
    output.line(held ? `Nothing is written back into the ERP: ${held}.` : `${busy} writes back into the ERP.`);
    return;
  }
  const { orders, customers, invoices } = written;
  output.line(`Written back into the ERP: ${orders} orders, ${customers} customers, ${invoices} invoices.`);
  if (refused > 0) output.line(`The ERP refused ${refused}: waybill status`);
  for (const reason of new Set(failures.map((failure) => failure.reason))) output.line(`Not written back: ${reason}`);
}
