import { ensurePrograms } from './ensure-programs.js';
import { findExecutable } from './find-executable.js';

/** Makes sure of a browser for the tests of the desk's pages, or says what to install. @returns its path */
export function ensureChromium(): string {
  ensurePrograms({
    purpose: 'The tests open the pages of the desk in Chromium',
    programs: ['chromium'],
    debianPackages: ['chromium'],
    elsewhere: [
      'Fedora, RHEL:    sudo dnf install chromium',
      'Arch Linux:      sudo pacman -S chromium',
      'macOS:           brew install --cask chromium',
    ],
  });
  return findExecutable('chromium') ?? 'chromium';
}
