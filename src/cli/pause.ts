import { Argument, type Command } from 'commander';
import { appendAudit } from '../audit/audit-log.js';
import { type Lane, pauseLane, resumeLane } from '../store/lane-pauses.js';
import { type CommonOptions, describeCommand, exitCode, print, withApp } from './command.js';

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

export function resumeCommand(): Command {
  return describeCommand({
    name: 'resume',
    summary: 'End the pauses of a job (or of all), whoever or whatever made them.',
    example: 'waybill resume deliver --reason "migration is over"',
  })
    .addArgument(
      new Argument('[lane]', 'what goes on; service: all that talks to the service; without it everything').choices([
        ...lanes,
        'service',
      ]),
    )
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(async (lane: Lane | undefined, options: CommonOptions & { reason: string }) => {
      await withApp('resume', options, async ({ store, context }) => {
        const chosen: Lane[] = lane ? [lane] : [...lanes, 'service'];
        const ended = await store.transaction('resume', async (tx) => {
          let count = 0;
          for (const one of chosen) count += await resumeLane(tx, one);
          await appendAudit(
            tx,
            [
              {
                event: 'resume',
                outcome: 'operator',
                actor: context.actor,
                detail: { lanes: chosen, reason: options.reason, ended: count },
              },
            ],
            context.nowMs(),
          );
          return count;
        });
        print(ended > 0 ? `Ended ${ended} pause${ended > 1 ? 's' : ''}: ${chosen.join(', ')}.` : 'Nothing was paused.');
        return exitCode.done;
      });
    });
}
