import { readdirSync, readFileSync } from 'node:fs';

/** The living children of this process, as `id program`. Empty where there is no /proc to ask. */
export function childProcesses(): string[] {
  return processIds().flatMap((id) => {
    // `id (program) state parent …`, and the program's name may hold spaces and brackets.
    const [, program, state, parent] = /\((.*)\) (\S) (\d+)/s.exec(statusLine(id)) ?? [];
    return Number(parent) === process.pid && state !== 'Z' ? [`${id} ${program}`] : [];
  });
}

function processIds(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function statusLine(processId: string): string {
  try {
    return readFileSync(`/proc/${processId}/stat`, 'utf8');
  } catch {
    return ''; // It ended in the meantime.
  }
}
