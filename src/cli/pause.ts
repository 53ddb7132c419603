import { Argument, type Command } from 'commander';
import { appendAudit } from '../audit/audit-log.js';
import { pauseLane } from '../store/lane-pauses.js';
import { type CommonOptions, describeCommand, print, withApp } from './command.js';
import { exitCode } from './exit-codes.js';

export const lanes = ['capture', 'deliver', 'pull'] as const;

export function pauseCommand(): Command {
  return describeCommand({
    name: 'pause',
    summary: 'Stop a job (or all) before its next request, until `resume`. Survives restarts.',
    example: 'waybill pause deliver --reason "service is being migrated"',
  })
    .addArgument(
      new Argument(
        '[lane]',
        'what to stop: reading the ERP, delivering, pulling invoices; without it all three',
      ).choices(lanes),
    )
    .requiredOption('--reason <text>', 'why, for the audit')
    .action(async (lane: (typeof lanes)[number] | undefined, options: CommonOptions & { reason: string }) => {
      await withApp('pause', options, async ({ store, context }) => {
        const chosen = lane ? [lane] : lanes;
        await store.transaction('pause', async (tx) => {
          const at = context.nowMs();
          for (const one of chosen)
            await pauseLane(tx, {
              lane: one,
              cause: 'operator',
              until_at: null,
              reason: options.reason,
              actor: context.actor,
              since_at: at,
            });
          await appendAudit(
            tx,
            [
              {
                event: 'pause',
                outcome: 'operator',
                actor: context.actor,
                detail: { lanes: [...chosen], reason: options.reason },
              },
            ],
            at,
          );
        });
        print(`Paused: ${chosen.join(', ')}. Go on with: waybill resume${lane ? ` ${lane}` : ''} --reason "…"`);
        return exitCode.done;
      });
    });
}
