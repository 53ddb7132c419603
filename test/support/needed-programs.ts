import { ensurePrograms, type ProgramNeed } from './ensure-programs.js';

/** Keeps a Debian package from starting a server of the system's own while it is installed. */
const startsNoServer = { file: '/usr/sbin/policy-rc.d', text: '#!/bin/sh\nexit 101\n' };

/** Every program that a test or a benchmark needs of the machine. */
export const neededPrograms = {
  mariadb: {
    purpose: 'The tests start a private MariaDB server',
    programs: ['mariadbd', 'mariadb-install-db'],
    // Not `mariadb-server`: that package also sets up and starts a server of the system's own. These are its programs
    // alone; the client's core holds `my_print_defaults`, which mariadb-install-db can't do without.
    debianPackages: ['mariadb-server-core', 'mariadb-client-core'],
    elsewhere: [
      'Fedora, RHEL:    sudo dnf install mariadb-server',
      'Arch Linux:      sudo pacman -S mariadb',
      'macOS:           brew install mariadb',
    ],
  },
  postgres: {
    purpose: 'The tests start a private PostgreSQL server (version 15 or newer)',
    programs: ['postgres', 'initdb'],
    debianPackages: ['postgresql'],
    // The package would also set up and start a server of the system's own.
    whileInstalling: {
      file: '/etc/postgresql-common/createcluster.d/waybill-tests.conf',
      text: 'create_main_cluster = false\n',
    },
    elsewhere: [
      'Fedora, RHEL:    sudo dnf install postgresql-server',
      'Arch Linux:      sudo pacman -S postgresql',
      'macOS:           brew install postgresql@17, with its folder bin on PATH',
    ],
  },
  redis: {
    purpose: 'A private Redis server is started (version 7 or newer)',
    programs: ['redis-server'],
    debianPackages: ['redis-server'],
    whileInstalling: startsNoServer,
    elsewhere: [
      'Fedora, RHEL:    sudo dnf install redis',
      'Arch Linux:      sudo pacman -S redis',
      'macOS:           brew install redis',
    ],
  },
  chromium: {
    purpose: 'The tests open the pages of the desk in Chromium',
    programs: ['chromium'],
    debianPackages: ['chromium'],
    elsewhere: [
      'Fedora, RHEL:    sudo dnf install chromium',
      'Arch Linux:      sudo pacman -S chromium',
      'macOS:           brew install --cask chromium',
    ],
  },
  promtool: {
    purpose: 'The tests check the alert rules with promtool',
    programs: ['promtool'],
    debianPackages: ['prometheus'],
    whileInstalling: startsNoServer,
    elsewhere: ['Fedora, RHEL:    promtool of prometheus.io/download', 'macOS:           brew install prometheus'],
  },
  systemdAnalyze: {
    purpose: 'The tests check waybill.service with systemd-analyze',
    programs: ['systemd-analyze'],
    debianPackages: ['systemd'],
    elsewhere: ['Other Linux:     the package systemd', 'macOS:           there is none; CI runs these tests'],
  },
  systemdNotify: {
    purpose: 'The tests of the service under systemd',
    programs: ['systemd-notify', 'perl'],
    debianPackages: ['systemd', 'perl-base'],
    elsewhere: [
      'Other Linux:     the packages systemd and perl',
      'macOS:           there is none; CI runs these tests',
    ],
  },
  zsh: {
    purpose: 'The tests try the completion in zsh',
    programs: ['zsh'],
    debianPackages: ['zsh'],
    elsewhere: ['Elsewhere:       the package zsh'],
  },
  python: {
    purpose: 'The tests run the program of docs/audit.md',
    programs: ['python3'],
    debianPackages: ['python3-minimal'],
    elsewhere: ['Elsewhere:       Python 3'],
  },
  openssl: {
    purpose: 'The tests make certificates with openssl',
    programs: ['openssl'],
    debianPackages: ['openssl'],
    elsewhere: ['Fedora:          sudo dnf install openssl', 'macOS:           brew install openssl'],
  },
  shellTools: {
    purpose: 'The tests type the commands of the documents',
    programs: ['git', 'curl', ...(process.getuid?.() === 0 ? ['runuser', 'useradd', 'userdel'] : [])],
    debianPackages: ['git', 'curl', 'util-linux', 'passwd'],
    elsewhere: ['Elsewhere:       the packages git, curl, util-linux and shadow'],
  },
} satisfies Record<string, ProgramNeed>;

/** Makes sure of a program by its name in the table, or says what to install. It starts none. */
export function ensure(name: keyof typeof neededPrograms): void {
  ensurePrograms(neededPrograms[name]);
}

/** Makes sure of the servers that most files share. */
export function ensureServers(): void {
  for (const name of ['mariadb', 'postgres', 'redis'] as const) ensure(name);
}

/**
 * Installs all that is missing before the first test, so that no test's time passes while a package is fetched. A test whose
 * program can't be had says so itself.
 */
export function ensureAll(): void {
  ensureServers();
  for (const need of Object.values(neededPrograms)) {
    try {
      ensurePrograms(need);
    } catch (error) {
      console.error(error instanceof Error ? error.message : error);
    }
  }
}
