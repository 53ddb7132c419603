import { readdirSync, readFileSync } from 'node:fs';

/** The living children of this process, as `id command line`. Empty where there is no /proc to ask. */
export function childProcesses(): string[] {
  return processIds().flatMap((id) => {
    // `id (program) state parent …`, and the program's name may hold spaces and brackets.
    const [, program, state, parent] = /\((.*)\) (\S) (\d+)/s.exec(read(id, 'stat')) ?? [];
    if (Number(parent) !== process.pid || state === 'Z') return [];
    // One that is ending has a name still, but no command line.
    return [`${id} ${read(id, 'cmdline').replaceAll('\0', ' ').trim() || program}`];
  });
}

function processIds(): string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function read(processId: string, file: 'stat' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${processId}/${file}`, 'utf8');
  } catch {
    return ''; // It ended in the meantime.
  }
}
