import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Host name and machine id: tells a machine from a copy of it that got another name. */
export function machineIdentity(): string {
  let id = '';
  try {
    id = readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    // Containers often have none; the host name must do there.
  }
  return id ? `${hostname()} (${id.slice(0, 12)})` : hostname();
}
