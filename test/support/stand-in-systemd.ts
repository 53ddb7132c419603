import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { NotifySocket } from './notify-socket.js';

/** A unit's settings; one that is given several times has several values, and an empty one drops those before it. */
export function readUnit(...texts: readonly string[]): Map<string, string[]> {
  const settings = new Map<string, string[]>();
  for (const line of texts.join('\n').split('\n')) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    settings.set(name, value === '' ? [] : [...(settings.get(name) ?? []), value]);
  }
  return settings;
}

interface Account {
  uid: number;
  gid: number;
  name: string;
  home: string;
}

/**
 * Does with one unit what systemd does: account, environment, folders, credentials, readiness, watchdog, restart.
 * Directives that need a kernel (ProtectSystem and the like) are left to `systemd-analyze`. A program `systemctl` in
 * the PATH asks it over HTTP.
 */
export class StandInSystemd {
  readonly journal: string;
  /** Ends of the service's process, with the signal or the code. */
  readonly ends: (string | number)[] = [];
  #unit = new Map<string, string[]>();
  #main: ChildProcess | null = null;
  #ended: Promise<unknown> = Promise.resolve();
  #isWanted = false;
  #notify!: NotifySocket;
  readonly #server = http.createServer((request, response) => {
    const words = decodeURIComponent(request.url ?? '')
      .slice(1)
      .split(' ');
    this.#obey(words).then(
      (said) => response.end(said),
      (error: Error) => response.writeHead(500).end(`${error.message}\n`),
    );
  });

  private constructor(
    private readonly root: string,
    private readonly account: () => Account,
  ) {
    this.journal = join(root, 'journal');
    writeFileSync(this.journal, '');
  }

  /** @param root the folder in whose `etc/systemd/system` the unit lies, and below which its own folders are made */
  static async open(root: string, account: () => Account): Promise<StandInSystemd> {
    const systemd = new StandInSystemd(root, account);
    systemd.#notify = await NotifySocket.open(join(root, 'notify.socket'));
    chmodSync(join(root, 'notify.socket'), 0o777);
    await once(systemd.#server.listen(0, '127.0.0.1'), 'listening');
    return systemd;
  }

  /** A shell script that stands in for `systemctl`. */
  get systemctl(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `#!/bin/sh\nexec curl --silent --show-error --fail-with-body --get "http://127.0.0.1:${port}/$(echo "$*" | sed 's/ /%20/g')"\n`;
  }

  get pid(): number {
    return this.#main?.pid as number;
  }

  /** Resolves when the service says that it is ready once more. */
  async ready(): Promise<void> {
    await this.#notify.next((message) => message.includes('READY=1'));
  }

  async close(): Promise<void> {
    this.#isWanted = false;
    this.#main?.kill('SIGKILL');
    await this.#ended;
    await this.#notify.close();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #obey(words: readonly string[]): Promise<string> {
    const verb = words.find((word) => !word.startsWith('-')) ?? '';
    const isOurs = /^waybill(\.service)?$/.test(words.at(-1) ?? '');
    if (verb === 'daemon-reload') this.#read();
    else if (!isOurs) throw new Error(`Unit ${words.at(-1)} not found.`);
    else if (verb === 'enable' && !words.includes('--now')) return '';
    else if (verb === 'enable' || verb === 'start') await this.#start();
    else if (verb === 'stop') await this.#stop();
    else if (verb === 'reload') this.#main?.kill('SIGHUP');
    else if (verb === 'restart') {
      await this.#stop();
      await this.#start();
    } else throw new Error(`Unknown command verb ${verb}.`);
    return '';
  }

  #read(): void {
    const folder = join(this.root, 'etc/systemd/system');
    const dropIns = join(folder, 'waybill.service.d');
    const more = existsSync(dropIns) ? readdirSync(dropIns).map((name) => join(dropIns, name)) : [];
    this.#unit = readUnit(...[join(folder, 'waybill.service'), ...more].map((file) => readFileSync(file, 'utf8')));
  }

  #of(name: string): string {
    return this.#unit.get(name)?.at(-1) ?? '';
  }

  #ms(name: string): number {
    const [, number = '0', unit = 's'] = /^([\d.]+)(ms|s|min)?$/.exec(this.#of(name)) ?? [];
    return Number(number) * { ms: 1, s: 1_000, min: 60_000 }[unit as 's'];
  }

  /** A folder that belongs to the service's account alone. */
  #folder(path: string, mode: number): string {
    mkdirSync(path, { recursive: true });
    chmodSync(path, mode);
    const { uid, gid } = this.account();
    chownSync(path, uid, gid);
    return path;
  }

  async #start(): Promise<void> {
    if (this.#unit.size === 0) throw new Error('Unit waybill.service not found.');
    if (this.#main) return;
    this.#isWanted = true;
    const said = this.#notify.next((message) => message.includes('READY=1'));
    this.#spawn();
    const failed = this.#ended.then(() => 'failed');
    if ((await Promise.race([said, failed])) === 'failed')
      throw new Error(`Job for waybill.service failed:\n${readFileSync(this.journal, 'utf8').slice(-2_000)}`);
  }

  #spawn(): void {
    const { uid, gid, name, home } = this.account();
    const stateMode = Number.parseInt(this.#of('StateDirectoryMode'), 8);
    const states = this.#of('StateDirectory').split(' ');
    const state = states.map((folder) => this.#folder(join(this.root, 'var/lib', folder), stateMode)).join(':');
    const credentials = join(this.root, 'run/credentials/waybill.service');
    rmSync(credentials, { recursive: true, force: true });
    this.#folder(credentials, 0o700);
    for (const given of this.#unit.get('LoadCredential') ?? []) {
      const [id = '', file = ''] = given.split(':');
      const copy = join(credentials, id);
      writeFileSync(copy, readFileSync(file), { mode: 0o400 });
      chownSync(copy, uid, gid);
    }
    const watchdogMs = this.#ms('WatchdogSec');
    const env = {
      PATH: `${join(this.root, 'bin')}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin`,
      ...{ HOME: home, USER: name, LOGNAME: name, SHELL: '/usr/sbin/nologin', LANG: 'C.UTF-8' },
      ...{ NOTIFY_SOCKET: this.#notify.path, WATCHDOG_USEC: String(watchdogMs * 1_000) },
      ...{ STATE_DIRECTORY: state, CREDENTIALS_DIRECTORY: credentials },
      ...Object.fromEntries(
        (this.#unit.get('Environment') ?? []).map(
          (one) => one.replaceAll('%b', bootId()).split('=') as [string, string],
        ),
      ),
    };
    const before = process.umask(Number.parseInt(this.#of('UMask'), 8));
    const [program = '', ...args] = this.#of('ExecStart').split(' ');
    const ids = process.getuid?.() === 0 ? { uid, gid } : {};
    const main = spawn(program, args, {
      cwd: this.#of('WorkingDirectory'),
      env,
      ...ids,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    process.umask(before);
    this.#main = main;
    for (const stream of [main.stdout, main.stderr]) stream?.on('data', (text) => appendFileSync(this.journal, text));
    // A unit without a ping for so long is killed, by the signal of the unit.
    if (watchdogMs > 0)
      void this.#notify.silence(watchdogMs).then(() => {
        if (this.#main === main && this.#isWanted) main.kill(this.#of('WatchdogSignal') as NodeJS.Signals);
      });
    this.#ended = once(main, 'close').then(([code, signal]) => {
      this.#main = null;
      this.ends.push(code ?? signal);
      const isFailure = code !== 0 && !this.#of('RestartPreventExitStatus').split(' ').includes(String(code));
      if (this.#isWanted && isFailure && this.#of('Restart') === 'on-failure') this.#spawn();
    });
  }

  async #stop(): Promise<void> {
    this.#isWanted = false;
    const main = this.#main;
    if (!main) return;
    const timer = setTimeout(() => main.kill('SIGKILL'), this.#ms('TimeoutStopSec'));
    main.kill(this.#of('KillSignal') as NodeJS.Signals);
    await this.#ended;
    clearTimeout(timer);
  }
}

/** The value of %b in a unit: the name of this start of the machine. */
function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().replaceAll('-', '');
}
