import { ensurePrograms, type ProgramNeed } from './ensure-programs.js';

export const POSTGRES: ProgramNeed = {
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
};

/** Makes sure that the tests can start a PostgreSQL server, or says what to install. It starts none. */
export function ensurePostgres(): void {
  ensurePrograms(POSTGRES);
}
