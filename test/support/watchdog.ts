import { spawn } from 'node:child_process';

/** Outlives this process, and cleans up behind it when it dies without a chance to do so itself. */
export interface Watchdog {
  /** Names the process to kill when this one is gone; `undefined` when it has ended by itself. */
  guard(processId: number | undefined): void;
  /** Kills the guarded process if there is one, removes the folder, and ends the watchdog. */
  release(): Promise<void>;
}

/**
 * The kernel closes our end of the pipe however this process ends, `kill -9` included; end-of-file is the
 * watchdog's signal. The last line it read names the process to kill. A shell needs no start-up time worth naming.
 */
const SCRIPT = `
while read -r line; do process=$line; done
[ -n "$process" ] && kill -KILL "$process"
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`;

/** Starts a watchdog over `folder`, which it removes in the end, and over at most one process. */
export function startWatchdog(folder: string): Watchdog {
  // A session of its own keeps it alive when a terminal or a CI runner signals the whole process group.
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'waybill-watchdog', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = new Promise<void>((resolve, reject) => {
    shell.once('exit', () => resolve());
    shell.once('error', reject);
  });
  ended.catch(() => {}); // Whoever calls release() hears of it.
  shell.stdin.on('error', () => {}); // Somebody killed the watchdog: there is nobody left to tell.
  // It must not keep the process that it watches alive.
  shell.unref();
  (shell.stdin as unknown as { unref(): void }).unref();

  return {
    guard(processId) {
      shell.stdin.write(`${processId ?? ''}\n`);
    },
    async release() {
      shell.ref();
      shell.stdin.end();
      await ended;
    },
  };
}
