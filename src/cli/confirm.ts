import { Argument, type Command, Option } from 'commander';
import { confirmDrop, isDropHeld } from '../inbound/invoices/drop-brake.js';
import { listHeldInvoices } from '../inbound/invoices/list-invoices.js';
import {
  type Confirmation,
  confirmHeld,
  type HeldFilter,
  type HeldSummary,
  summariseHeld,
} from '../operator/actions/held-changes.js';
import type { FindBy } from '../operator/find-records.js';
import { amountFormatter, shorten } from '../operator/format.js';
import { heldWords } from '../operator/words.js';
import {
  type CommandApp,
  confirm,
  defined,
  entityOf,
  exitCode,
  inApp,
  jsonCommand,
  type Plural,
  repeatable,
  sourceOption,
  UsageError,
} from './command.js';
import { byOption, meantBy } from './named-records.js';
import type { Output } from './terminal/output.js';

interface ConfirmOptions {
  key?: string[];
  by?: FindBy;
  dryRun?: boolean;
  yes?: boolean;
  adopt?: boolean;
  discard?: boolean;
  reason?: string;
}

export function confirmCommand(): Command {
  return jsonCommand(
    'confirm',
    'Show the updates and removals that a brake holds, and send, adopt or discard them; or the invoices that a brake keeps on the list, and take them off.',
    'waybill confirm --dry-run',
  )
    .addArgument(
      new Argument(
        '[what]',
        'updates and removals of these alone; invoices: those that are missing from the service’s list',
      ).choices(['customers', 'orders', 'invoices']),
    )
    .addOption(repeatable('--key <key>', 'only this ERP key, order number or customer code'))
    .addOption(byOption())
    .addOption(sourceOption())
    .option('--dry-run', 'show the list, change nothing')
    .option('--adopt', 'take what the ERP says as the new baseline, without sending it')
    .addOption(new Option('--discard', 'close what is held without sending it').conflicts('adopt'))
    .option('--yes', 'do not ask')
    .option('--reason <text>', 'why, for the audit; without it the command shows the list alone')
    .action(
      inApp(confirmHeldOf, {
        needsStore: true,
        check: ({ dryRun, reason, yes, adopt, discard }: ConfirmOptions) => {
          if (!dryRun && !reason && (yes || adopt || discard))
            throw new UsageError('Say why: --reason "…". Or look first: --dry-run.');
        },
      }),
    );
}

function confirmHeldOf(app: CommandApp, options: ConfirmOptions, what: Plural | 'invoices' | undefined) {
  return what === 'invoices' ? confirmInvoices(app, options) : confirmChanges(app, options, what);
}

const howToDecide = 'Nothing was done. To decide, say why: add --reason "…" (--help shows what else can be done).';

/** Messages say `waybill confirm`: without a reason it shows what it is about, and how to go on. */
function onlyLooks({ dryRun, reason }: ConfirmOptions): boolean {
  return (dryRun ?? false) || !reason;
}

const shownInvoices = 20;

/** Takes the invoices off the list that a person was shown; one that a pull has met meanwhile stays. */
async function confirmInvoices({ context, output, settings }: CommandApp, options: ConfirmOptions): Promise<number> {
  const { adopt, discard, yes, key, reason = '' } = options;
  const looks = onlyLooks(options);
  if (adopt || discard || key)
    throw new UsageError(
      '--adopt, --discard and --key are for customers and orders. To keep the invoices: do nothing.',
    );
  const held = await context.store.read('look at what is held', (tx) => listHeldInvoices(tx, 1_000_000));
  const { rows, count, sum } = held;
  const first = rows.slice(0, shownInvoices);
  const shown = { held: count, sum, currency: settings.amounts.currency, first };
  const amount = amountFormatter(settings.amounts);
  if (count === 0) output.line('No invoice is held.');
  else {
    output.line(`${count} invoices, ${amount(sum)} ${shown.currency} in all, are missing from the service’s list:`);
    const row = (one: (typeof rows)[number]) => [one.invoice_no, one.customer_code, amount(one.amount), one.due_date];
    output.table(['invoice', 'customer', `amount (${shown.currency})`, 'due'], first.map(row), { total: count });
  }
  if (looks || count === 0) {
    if (count > 0 && !options.dryRun) output.line(howToDecide);
    output.json(looks ? shown : { ...shown, done: 0 });
    return count === 0 ? exitCode.done : exitCode.waitsForPerson;
  }
  if (!(await confirm(`Take ${count} invoices off the list?`, yes))) {
    output.line('Nothing was done.');
    return exitCode.failed;
  }
  const numbers = rows.map(({ invoice_no }) => invoice_no);
  const done = await confirmDrop(context, numbers, reason);
  output.json({ ...shown, done });
  output.line(`No longer listed: ${done}.`);
  return exitCode.done;
}

function confirmationOf({ adopt, discard }: ConfirmOptions): Confirmation {
  if (adopt) return 'adopt';
  return discard ? 'discard' : 'send';
}

async function confirmChanges(app: CommandApp, options: ConfirmOptions, plural: Plural | undefined): Promise<number> {
  const { context, output, source } = app;
  const { yes, key, by, reason = '' } = options;
  const looks = onlyLooks(options);
  const confirmation = confirmationOf(options);
  const entity = plural && entityOf(plural);
  const records = key && (await meantBy(app, key, by, entity));
  const filter: HeldFilter = defined({ entity, source, records });
  const { summary: held, shown } = await summariseHeld(context, filter);
  show(output, held);
  if (!plural && (await context.store.read('look for held invoices', isDropHeld)))
    output.line('A brake keeps invoices on the list: waybill confirm invoices --dry-run');
  const isNothing = held.held === 0 && held.brakes.length === 0;
  if (looks || isNothing) {
    if (!isNothing && !options.dryRun) output.line(howToDecide);
    output.json(looks ? held : { ...held, done: 0 });
    return isNothing ? exitCode.done : exitCode.waitsForPerson;
  }
  if (!(await confirm(`${heldWords[confirmation].question} ${held.held} changes?`, yes))) {
    output.line('Nothing was done.');
    return exitCode.failed;
  }
  const { done, leftIds } = await confirmHeld(context, filter, confirmation, shown, reason);
  output.json({ ...held, done });
  output.line(`${heldWords[confirmation].outcome}: ${done}.`);
  if (leftIds.length > 0) output.line(`${leftIds.length} changed meanwhile, and were left alone.`);
  return exitCode.done;
}

function show(output: Output, held: HeldSummary): void {
  for (const brake of held.brakes)
    output.line(
      `All updates and removals of ${brake.entity}s${brake.source ? ` of source ${brake.source}` : ''} are held: ${brake.reason}.`,
    );
  if (held.held === 0) {
    output.line('No change is held.');
    return;
  }
  output.table(
    ['count', 'entity', 'what', 'held because'],
    held.groups.map((group) => [group.count, group.entity, group.operation, shorten(group.reason, 90)]),
  );
  if (held.fields.length > 0)
    output.table(
      ['entity', 'field', 'records'],
      held.fields.map(({ entity, field, count }) => [entity, field, count]),
    );
  output.table(
    ['entity', 'key', 'number', 'what', 'fields'],
    held.first.map((one) => [one.entity, one.sourceKey, one.number, one.operation, shorten(one.fields.join(', '), 60)]),
    { total: held.held },
  );
}
