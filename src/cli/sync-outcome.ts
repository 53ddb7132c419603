import Table from 'cli-table3';
import type { App } from '../app.js';
import type { SyncResult } from '../operator/sync.js';
import { exitCode, print, printJson } from './command.js';
import { oneLine } from './terminal/output.js';

/** Prints what a pass did and says by the exit code whether a person is needed. */
export function reportSync(
  app: App,
  result: SyncResult,
  options: { json?: boolean; dryRun?: boolean; key?: string[] },
): number {
  // Somebody who names a key wants to know that it was not found, not that zero orders went well.
  if (options.key && result.capture && !result.capture.stopped && foundNone(result.capture)) {
    if (options.json) printJson(asJson(app, result, options.dryRun ?? false));
    process.stderr.write(
      `waybill: none of ${options.key.join(', ')} is the key of an eligible record. ` +
        'A key is the ERP’s primary key, not the number that people know; orders.pending and orders.startFrom say what is eligible.\n',
    );
    return exitCode.failed;
  }

  if (options.json) printJson(asJson(app, result, options.dryRun ?? false));
  else printWords(app, result, options.dryRun ?? false);
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

function foundNone({ read }: NonNullable<SyncResult['capture']>): boolean {
  return read.orders + read.customers === 0;
}

function asJson(app: App, result: SyncResult, dryRun: boolean): unknown {
  return { environment: app.settings.service.environment, dryRun, ...result };
}

function printWords(app: App, { capture, deliver, pull, writeBack, open }: SyncResult, dryRun: boolean): void {
  const { environment, baseUrl } = app.settings.service;
  print(`Service: ${baseUrl} (${environment})`);
  if (capture) {
    const { captured, read, unchanged, parked, waiting } = capture;
    print(
      `${dryRun ? 'Would capture' : 'Captured'} ${captured.orders} orders and ${captured.customers} customers ` +
        `(read ${read.orders} and ${read.customers}; ${unchanged} unchanged, ${waiting} waiting for their lines, ${parked} parked).`,
    );
    if (waiting > 0)
      print(
        `Those that wait may go in ${app.settings.orders.settleSeconds} s (orders.settleSeconds): run it again then.`,
      );
    for (const skipped of capture.skipped.slice(0, 20))
      print(oneLine(`  left alone: ${skipped.entity} ${skipped.sourceKey}: ${skipped.reason}`));
    if (capture.skipped.length > 20) print(`  … and ${capture.skipped.length - 20} more left alone`);
    if (capture.stopped) print(`Capture stopped: ${capture.stopped.reason}`);
    if (dryRun && capture.touched.length > 0) printTouched(capture.touched);
  }
  if (deliver) {
    const { delivered, adopted, attempts, parked, flagged, watched } = deliver;
    if (watched) print(`${watched} delivers; watched it. ${open} messages are still open.`);
    else print(`Delivered ${delivered.orders} orders and ${delivered.customers} customers in ${attempts} attempts.`);
    if (adopted.customers > 0)
      print(
        `${adopted.customers} customers were there already and are adopted${adopted.differing > 0 ? `; ${adopted.differing} of them differ: waybill bindings adopted --open` : ''}.`,
      );
    if (parked > 0) print(`${parked} wait for a person: waybill outbox --state parked`);
    if (flagged > 0) print(`${flagged} were delivered with a total that differs: waybill audit --event delivered`);
    if (deliver.stopped && !watched) print(`Delivery stopped: ${deliver.stopped}`);
    else if (open > 0 && !watched) print(`${open} wait for their next try or for their customer: waybill outbox`);
  }
  if (pull) {
    const read = `Unpaid invoices: ${pull.unpaid}, read ${pull.passes} times on ${pull.pages} pages in all`;
    const changes = `${pull.added} new, ${pull.unlisted} no longer listed`;
    if (pull.outcome === 'proven') print(`${read} (${changes}).`);
    else if (pull.outcome === 'unproven')
      print(`${read} (${changes}); not proven, so that ${pull.missed} not met stay listed: ${pull.reason}`);
    else print(`Invoices were not pulled: ${pull.reason}`);
    if (pull.malformed > 0) print(`${pull.malformed} invoices make no sense: waybill invoices --malformed`);
  }
  if (writeBack) printWriteBack(writeBack);
}

function printWriteBack({ busy, held, written, refused, failures }: NonNullable<SyncResult['writeBack']>): void {
  if (held) {
    print(`Nothing is written back into the ERP: ${held}.`);
    return;
  }
  if (busy) {
    print(`${busy} writes back into the ERP.`);
    return;
  }
  const { orders, customers, invoices } = written;
  print(`Written back into the ERP: ${orders} orders, ${customers} customers, ${invoices} invoices.`);
  if (refused > 0) print(`${refused} were refused by the ERP: waybill status`);
  for (const reason of new Set(failures.map((failure) => failure.reason)))
    print(oneLine(`Not written back: ${reason}`));
}

function printTouched(touched: NonNullable<SyncResult['capture']>['touched']): void {
  const table = new Table({
    head: ['entity', 'key', 'number', 'what', 'amount', 'parked because'],
    style: { head: [], border: [] },
  });
  // Orders are what people look for; their customers would fill the page.
  const ordered = [...touched].sort((a, b) => Number(b.entity === 'order') - Number(a.entity === 'order'));
  for (const record of ordered.slice(0, 20))
    table.push(
      [record.entity, record.sourceKey, record.number, record.operation, record.total, record.parked].map((cell) =>
        oneLine(cell ?? ''),
      ),
    );
  print(table.toString());
  if (touched.length > 20) print(`… and ${touched.length - 20} more`);
}
