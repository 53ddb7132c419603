import type { Command } from 'commander';
import type { App } from '../app.js';
import { appendAudit } from '../audit/audit-log.js';
import { currencyScale } from '../erp/mapping/money.js';
import { type PreviewOrder, preview } from '../operator/preview.js';
import { allowStandby, goLiveProblem, liveIdentity, readGoLive, writeGoLive } from '../outbound/deliver/go-live.js';
import { recoveryProblem } from '../outbound/recovery/store-witness.js';
import { type CommonOptions, describeCommand, exitCode, print, printJson, UsageError, withApp } from './command.js';
import { confirm } from './terminal/confirm.js';
import { formatAmount } from './terminal/format.js';
import { oneLine } from './terminal/output.js';

interface GoLiveOptions extends CommonOptions {
  dryRun?: boolean;
  standby?: boolean;
  yes?: boolean;
  reason: string;
}

export function goLiveCommand(): Command {
  return describeCommand({
    name: 'go-live',
    summary: 'Show what would be sent to the production service, and allow this store to send it.',
    example: 'waybill go-live --dry-run',
    json: true,
  })
    .option('--dry-run', 'show it, allow nothing')
    .option('--standby', 'allow this machine to take over from the one that is live, on the same store')
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(async (options: GoLiveOptions) => {
      await withApp('go-live', options, async (app) => {
        if (options.standby) return standBy(app, options);
        const { context, settings, store } = app;
        const reader = app.reader();
        await reader.check();
        const shown = await preview(context, reader);
        const identity = liveIdentity(settings, reader.identity());
        const before = await store.read('read go-live', readGoLive);
        const problem = await store.read('read go-live', (tx) => goLiveProblem(tx, settings, reader.identity()));
        if (options.json) printJson({ ...identity, live: problem === null, problem, before, ...shown });
        else {
          const { currency, scale } = settings.amounts;
          const total = formatAmount(shown.ordersTotal, scale ?? currencyScale(currency) ?? 0);
          print(`Service       ${identity.service} (${identity.environment})`);
          print(`ERP           ${identity.erp}`);
          print(`Installation  ${identity.installation} on ${identity.machine}`);
          print(
            `Would send    ${shown.captured.orders + shown.open.orders} orders and ${shown.captured.customers + shown.open.customers} customers`,
          );
          print(`Total         ${total} ${currency}`);
          print(`Oldest        ${orderInWords(shown.oldest)}`);
          print(`Newest        ${orderInWords(shown.newest)}`);
          print(`Left out      ${shown.excludedByStartFrom} older orders (orders.startFrom), for good`);
          if (shown.parked > 0) print(`Parked        ${shown.parked} can not be sent as they are`);
          if (problem) print(`Now           ${problem}`);
        }
        if (settings.service.environment === 'sandbox') {
          if (!options.json) print('This is a sandbox: it needs no go-live.');
          return exitCode.done;
        }
        if (options.dryRun) return exitCode.done;
        // What was sent before has to be known before anybody can say what would be sent now.
        if ((await store.read('read the hold', recoveryProblem)) !== null) {
          if (!options.json) print('First: waybill recover');
          return exitCode.waitsForPerson;
        }
        if (problem === null) {
          if (!options.json) print('This store is live already.');
          return exitCode.done;
        }
        if (!(await confirm('Send this, and from now on everything new?', options.yes))) return exitCode.failed;
        await store.transaction('go live', async (tx) => {
          const at = context.nowMs();
          await writeGoLive(tx, identity, context.actor, at);
          await appendAudit(
            tx,
            [
              {
                event: 'go_live',
                outcome: 'operator',
                actor: context.actor,
                detail: { ...identity, reason: options.reason },
              },
            ],
            at,
          );
        });
        if (!options.json) print('Live. A running daemon begins at once; otherwise: waybill sync, or npm start.');
        return exitCode.done;
      });
    });
}

/** A copy of a file on another machine is no standby but a second sender. */
async function standBy({ context, settings, store, reader }: App, options: GoLiveOptions): Promise<number> {
  if (settings.store.type === 'sqlite')
    throw new UsageError('A standby on another machine needs the same store: one in MySQL or MariaDB.');
  if (options.dryRun) throw new UsageError('There is nothing to show before --standby. Leave --dry-run out.');
  const identity = liveIdentity(settings, reader().identity());
  const before = await store.read('read go-live', readGoLive);
  if (!(await confirm(`Let ${identity.machine} take over from ${before?.machine ?? 'nobody'}?`, options.yes)))
    return exitCode.failed;
  const problem = await store.transaction('allow a standby', async (tx) => {
    const why = await allowStandby(tx, identity);
    if (why !== null) return why;
    const detail = { ...identity, reason: options.reason };
    const { actor } = context;
    await appendAudit(tx, [{ event: 'go_live', outcome: 'standby', actor, detail }], context.nowMs());
    return null;
  });
  if (options.json) printJson({ ...identity, standby: problem === null, problem });
  else print(problem === null ? 'This machine may take over.' : `Not done: ${problem}.`);
  return problem === null ? exitCode.done : exitCode.failed;
}

function orderInWords(order: PreviewOrder | null): string {
  return order ? oneLine(`${order.number ?? order.key} ${order.changedAt ? `(changed ${order.changedAt})` : ''}`) : '-';
}
