import type { Command } from 'commander';
import { openApp, secretsOf } from '../../app.js';
import { ConfigurationError } from '../../config/configuration-error.js';
import { type LoadedSettings, loadSettings } from '../../config/load-settings.js';
import { askService } from '../../operator/setup/doctor/check-service.js';
import { examine } from '../../operator/setup/doctor/examine.js';
import { type Finding, findingsOf, guarded, type Severity } from '../../operator/setup/doctor/finding.js';
import { remedyFor, tell } from '../../words/words.js';
import { allOptions, type CommonOptions, exitCode, inApp, jsonCommand, sourceNamed, sourceOption } from '../command.js';
import { Output } from '../terminal/output.js';
import { hideFromErrors } from '../terminal/streams.js';
import { tryRecovery } from './drill.js';

interface DoctorOptions extends CommonOptions {
  askService?: boolean;
  drill?: true | string[];
}

export function doctorCommand(): Command {
  return jsonCommand(
    'doctor',
    'Look at settings, databases, queries, service and machine, and say what to do about each finding. Writes and sends nothing.',
    'waybill doctor',
  )
    .option('--ask-service', 'also ask the service for one invoice, to try the credential; the request goes on record')
    .option(
      '--drill [file...]',
      'only try a recovery: with exports of the bindings, copies of a SQLite store, and the side tables of the ERP, on a store that is thrown away',
    )
    .addOption(sourceOption())
    .action(async (...args) => {
      const options = allOptions<DoctorOptions>(args.at(-1) as Command);
      const files = options.drill === true ? [] : options.drill;
      if (files) return inApp((app) => tryRecovery(app, files), { readOnly: true })(...args);
      process.exitCode = await doctor(options);
    });
}

/** Needs no store, and goes on whatever can't be reached. */
async function doctor(options: DoctorOptions): Promise<number> {
  const findings: Finding[] = [];
  const loaded = load(options);
  const output = new Output({ ...options, secrets: 'settings' in loaded ? secretsOf(loaded.settings) : [] });
  const show = (found: readonly Finding[]) => {
    const told = found.map(({ because, what, todo, ...one }) => {
      if (because === undefined) return { ...one, what, todo };
      const remedy = todo.length === 0 ? remedyFor(because) : null;
      return {
        ...one,
        what: what === '' ? tell(because) : `${what}: ${tell(because)}`,
        todo: remedy === null ? todo : [remedy],
      };
    });
    findings.push(...told);
    for (const one of told)
      output.lines(`${marks[one.severity]} ${one.part}: ${one.what}`, ...one.todo.map((line) => `          ${line}`));
  };
  if (!('settings' in loaded)) show(loaded);
  else {
    const { settings } = loaded;
    hideFromErrors(secretsOf(settings));
    show(settingsFindings(loaded));
    for await (const found of examine(settings, { nowMs: Date.now, source: sourceNamed(settings, options.source) }))
      show(found);
    if (options.askService) show(await guarded('service', () => ask(options)));
  }
  const count = (severity: Severity) => findings.filter((one) => one.severity === severity).length;
  const counts = { errors: count('error'), warnings: count('warning'), notes: count('note') };
  output.json({ ...counts, findings });
  output.lines('', `${counts.errors} errors, ${counts.warnings} warnings, ${counts.notes} notes.`);
  if (!('settings' in loaded)) return exitCode.usage;
  if (counts.errors > 0) return exitCode.failed;
  return counts.warnings > 0 ? exitCode.waitsForPerson : exitCode.done;
}

const marks: Record<Severity, string> = { error: 'ERROR   ', warning: 'WARNING ', note: 'note    ', ok: 'ok      ' };
const finding = findingsOf('configuration');

/** The settings, or what is wrong with them. */
function load({ config }: DoctorOptions): LoadedSettings | Finding[] {
  try {
    return loadSettings({ configDir: config });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(({ path, message, found, where, allowed, hint }) => {
      const at = found === undefined ? '' : `; found ${found}${where === undefined ? '' : ` (${where})`}`;
      const todo = [allowed && `Allowed: ${allowed}`, hint].filter((line) => line !== undefined && line !== '');
      return finding('error', `${path}: ${message}${at}`, ...(todo as string[]));
    });
  }
}

function settingsFindings({ settings, warnings, configDir }: LoadedSettings): Finding[] {
  const { environment, baseUrl } = settings.service;
  return [
    finding('ok', `${configDir} is read: installation ${settings.installation}, ${environment} at ${baseUrl}.`),
    ...warnings.map((warning) => finding('warning', warning)),
  ];
}

async function ask({ config }: DoctorOptions): Promise<Finding[]> {
  const app = await openApp({ configDir: config, role: 'doctor', log: 'stderr', hide: hideFromErrors });
  try {
    return await askService(app.context, await app.client());
  } finally {
    await app.close();
  }
}
