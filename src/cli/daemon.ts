import type { Command } from 'commander';
import { type App, openApp, secretsOf } from '../app.js';
import type { TellAlert } from '../jobs/alerts.js';
import { runSchedule } from '../jobs/schedule.js';
import { runAlertCommand } from '../ops/alert-command.js';
import { type CommonOptions, describeCommand } from './command.js';
import { exitCode } from './exit-codes.js';
import { stopSignal } from './stop-signal.js';

export function daemonCommand(): Command {
  return describeCommand({
    name: 'daemon',
    summary: 'Run the schedule until SIGTERM: capture, deliver, pull. A second daemon on the same store stands by.',
    example: 'waybill daemon --config /etc/waybill',
  }).action(async (options: CommonOptions) => {
    const app = await openApp({ configDir: options.config, role: 'daemon', log: 'stdout' });
    const { log, settings } = app;
    const stop = stopSignal((name) =>
      log.info('Stopping', { signal: name, withinSeconds: settings.delivery.drainSeconds }),
    );
    try {
      // A mapping that names a column that isn't there is a wrong configuration: say so now, not at the first pass.
      await app.reader().check();
      log.info('Started', {
        installation: settings.installation,
        environment: settings.service.environment,
        pid: process.pid,
      });
      stop.signal.addEventListener('abort', () => {
        setTimeout(() => {
          log.error('The drain took too long; what was under way will be called in doubt');
          process.exit(exitCode.failed);
        }, settings.delivery.drainSeconds * 1000).unref();
      });
      const partners = { reader: app.reader(), client: app.client(), tell: tellAlertOf(app) };
      await runSchedule(app.context, partners, stop.signal);
      log.info('Stopped');
    } finally {
      stop.release();
      await app.close();
    }
    process.exitCode = exitCode.done;
  });
}

/** The configured alert command, or null when there is none. */
function tellAlertOf({ settings }: App): TellAlert | null {
  const { command, timeoutSeconds } = settings.alert;
  if (!command) return null;
  const secrets = secretsOf(settings);
  return (notice, signal) => runAlertCommand({ command, timeoutMs: timeoutSeconds * 1000, secrets }, notice, signal);
}
