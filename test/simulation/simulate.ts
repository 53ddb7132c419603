import { hash } from 'node:crypto';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { allCommands, run } from '../../src/cli/run.js';
import { projectRoot } from '../support/project-root.js';
import { drawHistory, type History, kindOf, namesOf, shrink, type Told, tell, vocabulary } from './history.js';
import { knownFaults } from './known-faults.js';
import { real, realFs } from './machine/intercept.js';
import { interceptStore, rememberMigrations } from './machine/intercept-store.js';
import { Pairs } from './pairs.js';
import { doctored, soundHistory } from './prove.js';
import { staleNames, unknownValues } from './world/command-operations.js';
import { deskAmiss } from './world/desk-operations.js';
import { interceptNetwork } from './world/network.js';
import { settingsAmiss } from './world/settings-operations.js';
import type { Ended } from './world/world.js';

const say = (line: string) => void real.write(`${line}\n`);

function option(argv: readonly string[], name: string): string | undefined {
  const at = argv.indexOf(name);
  return at < 0 ? undefined : argv[at + 1];
}

/** A history as `--json` prints it with a finding. */
function historyIn(text: string): History {
  const given = JSON.parse(text.split('\n')[0] as string) as History & { history?: History };
  return given.history ?? given;
}

/** A module that is loaded in the middle of a history would take real time. */
async function loadEverything(): Promise<void> {
  // Listed from the sources, because the compiled file of a deleted source stays behind.
  const sources = realFs.readdirSync(join(projectRoot, 'src'), { recursive: true }) as string[];
  const compiled = sources.filter((one) => /\.tsx?$/.test(one)).map((one) => one.replace(/\.tsx?$/, '.js'));
  for (const file of compiled.filter((one) => !/main\.js$|settings-reference/.test(one)))
    await import(pathToFileURL(join(projectRoot, 'dist/src', file)).href);
  createRequire(import.meta.url)('undici/lib/core/connect.js');
}

export async function main(argv: readonly string[]): Promise<number> {
  process.env.WAYBILL_SERVICE_TOKEN = 'a-simulated-token';
  interceptNetwork();
  interceptStore();
  await loadEverything();
  await rememberMigrations();
  const areas = vocabulary(await allCommands());
  // To look for what is not known yet.
  const without = option(argv, '--without')?.split(',') ?? [];
  for (const area of Object.values(areas))
    area.operations = Object.fromEntries(Object.entries(area.operations).filter(([name]) => !without.includes(name)));
  // Its name stands in what commands print, so that it is as long everywhere.
  const folder = join(
    realFs.existsSync('/dev/shm') ? '/dev/shm' : tmpdir(),
    `waybill-simulation-${String(real.pid).padStart(8, '0')}`,
  );
  const trace = argv.includes('--trace')
    ? ({ argv: typed, process: { state, exitCode, out, err } }: Ended) =>
        say(`$ waybill ${typed.join(' ')}\n${out}${err}(${state} ${exitCode})`)
    : null;
  const told = (history: History) => tell(history, areas, run, folder, { onCommand: trace });
  if (argv.includes('--prove')) return prove(areas, folder);
  if (argv.includes('--vocabulary')) {
    say(JSON.stringify(await vocabularyReport(areas, Number(option(argv, '--histories') ?? 3000))));
    return 0;
  }
  return tellAll(argv, areas, told);
}

/** Tells one history after the other, as the options ask, and what is wrong in them. */
async function tellAll(
  argv: readonly string[],
  areas: ReturnType<typeof vocabulary>,
  told: (history: History) => Promise<Told>,
): Promise<number> {
  const isJson = argv.includes('--json');
  const given = option(argv, '--history');
  const focus = option(argv, '--focus') ?? null;
  const first = Number(option(argv, '--seed') ?? 1);
  const count = given ? 1 : Number(option(argv, '--histories') ?? 100);
  // The workers of one run take turns.
  const stride = Number(option(argv, '--stride') ?? 1);
  const shrinks = !argv.includes('--no-shrink');
  const begunAt = real.performanceNow();
  const pairs = new Pairs(namesOf(areas), option(argv, '--unmet'));
  let steps = 0;
  let found = 0;
  for (let i = 0; i < count; i++) {
    const history = given
      ? historyIn(realFs.readFileSync(given, 'utf8'))
      : drawHistory(first + i * stride, areas, focus, pairs.before);
    pairs.met(history);
    const end = await told(history).catch((error: Error) => ({
      wrong: [`simulator: ${error.stack}`],
      known: new Set<string>(),
      story: [],
      steps: 0,
      arrivals: [],
    }));
    steps += end.steps;
    show(argv, history, end);
    if (end.wrong.length === 0) continue;
    found++;
    const kind = kindOf(end.wrong[0] as string);
    const smallest = shrinks && kind !== 'simulator' ? await shrink(history, kind, told) : history;
    const { wrong, story } = smallest === history ? end : await told(smallest);
    if (isJson) say(JSON.stringify({ seed: history.seed, kind, wrong, story, history: smallest }));
    else sayStory(history, wrong, story);
    if (argv.includes('--until-found')) break;
  }
  const seconds = (real.performanceNow() - begunAt) / 1000;
  const summary = { histories: count, found, steps, seconds: Math.round(seconds), ...pairs.close() };
  say(isJson ? JSON.stringify(summary) : `\n${JSON.stringify(summary)}`);
  return found > 0 ? 1 : 0;
}

/** The parts of each history that the options ask to see. */
function show(argv: readonly string[], { seed }: History, end: Awaited<ReturnType<typeof tell>>): void {
  if (argv.includes('--wire')) for (const one of end.arrivals) say(JSON.stringify(one));
  if (argv.includes('--verbose'))
    say(`${seed}: ${[...end.wrong, ...end.known].join(' | ') || 'well'}\n  ${end.story.join('\n  ')}`);
  if (argv.includes('--digest')) say(JSON.stringify({ seed, digest: digestOf(end) }));
}

function sayStory({ seed, personality }: History, wrong: readonly string[], story: readonly string[]): void {
  say(`\nseed ${seed}: ${wrong.join('\n  ')}`);
  say(`  again: npm run simulate -- --seed ${seed} --histories 1`);
  say(`  service: ${JSON.stringify(personality)}`);
  for (const line of story) say(`  ${line}`);
}

/** Stands for all that happened: the same on every machine. */
function digestOf({ story, arrivals, wrong }: Awaited<ReturnType<typeof tell>>): string {
  return hash(
    'sha256',
    JSON.stringify([story, arrivals.map(({ query, ...one }) => [one, String(query)]), wrong]),
  ).slice(0, 16);
}

/** The number of draws of each operation, and the parts of the product's own tables that nobody thought of. */
async function vocabularyReport(areas: ReturnType<typeof vocabulary>, histories: number) {
  const drawn: Record<string, number> = {};
  for (const { operations } of Object.values(areas)) for (const name of Object.keys(operations)) drawn[name] = 0;
  for (let seed = 1; seed <= histories; seed++)
    for (const { name } of drawHistory(seed, areas, null).steps) drawn[name] = (drawn[name] ?? 0) + 1;
  const commands = await allCommands();
  return { drawn, amiss: [...unknownValues(commands), ...staleNames(commands), ...settingsAmiss(), ...deskAmiss()] };
}

/** Does to sound worlds what the oracle must notice. Prints a line of JSON for each. */
async function prove(areas: ReturnType<typeof vocabulary>, folder: string): Promise<number> {
  const personality = {
    ...drawHistory(1, areas, null).personality,
    keyLifetimeMs: 86_400_000,
    limit: { requests: 10, perMs: 1_000 },
  };
  const history = soundHistory({ ...personality, flagsRefusals: false, customerIds: 'code' });
  const sound = await tell(history, areas, run, folder);
  say(JSON.stringify({ done: 'nothing', wanted: null, found: sound.wrong }));
  for (const { name: fault, steps, personality: special } of knownFaults) {
    const given = { ...history, personality: { ...history.personality, ...special } };
    const { known } = await tell(
      { ...given, steps: steps.map(([name, seed]) => ({ name, seed })) },
      areas,
      run,
      folder,
    );
    say(JSON.stringify({ done: `nothing; still open: ${fault}`, wanted: fault, found: [...known] }));
  }
  let missed = sound.wrong.length;
  for (const [done, { kind, doctor }] of Object.entries(doctored)) {
    const { wrong } = await tell(history, areas, run, folder, { doctor });
    const isFound = wrong.some((one) => kindOf(one) === kind);
    if (!isFound) missed++;
    say(JSON.stringify({ done, wanted: kind, found: wrong }));
  }
  return missed > 0 ? 1 : 0;
}
