import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../support/project-root.js';
import { type PlantedBug, plantedBugs, type TestedBug, testedBugs } from './planted-bugs.js';

const run = promisify(execFile);
const json = process.argv.includes('--json');
const say = json ? console.error : console.log;
const only = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));

interface Catch {
  bug: string;
  /** The invariant, and a seed in which it noticed the bug; or the test that did. Null: nothing did. */
  by: string | null;
}

const bugs = [...testedBugs(), ...plantedBugs()].filter(({ name }) => only.length === 0 || only.includes(name));
const unknown = process.argv
  .slice(2)
  .filter((argument) => argument !== '--json' && !bugs.some(({ name }) => name === argument));

const copied = ['src', 'test', 'bench', 'ormconfig.ts', 'package.json', 'tsconfig.json'];

/** Proves the checker: every planted bug, built into a copy of the program, has to break a promise, or to fail a test, that is named. */
async function proof(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-proof-'));
  const by: Catch[] = [];
  try {
    for (const name of [...copied, 'config', 'docs', '.mocharc.cjs'])
      await cp(join(projectRoot, name), join(folder, name), { recursive: true });
    await symlink(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
    for (const bug of bugs) {
      const caught = await tryBug(bug, folder);
      by.push(caught);
      say(`${bug.name}: ${caught.by === null ? 'NOT CAUGHT' : `caught by ${caught.by}`}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const planted = by.length;
  const caught = by.filter((one) => one.by !== null).length;
  if (json) console.log(JSON.stringify({ planted, caught, by }, null, 2));
  else say(`${caught} of ${planted} planted bugs were caught`);
  return caught === planted ? 0 : 1;
}

async function tryBug(bug: PlantedBug | TestedBug, folder: string): Promise<Catch> {
  const git = (...args: string[]) =>
    run('git', ['apply', ...args, bug.file], {
      cwd: folder,
      env: { PATH: process.env.PATH, GIT_CEILING_DIRECTORIES: tmpdir() },
    });
  await git();
  try {
    // Code that does not compile may not even start, and would be caught without any mistake. Something may be left
    // unused.
    const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [compiler, '-p', 'tsconfig.json', '--noUnusedLocals', 'false'], { cwd: folder });
    return { bug: bug.name, by: 'test' in bug ? await failedTest(bug, folder) : await brokenPromise(bug, folder) };
  } finally {
    await git('--reverse');
  }
}

/** @returns the promise that the torture found broken */
async function brokenPromise(bug: PlantedBug, folder: string): Promise<string | null> {
  const { stdout } = await run(
    process.execPath,
    [
      'dist/test/torture/main.js',
      '--json',
      '--list',
      bug.seeds.join(','),
      '--store',
      bug.store,
      '--dispatcher',
      bug.dispatcher,
      '--patience',
      '20',
      '--until',
      bug.caughtBy.join(','),
    ],
    { cwd: folder, maxBuffer: 64 * 1024 * 1024, env: process.env },
  ).catch((error: { stdout?: string }) => {
    // It ends with an error where seeds broke, as they should; without a report it is the run itself that broke.
    if (!error.stdout) throw error;
    return { stdout: error.stdout };
  });
  const report = JSON.parse(stdout) as { failures: { seed: number; invariant: string }[] };
  const failure = report.failures.find(({ invariant }) => bug.caughtBy.includes(invariant));
  return failure ? `${failure.invariant}, seed ${failure.seed}` : null;
}

/** @returns the test that fails */
async function failedTest({ test, title }: TestedBug, folder: string): Promise<string | null> {
  const file = test.replace(/^test\/(.*)\.ts$/, 'dist/test/$1.js');
  const mocha = join(projectRoot, 'node_modules/mocha/bin/mocha.js');
  const fails = await run(process.execPath, [mocha, file, '--fgrep', title, '--reporter', 'json'], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  }).then(
    () => false,
    ({ stdout = '' }: { stdout?: string }) => /"failures": [1-9]/.test(stdout) && /"tests": [1-9]/.test(stdout),
  );
  return fails ? `the test "${title}"` : null;
}

if (unknown.length > 0)
  say(
    `No planted bug is called ${unknown.join(', ')}. There are: ${[...testedBugs(), ...plantedBugs()]
      .map(({ name }) => name)
      .join(', ')}`,
  );
process.exitCode = unknown.length > 0 ? 2 : await proof();
