import { Argument, type Command, Option } from 'commander';
import { isDropHeld } from '../inbound/invoices/safety-limit.js';
import { actions } from '../operator/actions/actions.js';
import { heldInvoices } from '../operator/actions/held-invoices.js';
import type { FindBy } from '../operator/find-records.js';
import { actionContext, carryOut } from './actions/carry-out.js';
import {
  type CommandApp,
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
    'Show the updates and removals on hold, and send, adopt or discard them; or the invoices that a hold keeps on the list, and take them off.',
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

const howToDecide = 'Nothing was done. To decide, say why: add --reason "…" (--help shows what else can be done).';

/** Messages say `waybill confirm`: without a reason it shows what it is about, and how to go on. */
async function confirmHeldOf(
  app: CommandApp,
  options: ConfirmOptions,
  what: Plural | 'invoices' | undefined,
): Promise<number> {
  const { adopt, discard, yes, key, by, dryRun = false, reason = '' } = options;
  const onlyLooks = dryRun ? '' : howToDecide;
  const choices = { reason, yes, ifNone: exitCode.done, ...((dryRun || reason === '') && { onlyLooks }) };
  const context = actionContext(app);
  if (what === 'invoices') {
    if (adopt || discard || key)
      throw new UsageError(
        '--adopt, --discard and --key are for customers and orders. To keep the invoices: do nothing.',
      );
    return carryOut(app, 'held_invoices', await heldInvoices.preview(context, null, {}), choices);
  }
  const entity = what && entityOf(what);
  const records = key && (await meantBy(app, key, by, entity));
  const name = confirmationOf(options);
  const subject = defined({ entity, source: app.source, records });
  const preview = await actions[name].preview(context, subject, { first: false });
  if (!what && (await app.store.read('look for held invoices', isDropHeld)))
    app.output.line('A hold keeps invoices on the list: waybill confirm invoices --dry-run');
  return carryOut(app, name, preview, choices);
}

function confirmationOf({ adopt, discard }: ConfirmOptions): 'held_send' | 'held_adopt' | 'held_discard' {
  if (adopt) return 'held_adopt';
  return discard ? 'held_discard' : 'held_send';
}
