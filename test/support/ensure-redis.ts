import { ensurePrograms, type ProgramNeed } from './ensure-programs.js';

const REDIS: ProgramNeed = {
  purpose: 'A private Redis server is started (version 7 or newer)',
  programs: ['redis-server'],
  debianPackages: ['redis-server'],
  // The package would also start a server of the system's own.
  whileInstalling: { file: '/usr/sbin/policy-rc.d', text: '#!/bin/sh\nexit 101\n' },
  elsewhere: [
    'Fedora, RHEL:    sudo dnf install redis',
    'Arch Linux:      sudo pacman -S redis',
    'macOS:           brew install redis',
  ],
};

/** Makes sure that a Redis server can be started, or says what to install. It starts none. */
export function ensureRedis(): void {
  ensurePrograms(REDIS);
}
