import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findExecutable } from './find-executable.js';

/** Programs that tests need of the machine, and where they come from. */
export interface ProgramNeed {
  /** As in "The tests start a private MariaDB server", for the one who reads that they can't. */
  purpose: string;
  programs: readonly string[];
  debianPackages: readonly string[];
  /** The file that keeps the packages from doing more than to install programs; it exists only while they are installed. */
  whileInstalling?: { file: string; text: string };
  /** One line each for other systems. */
  elsewhere: readonly string[];
}

/** The facts on which the decision depends, so that a test can decide for machines that it doesn't run on. */
export interface Machine {
  isRoot: boolean;
  /** The contents of /etc/os-release, or an empty text. */
  osRelease: string;
  find(program: string): string | undefined;
  run(program: string, programArguments: readonly string[]): void;
  write(file: string, text: string): void;
  remove(file: string): void;
  say(line: string): void;
  /** Does the work while no other process of these tests installs anything. */
  alone(work: () => void): void;
}

/**
 * Makes sure that the programs are there: as root on Debian the missing are installed, anywhere else the error says
 * what to install. Nothing that is installed is removed.
 */
export function ensurePrograms(need: ProgramNeed, machine: Machine = thisMachine()): void {
  if (missingPrograms(need, machine).length === 0) return;

  const aptGet = machine.find('apt-get');
  const mayInstall = machine.isRoot && isDebian(machine.osRelease);
  if (!mayInstall || aptGet === undefined) throw new Error(whatToInstall(need, machine));

  machine.alone(() => {
    // Another process may have installed them meanwhile.
    if (missingPrograms(need, machine).length > 0) install(need, aptGet, machine);
  });
}

function install(need: ProgramNeed, aptGet: string, machine: Machine): void {
  machine.say(`${need.purpose}. Installing ${need.debianPackages.join(' and ')} with apt-get.`);
  const { whileInstalling } = need;
  if (whileInstalling) machine.write(whileInstalling.file, whileInstalling.text);
  try {
    machine.run(aptGet, ['update', '--quiet']);
    // --no-remove: MySQL's packages exclude MariaDB's, and a test run must not take away somebody's database server.
    const options = ['--yes', '--quiet', '--no-install-recommends', '--no-remove', '-o', 'DPkg::Lock::Timeout=300'];
    machine.run(aptGet, ['install', ...options, ...need.debianPackages]);
  } catch (error) {
    throw new Error(`apt-get failed (see above). ${whatToInstall(need, machine)}`, { cause: error });
  } finally {
    if (whileInstalling) machine.remove(whileInstalling.file);
  }
  if (missingPrograms(need, machine).length > 0) {
    throw new Error(`apt-get reported success, yet: ${whatToInstall(need, machine)}`);
  }
}

function missingPrograms(need: ProgramNeed, machine: Machine): string[] {
  return need.programs.filter((program) => machine.find(program) === undefined);
}

/** Debian itself, or one that calls itself like it. */
function isDebian(osRelease: string): boolean {
  return /^ID(_LIKE)?=.*\bdebian\b/m.test(osRelease);
}

function whatToInstall(need: ProgramNeed, machine: Machine): string {
  return [
    `${need.purpose}, and can't find ${missingPrograms(need, machine).join(' and ')} on PATH or in /usr/sbin.`,
    'Install it, then run the tests again:',
    `  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install ${need.debianPackages.join(' ')}`,
    ...need.elsewhere.map((line) => `  ${line}`),
  ].join('\n');
}

function thisMachine(): Machine {
  return {
    isRoot: process.getuid?.() === 0,
    osRelease: existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : '',
    find: (program) => findExecutable(program),
    run(program, programArguments) {
      execFileSync(program, programArguments, {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      });
    },
    write(file, text) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    },
    remove: (file) => rmSync(file, { force: true }),
    say: (line) => console.log(line),
    alone,
  };
}

/**
 * Does the work under a lock that every process on this machine shares: `apt-get update` fails at once beside another one.
 * The lock belongs to the open file, which the child inherits as its descriptor 3, and so outlives the child.
 */
export function alone(work: () => void, file = join(tmpdir(), 'waybill-tests-install.lock')): void {
  const lock = openSync(file, 'a');
  try {
    execFileSync('flock', ['--timeout', '900', '3'], { stdio: ['ignore', 'inherit', 'inherit', lock] });
    work();
  } finally {
    closeSync(lock);
  }
}
