import { Argument, type Command } from 'commander';
import { pausableJobs, pauseJobs, resumeLanes } from '../operator/pause-jobs.js';
import type { Lane } from '../store/lane-pauses.js';
import { describeCommand, inApp } from './command.js';

export function pauseCommand(): Command {
  return describeCommand(
    'pause',
    'Stop a job (or all) before its next request, until `resume`. A pause survives restarts.',
    'waybill pause deliver --reason "service is being migrated"',
  )
    .addArgument(
      new Argument(
        '[lane]',
        'what to stop: reading the ERP, delivering, or pulling invoices; without it all three',
      ).choices(pausableJobs),
    )
    .requiredOption('--reason <text>', 'why, for the audit')
    .action(
      inApp(async ({ context, output }, { reason }: { reason: string }, lane: Lane | undefined) => {
        const jobs = lane ? [lane] : pausableJobs;
        await pauseJobs(context, jobs, reason);
        output.line(`Paused: ${jobs.join(', ')}. Go on with: waybill resume${lane ? ` ${lane}` : ''} --reason "…"`);
      }),
    );
}

export function resumeCommand(): Command {
  return describeCommand(
    'resume',
    'End all pauses of a job (or of all jobs), by an operator or by Waybill itself.',
    'waybill resume deliver --reason "migration is over"',
  )
    .addArgument(
      new Argument(
        '[lane]',
        'what goes on; service: everything that talks to the service; without it everything',
      ).choices([...pausableJobs, 'service']),
    )
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(
      inApp(async ({ context, output }, { reason }: { reason: string }, lane: Lane | undefined) => {
        const lanes: readonly Lane[] = lane ? [lane] : [...pausableJobs, 'service'];
        const ended = await resumeLanes(context, lanes, reason);
        output.line(
          ended > 0 ? `Ended ${ended} pause${ended > 1 ? 's' : ''}: ${lanes.join(', ')}.` : 'Nothing was paused.',
        );
      }),
    );
}
