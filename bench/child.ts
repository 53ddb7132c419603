import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Starts a file of this folder as a process that talks by messages. */
export function child(file: string): ChildProcess {
  return fork(join(import.meta.dirname, file), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

/** The next message of a process. @throws when it ends instead */
export async function message(from: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const end = (code: number | null) => ended.abort(new Error(`${from.spawnfile} ended with ${code} and said nothing.`));
  from.once('exit', end);
  try {
    return (await once(from, 'message', { signal: ended.signal }))[0];
  } finally {
    from.off('exit', end);
  }
}
