import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { findExecutable } from './find-executable.js';

const NEEDED = ['mariadbd', 'mariadb-install-db'];

/**
 * The server's programs without the package that would also set up and start a server of the system's own. The
 * client's core holds `my_print_defaults`, which mariadb-install-db can't do without.
 */
const PACKAGES = ['mariadb-server-core', 'mariadb-client-core'];

/** What the decision depends on, so that a test can decide for machines that it doesn't run on. */
export interface Machine {
  isRoot: boolean;
  /** The contents of /etc/os-release, or an empty text. */
  osRelease: string;
  find(program: string): string | undefined;
  run(program: string, programArguments: readonly string[]): void;
  say(line: string): void;
}

/**
 * Makes sure that the tests can start a MariaDB of their own: as root on Debian a missing one is installed, anywhere
 * else the error says what to install. Nothing is started, and nothing that is installed is replaced.
 */
export function ensureMariaDb(machine: Machine = thisMachine()): void {
  if (isInstalled(machine)) return;

  const aptGet = machine.find('apt-get');
  if (!machine.isRoot || !isDebian(machine.osRelease) || aptGet === undefined) throw new Error(whatToInstall(machine));

  machine.say(`The tests need MariaDB's server programs. Installing ${PACKAGES.join(' and ')} with apt-get.`);
  try {
    machine.run(aptGet, ['update', '--quiet']);
    // --no-remove: MySQL's packages exclude these, and a test run must not take away somebody's database server.
    machine.run(aptGet, ['install', '--yes', '--quiet', '--no-install-recommends', '--no-remove', ...PACKAGES]);
  } catch (error) {
    throw new Error(`apt-get could not install MariaDB (see above). ${whatToInstall(machine)}`, { cause: error });
  }
  if (!isInstalled(machine)) throw new Error(`apt-get reported success, yet: ${whatToInstall(machine)}`);
}

function isInstalled(machine: Machine): boolean {
  return NEEDED.every((program) => machine.find(program) !== undefined);
}

/** Debian itself, or one that calls itself like it. */
function isDebian(osRelease: string): boolean {
  return /^ID(_LIKE)?=.*\bdebian\b/m.test(osRelease);
}

function whatToInstall(machine: Machine): string {
  const missing = NEEDED.filter((program) => machine.find(program) === undefined);
  return [
    `The tests start a private MariaDB server, and can't find ${missing.join(' and ')} on PATH or in /usr/sbin.`,
    'Install MariaDB 10.6 or newer (its server need not run), then run the tests again:',
    `  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install ${PACKAGES.join(' ')}`,
    '  Fedora, RHEL:    sudo dnf install mariadb-server',
    '  Arch Linux:      sudo pacman -S mariadb',
    '  macOS:           brew install mariadb',
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
    say: (line) => console.log(line),
  };
}
