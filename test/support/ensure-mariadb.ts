import { ensurePrograms, type ProgramNeed } from './ensure-programs.js';

export const MARIADB: ProgramNeed = {
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
};

/** Makes sure that the tests can start a MariaDB server, or says what to install. It starts none. */
export function ensureMariaDb(): void {
  ensurePrograms(MARIADB);
}
