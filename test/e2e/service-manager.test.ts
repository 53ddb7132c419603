import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { NotifySocket } from '../support/notify-socket.js';
import { useTempDir } from '../support/temp-dir.js';
import { canary, type Daemon, eventually, Installation } from './installation.js';

/** Long enough for a busy machine to carry a ping, which goes out after a third of it. */
const watchdogMs = 9_000;

/** Programs of the machine that signal a daemon with SIGUSR2: the first prints, the second never ends. */
const troubles = {
  prints: `
    console.log('a library prints'); console.error('a library complains');
    process.stderr.write('straight to stderr\\n'); process.emitWarning('a warning', { code: 'TEST01' });
    process.emitWarning('old ways', 'DeprecationWarning', 'DEP9999');
    setTimeout(() => Promise.reject(new Error('unforeseen ' + process.env.WAYBILL_SERVICE_TOKEN)), 200);`,
  hangs: 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);',
};

describe('A daemon and the machine it runs on', function () {
  this.timeout(180_000);
  const dir = useTempDir();
  const daemons: Daemon[] = [];
  let systemd: NotifySocket;
  let sandbox: Sandbox;
  let slow: Sandbox | undefined;

  before(async () => {
    await createSampleErp({ target: { type: 'sqlite', file: dir.file('erp.sqlite') }, customers: 2, orders: 3 });
    sandbox = await startSandbox({ token: canary.token });
    systemd = await NotifySocket.open(dir.file('systemd.socket'));
  });
  afterEach(async () => {
    for (const daemon of daemons) daemon.kill('SIGKILL');
    await Promise.all(daemons.splice(0).map((daemon) => daemon.ended));
  });
  after(async () => {
    await systemd.close();
    await slow?.close();
    await sandbox.close();
  });

  const installation = (name: string, settings: Record<string, unknown> = {}, nodeFlags: string[] = []) =>
    new Installation({
      folder: dir.file(name),
      serviceUrl: sandbox.url,
      erp: { type: 'sqlite', file: dir.file('erp.sqlite') },
      store: { type: 'sqlite' },
      settings: { schedule: { capture: '* * * * * *' }, ...settings },
      nodeFlags,
    });
  const start = (waybill: Installation) => {
    const daemon = waybill.daemon();
    daemons.push(daemon);
    return daemon;
  };
  const onSigusr2 = (name: string, code: string) => {
    writeFileSync(dir.file(name), `process.on('SIGUSR2', () => {${code}});`);
    return ['--import', dir.file(name)];
  };
  const isDelivering = ({ message }: { message: string }) => message === 'Delivering from here';

  it('tells systemd when it is ready, pings, and stops; a loop that stands still pings no more and is started again', async () => {
    const waybill = installation('notify', {}, onSigusr2('hang.mjs', troubles.hangs));
    Object.assign(waybill.env, { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: String(watchdogMs * 1000) });
    const first = start(waybill);
    await systemd.next((message) => message.includes('READY=1'));
    for (let nth = 0; nth < 2; nth++) await systemd.next((message) => message.includes('WATCHDOG=1'));

    first.kill('SIGUSR2');
    await systemd.silence(watchdogMs);
    // As systemd does with WatchdogSignal and Restart of the unit.
    first.kill('SIGKILL');
    expect(await first.ended).to.equal('SIGKILL');
    const said = systemd.messages.length;
    const second = start(waybill);
    await systemd.next((message) => message.includes('READY=1'), said);
    await systemd.next((message) => message.includes('WATCHDOG=1'), said);

    const reloading = systemd.messages.length;
    second.kill('SIGHUP');
    await systemd.next((message) => message.includes('READY=1'), reloading);
    expect(systemd.messages.slice(reloading).join(' ')).to.match(/RELOADING=1 MONOTONIC_USEC=\d+.*READY=1/);

    second.kill('SIGTERM');
    await systemd.next((message) => message.includes('STOPPING=1'), said);
    expect(await second.ended).to.equal(0);
  });

  it('reloads log level and credential on SIGHUP, and keeps what it has while the settings are wrong', async () => {
    const waybill = installation('reload');
    const file = join(waybill.configDir, 'local.yaml');
    const right = readFileSync(file, 'utf8');
    const tokenFile = dir.file('token');
    const write = (change: Record<string, unknown>) => {
      const { service, ...settings } = JSON.parse(right);
      writeFileSync(file, JSON.stringify({ ...settings, service: { ...service, tokenFile }, ...change }));
    };
    delete waybill.env.WAYBILL_SERVICE_TOKEN;
    writeFileSync(tokenFile, 'canary-token-of-yesterday', { mode: 0o600 });
    write({});
    const daemon = start(waybill);
    await daemon.line(({ alert }) => String(alert).includes('does not accept our credential'));

    write({ log: { level: 'loud' } });
    daemon.kill('SIGHUP');
    await daemon.line(({ message, error }) => message === 'Nothing was reloaded' && /log\.level/.test(String(error)));
    expect(daemon.lines.some(({ level }) => level === 'debug')).to.equal(false);

    writeFileSync(tokenFile, canary.token, { mode: 0o600 });
    write({ log: { level: 'debug' }, installation: 'another-one' });
    daemon.kill('SIGHUP');
    await daemon.line(({ message, level }) => message.startsWith('Reloaded') && level === 'info');
    await daemon.line(({ message, settings }) => message.includes('restart') && String(settings) === 'installation');
    await daemon.line(({ level, message }) => level === 'debug' && message === 'delivered');

    daemon.kill('SIGTERM');
    expect(await daemon.ended).to.equal(0);
    expect(daemon.output()).to.not.contain(canary.token).and.to.not.contain('of-yesterday');
  });

  it('opens no inspector on SIGUSR1', async () => {
    const daemon = start(installation('inspector', { log: { level: 'debug' } }));
    await daemon.line(isDelivering);
    daemon.kill('SIGUSR1');
    // Once the second signal has been taken, so has the first.
    daemon.kill('SIGHUP');
    await daemon.line(({ message }) => message.startsWith('Reloaded'));
    expect(listeningPorts(daemon.pid)).to.deep.equal([]);
    daemon.kill('SIGTERM');
    expect(await daemon.ended).to.equal(0);
    expect(daemon.output()).to.not.match(/debugger/i);
  });

  it('prints one JSON object a line, always: what libraries and Node print, and the error that ends it', async () => {
    const waybill = installation('lines', { log: { level: 'debug' } }, onSigusr2('print.mjs', troubles.prints));
    const daemon = start(waybill);
    await daemon.line(isDelivering);
    daemon.kill('SIGUSR2');
    expect(await daemon.ended).to.equal(1);
    const lines = daemon.output().trim().split('\n').map(parseLine);
    const said = lines.map(({ level, message, error = '' }) => `${level}: ${message} ${error}`.trim());
    for (const wanted of [
      'info: a library prints',
      'error: a library complains',
      'error: straight to stderr',
      'warn: a warning',
      'warn: old ways',
    ])
      expect(said).to.include(wanted);
    expect(said.find((line) => line.includes('unforeseen'))).to.match(
      /^error: Ended by an error.*unforeseen \[secret\]/,
    );
  });

  it('says in one JSON object that its settings are wrong', async () => {
    const daemon = start(installation('wrong', { log: { level: 'loud' } }));
    expect(await daemon.ended).to.equal(2);
    const [line, ...more] = daemon.output().trim().split('\n').map(parseLine);
    expect(more).to.deep.equal([]);
    expect(line?.level).to.equal('error');
    expect(line?.message).to.contain('log.level');
  });

  it('drains a command whose terminal is closed, instead of leaving requests in doubt', async () => {
    slow = await startSandbox({ token: canary.token, delayMs: [1_000, 1_000] });
    const waybill = new Installation({ ...installation('hangup').options, serviceUrl: slow.url });
    const main = fileURLToPath(new URL('../../src/main.js', import.meta.url));
    const sync = spawn(process.execPath, [main, 'sync', '--json', '--config', waybill.configDir], {
      cwd: dir.path,
      env: waybill.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [stdout, stderr, ended] = [text(sync.stdout), text(sync.stderr), once(sync, 'close')];
    await eventually('a request is under way', () => slow?.ledger().requests?.length);
    sync.kill('SIGHUP');
    expect(await ended, await stderr).to.deep.equal([3, null]);
    expect(JSON.parse(await stdout).deliver.stopped).to.equal('stopping');
    expect(await stderr).to.contain('stopping: requests under way end first. A second Ctrl-C ends at once.');
    const inDoubt = await waybill.run('outbox', '--state', 'in_doubt', '--json');
    expect(JSON.parse(inDoubt.stdout).count).to.equal(0);
  });
});

function parseLine(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`This line is no JSON object: ${text}`);
  }
}

/** TCP ports on which a process listens. */
function listeningPorts(pid: number): number[] {
  const folder = `/proc/${pid}/fd`;
  const sockets = readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(join(folder, fd));
    } catch {
      return ''; // It was closed in the meantime.
    }
  });
  const tables = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8').trim().split('\n'));
  return tables.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    const isOurs = state === '0A' && sockets.includes(`socket:[${inode}]`);
    return isOurs ? [Number.parseInt(local.split(':').at(-1) ?? '', 16)] : [];
  });
}
