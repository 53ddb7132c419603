import { Argument, type Command } from 'commander';
import { appendAudit } from '../audit/audit-log.js';
import { type Lane, resumeLane } from '../store/lane-pauses.js';
import { type CommonOptions, describeCommand, print, withApp } from './command.js';
import { exitCode } from './exit-codes.js';
import { lanes } from './pause.js';

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
