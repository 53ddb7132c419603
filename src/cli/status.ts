import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { type App, openApp } from '../app.js';
import { checkStatus } from '../daemon/check-status.js';
import { readStatus, type Status } from '../daemon/read-status.js';
import { type Ago, agoFormatter, describeStatus } from '../daemon/status-lines.js';
import { shorten } from '../operator/format.js';
import { messageStates } from '../outbound/outbox/message.js';
import { provenLoss, witnessFilesOf } from '../outbound/recovery/store-witness.js';

import { type CommandApp, type CommonOptions, inApp, jsonCommand, namedHolds, positiveInteger } from './command.js';
import { Output } from './terminal/output.js';
import { stopSignal } from './terminal/stop-signal.js';
import { hideFromErrors, readerLeft } from './terminal/streams.js';

interface StatusOptions extends CommonOptions {
  check?: boolean;
  watch?: number;
}

export function statusCommand(): Command {
  const show = inApp(showOrWatch, { readOnly: true });
  return jsonCommand(
    'status',
    'Show who delivers, what is paused, what waits, and what came last.',
    'waybill status --check',
  )
    .option('--check', 'print one line for a monitor; exit code 0 fine, 1 warning, 2 critical')
    .addOption(
      new Option('--watch <seconds>', 'show it again every so many seconds, until Ctrl-C')
        .argParser(positiveInteger)
        .conflicts('check'),
    )
    .action((options: StatusOptions, command: Command) => (options.check ? check(options) : show(options, command)));
}

async function statusOf(app: App): Promise<Status> {
  const erpIdentity = (await app.reader()).identity();
  const files = witnessFilesOf(app.settings.store);
  const loss = files && (await provenLoss(app.store, files));
  const status = await app.store.read('read the status', (tx) =>
    readStatus(tx, app.settings, erpIdentity, app.context.nowMs()),
  );
  return loss ? { ...status, notLive: { code: 'held_since_loss', loss } } : status;
}

const checkExitCodes = { OK: 0, WARNING: 1, CRITICAL: 2 } as const;

/** A monitor reads stdout and the exit code, so every failure to find out is a line of its own too. */
async function check(options: StatusOptions): Promise<void> {
  let output = new Output(options);
  let app: App | null = null;
  let result: { level: keyof typeof checkExitCodes; text: string };
  try {
    const hide = (secrets: readonly string[]) => {
      hideFromErrors(secrets);
      output = new Output({ ...options, secrets });
    };
    app = await openApp({ configDir: options.config, role: 'status', log: 'stderr', readOnly: true, hide });
    result = checkStatus(await statusOf(app));
  } catch (error) {
    result = { level: 'CRITICAL', text: (error as Error).message };
  }
  output.json(result);
  output.line(`WAYBILL ${result.level}: ${result.text}`);
  process.exitCode = checkExitCodes[result.level];
  await app?.close();
}

/** Shows the status, once or again and again. The terminal scrolls: what was before can be compared. */
async function showOrWatch(app: CommandApp, { watch }: StatusOptions): Promise<void> {
  await showStatus(app);
  if (watch === undefined) return;
  const { signal, release } = stopSignal();
  try {
    for (;;) {
      await sleep(watch * 1000, undefined, { signal }).catch(() => undefined);
      if (signal.aborted || readerLeft()) return;
      app.output.line();
      app.output.line(app.output.time(app.context.nowMs()));
      await showStatus(app);
    }
  } finally {
    release();
  }
}

async function showStatus(app: CommandApp): Promise<void> {
  const { output, context } = app;
  const status = await statusOf(app);
  const result = checkStatus(status);
  output.jsonWithTimes({ ...result, ...status, ...namedHolds(status.holds) });
  const { time } = output;
  const nowMs = context.nowMs();
  output.rows(17, describeStatus(status, { settings: app.settings, nowMs, time }));
  output.line();
  showOutbox(output, status, agoFormatter(time, nowMs));
}

function showOutbox(output: Output, { outbox, parkedReasons }: Status, ago: Ago): void {
  const count = (state: string, entity: string) =>
    outbox.byState.find((one) => one.state === state && one.entity === entity)?.count ?? 0;
  output.table(
    ['outbox', 'customers', 'orders'],
    messageStates.map((state) => [state, count(state, 'customer'), count(state, 'order')]),
  );
  if (parkedReasons.length === 0) return;
  output.line('Parked, by reason (waybill outbox --state parked):');
  output.table(
    ['messages', 'class', 'reason', 'oldest since'],
    parkedReasons.map((group) => [group.count, group.parkClass, shorten(group.group, 70), ago(group.oldestAt)]),
  );
}
