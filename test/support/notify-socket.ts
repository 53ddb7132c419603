import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ensure } from './needed-programs.js';

/** Node has no Unix datagram sockets. The perl of every Debian has them, in perl-base. Answers nothing, as systemd doesn't. */
const listenAndPrint = `
use Socket; $| = 1;
socket(my $s, AF_UNIX, SOCK_DGRAM, 0) or die; bind($s, pack_sockaddr_un($ARGV[0])) or die "$ARGV[0]: $!";
print "listening\\n";
while (defined recv($s, my $text, 4096, 0)) { $text =~ tr/\\n/ /; print "$text\\n" }`;

/** A stand-in for systemd: the socket at which services tell it how they are. */
export class NotifySocket {
  readonly messages: string[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #child: ChildProcess;

  private constructor(readonly path: string) {
    this.#child = spawn('perl', ['-e', listenAndPrint, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      this.messages.push(line);
      for (const look of this.#waiting) look();
    });
  }

  static async open(path: string): Promise<NotifySocket> {
    ensure('systemdNotify');
    const socket = new NotifySocket(path);
    await socket.next((message) => message === 'listening', 0);
    return socket;
  }

  /** Resolves with the first message that fits, from the `from`th on. */
  next(fits: (message: string) => boolean, from = this.messages.length): Promise<string> {
    return new Promise((resolve) => {
      const look = () => {
        const found = this.messages.slice(from).find(fits);
        if (found === undefined) return;
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Resolves when no ping has come for so long, as systemd's watchdog does. Does not keep the process alive. */
  silence(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#waiting.delete(again);
        resolve();
      };
      let timer = setTimeout(end, ms).unref();
      const again = () => {
        if (!this.messages.at(-1)?.includes('WATCHDOG=1')) return;
        clearTimeout(timer);
        timer = setTimeout(end, ms).unref();
      };
      this.#waiting.add(again);
    });
  }

  async close(): Promise<void> {
    this.#child.kill();
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'close');
  }
}
