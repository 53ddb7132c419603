import { Argument, type Command } from 'commander';
import { defaultSource, inSource } from '../model/record.js';
import { actions } from '../operator/actions/actions.js';
import { pausableJobs, type Resumed } from '../operator/actions/pause-jobs.js';
import { type Lane, laneArguments } from '../store/lane-pauses.js';
import { actionContext } from './actions/carry-out.js';
import {
  type CommandApp,
  type CommonOptions,
  checkReason,
  configFlag,
  describeCommand,
  inApp,
  sourceOption,
  UsageError,
} from './command.js';

type PauseOptions = CommonOptions & { reason: string };

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
    .addOption(sourceOption())
    .requiredOption('--reason <text>', 'why, for the audit')
    .action(
      inApp(
        async (app, options: PauseOptions, lane: Lane | undefined) => {
          const { output, source } = app;
          const jobs = lanesOf(lane, source) ?? pausableJobs;
          await act('pause', app, jobs, options.reason);
          const named = lane ? ` ${lane}${source ? ` --source ${source}` : ''}` : '';
          output.line(
            `Paused: ${jobs.join(', ')}. Go on with: waybill resume${named}${configFlag(options)} --reason "…"`,
          );
        },
        { needsStore: true, check: checkReason },
      ),
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
    .addOption(sourceOption())
    .option('--reason <text>', 'why, for the audit', 'no reason given')
    .action(
      inApp(
        async (app, { reason }: { reason: string }, lane: Lane | undefined) => {
          const { output, source } = app;
          const lanes = lanesOf(lane, source) ?? [...pausableJobs, 'service'];
          const { count, ended } = (await act('resume', app, lanes, reason)).data as Resumed;
          const named = ended.map(laneArguments).join(', ');
          output.line(count > 0 ? `Ended ${count} pause${count > 1 ? 's' : ''}: ${named}.` : 'Nothing was paused.');
        },
        { needsStore: true, check: checkReason },
      ),
    );
}

async function act(name: 'pause' | 'resume', app: CommandApp, lanes: readonly Lane[], reason: string) {
  const context = actionContext(app);
  return (await actions[name].preview(context, lanes, {})).act(context, { reason, insists: false });
}

/** With several sources, only capture stops for one. @returns null: no lane is named */
function lanesOf(lane: Lane | undefined, source: string | undefined): readonly Lane[] | null {
  if (source === undefined) return lane ? [lane] : null;
  if (lane !== 'capture') throw new UsageError('--source is for capture: the sources share delivery and the pull.');
  if (source === defaultSource)
    throw new UsageError(
      'The ERP of the section `erp` is not paused by itself: pause capture of all, or of each named source.',
    );
  return [inSource(lane, source)];
}
