import { spawn } from 'node:child_process';

/** Outlives this process, and cleans up behind it when it dies without a chance to do so itself. */
export interface Watchdog {
  /** Names a process to kill when this one is gone. */
  guard(processId: number): void;
  /** It has ended by itself: its id may be a stranger's one day. */
  forget(processId: number): void;
  /** Kills the guarded processes that are left, removes the folder, and ends the watchdog. */
  release(): Promise<void>;
}

/**
 * The kernel closes our end of the pipe however this process ends, `kill -9` included; end-of-file is the
 * watchdog's signal. Each line names a process to kill (+) or to forget (-). A shell needs no start-up time worth naming.
 */
const SCRIPT = `
guarded=' '
while read -r sign id; do
  case $sign in
    +) guarded="$guarded$id " ;;
    -) while case $guarded in *" $id "*) true ;; *) false ;; esac; do
         guarded="\${guarded%%" $id "*} \${guarded#*" $id "}"
       done ;;
  esac
done
for id in $guarded; do kill -KILL "$id"; done
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`;

/** Starts a watchdog over `folder`, which it removes in the end, and over the processes that are named to it. */
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
      shell.stdin.write(`+ ${processId}\n`);
    },
    forget(processId) {
      shell.stdin.write(`- ${processId}\n`);
    },
    async release() {
      shell.ref();
      shell.stdin.end();
      await ended;
    },
  };
}
