import { ensurePrograms } from './ensure-programs.js';

/** Makes sure of systemd's checker of unit files, or says what to install. systemd itself need not run. */
export function ensureSystemdAnalyze(): void {
  ensurePrograms({
    purpose: 'The tests check waybill.service with systemd-analyze',
    programs: ['systemd-analyze'],
    debianPackages: ['systemd'],
    elsewhere: ['Other Linux:     the package systemd', 'macOS:           there is none; CI runs these tests'],
  });
}
