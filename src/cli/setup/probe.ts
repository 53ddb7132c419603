import type { Command } from 'commander';
import type { ProbeFact } from '../../model/facts/probe.js';
import { redact } from '../../model/redact.js';
import type { Finding, JsonObject } from '../../operator/setup/probe/evidence.js';
import { type ProbeResult, probe, probeProblem } from '../../operator/setup/probe/probe.js';
import { writeWholeFile } from '../../store/whole-file.js';
import { proposalOf, tellFinding } from '../../telling/probe-proposal.js';
import { tell } from '../../words/words.js';
import {
  type CommandApp,
  confirm,
  exitCode,
  inApp,
  jsonCommand,
  positiveInteger,
  repeatable,
  UsageError,
} from '../command.js';
import { writeGivenFile } from '../given-file.js';
import { stopSignal } from '../terminal/stop-signal.js';
import { writeError } from '../terminal/streams.js';

interface ProbeCommandOptions {
  sandbox?: string;
  out: string;
  prefix: string;
  customer: JsonObject;
  order: JsonObject;
  existingCustomer?: string;
  keyHeader: string[];
  keyField: string[];
  forbiddenPath?: string;
  burst?: number;
  json?: boolean;
}

const mostAtOnce = 100;

export function probeCommand(): Command {
  return jsonCommand(
    'probe',
    'Find out in a sandbox what the documentation of a service leaves open, and propose settings. Makes test records, and removes them again where DELETE works.',
    'waybill probe --sandbox https://sandbox.example.com --out service-profile.yaml',
  )
    .option('--sandbox <address>', 'confirm that this address, which is the one in use, is a sandbox')
    .option('--out <file>', 'where to write the proposal: a new file', 'service-profile.yaml')
    .option('--prefix <text>', 'what the codes and notes of all test records begin with', 'WAYBILL-PROBE')
    .option('--customer <json>', 'further fields of a test customer, such as \'{"name": "Test"}\'', fields, {})
    .option('--order <json>', 'further fields of a test order; null leaves a field out', fields, {})
    .option('--existing-customer <code>', 'make orders for this customer of the sandbox, and no customers')
    .addOption(repeatable('--key-header <name>', 'a header to try for the idempotency key').default([]))
    .addOption(repeatable('--key-field <name>', 'a field of the body to try for it').default([]))
    .option('--forbidden-path <path>', 'an address that this account may not read, to see what a 403 looks like')
    .option(
      '--burst <n>',
      'at the end, read so often at once, to hear "slow down"; the service may block us for a while',
      atOnce,
    )
    .action(inApp(runProbe, { check: checkOptions }));
}

function fields(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`"${text.slice(0, 80)}" is no JSON object. Write '{"name": "Test"}'.`);
  return value as JsonObject;
}

function atOnce(text: string): number {
  return Math.min(positiveInteger(text), mostAtOnce);
}

function checkOptions({ prefix, forbiddenPath, out, json }: ProbeCommandOptions): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{2,39}$/.test(prefix))
    throw new UsageError('--prefix takes 3 to 40 letters, digits, - and _.');
  if (forbiddenPath !== undefined && !/^\/(?!\/)[^?#\s]*$/.test(forbiddenPath))
    throw new UsageError('--forbidden-path takes a path that begins with one / and has no query.');
  if (json && out === '-') throw new UsageError('--json and --out - would both write to stdout. Name a file.');
}

async function runProbe(app: CommandApp, options: ProbeCommandOptions): Promise<number> {
  const { settings, output, context } = app;
  const { service } = settings;
  const problem = probeProblem(service, options.sandbox);
  if (problem !== null) throw new UsageError(tell(problem));
  const question = `Is ${service.baseUrl} a sandbox, in which test records may be made?`;
  if (options.sandbox === undefined && !process.stdin.isTTY)
    throw new UsageError(`${question} Confirm it with --sandbox ${service.baseUrl}`);
  if (options.sandbox === undefined && !(await confirm(question, false))) return exitCode.failed;

  const stop = stopSignal(() => writeError('Stopping. What was made is removed first.'));
  const say = (step: ProbeFact) => {
    if (!options.json && options.out !== '-') output.line(`… ${tell(step)}`);
  };
  try {
    const result = await writeGivenFile(options.out, settings, (file) =>
      // The file's place is taken first: what was found must not be lost because it can't be written.
      writeWholeFile(file, async (handle) => {
        const { keyHeader: headers, keyField, ...more } = options;
        const found = await probe(context, await app.client(), {
          ...more,
          headers,
          fields: keyField,
          signal: stop.signal,
          onStep: say,
        });
        if ('holder' in found)
          throw new UsageError(
            `${found.holder} talks to the service. Stop it first: a probe needs the rate limit for itself.`,
          );
        if (isEmpty(found)) throw new NothingFound(found);
        const at = new Date(context.nowMs()).toISOString();
        await handle.writeFile(redact(proposalOf(found, service.baseUrl, at), app.secrets.all));
        return found;
      }),
    );
    return show(app, options, result);
  } catch (error) {
    if (error instanceof NothingFound) return showNothing(app, options, error.result);
    throw error;
  } finally {
    stop.release();
  }
}

/** A finding for `--json`, which tells its evidence line by line. */
function inJson(finding: Finding): object {
  return { ...finding, evidence: tellFinding(finding).evidence };
}

/** Ends the writing of the file: an empty proposal would take the name from the next probe. */
class NothingFound extends Error {
  override readonly name = 'NothingFound';

  constructor(readonly result: ProbeResult) {
    super('The probe found nothing.');
  }
}

function isEmpty({ findings, left, stopped }: ProbeResult): boolean {
  const isOpen = ({ evidence, settings }: ProbeResult['findings'][number]) =>
    evidence.length + Object.keys(settings).length === 0;
  return stopped !== null && left.length === 0 && findings.every(isOpen);
}

function showNothing(
  { output, settings }: CommandApp,
  { out }: ProbeCommandOptions,
  { findings, requests, left, stopped }: ProbeResult,
): number {
  output.json({
    service: settings.service.baseUrl,
    requests,
    stopped,
    left,
    file: null,
    findings: findings.map(inJson),
  });
  const words = [
    `The probe did not come to its end: ${stopped === null ? '' : tell(stopped)}.`,
    'It found nothing, and wrote no proposal. Mend that, and probe again.',
  ];
  if (out === '-') writeError(...words);
  else output.lines(...words);
  return exitCode.failed;
}

function show({ output, settings }: CommandApp, { out }: ProbeCommandOptions, result: ProbeResult): number {
  const { findings, requests, left, stopped } = result;
  output.json({
    service: settings.service.baseUrl,
    requests,
    stopped,
    left,
    file: out,
    findings: findings.map(inJson),
  });
  if (out !== '-') {
    output.table(
      ['point', 'found', 'ask'],
      findings.map(({ point, found, ask }) => [tell(point), tell(found), ask === null ? '' : 'yes']),
    );
    output.lines(
      stopped !== null && `The probe did not come to its end: ${tell(stopped)}.`,
      `${requests} requests. ${findings.filter(({ ask }) => ask !== null).length} points are left to ask the operator of the service.`,
      ...left.map(({ entity, name, why }) => `Left at the service: ${entity} ${name} (${tell(why)}).`),
      `The proposal, with the evidence: ${out}`,
    );
  }
  if (stopped !== null) return exitCode.failed;
  return left.length > 0 ? exitCode.waitsForPerson : exitCode.done;
}
