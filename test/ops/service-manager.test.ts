import { expect } from 'chai';
import winston from 'winston';
import { ServiceManager } from '../../src/ops/service-manager.js';
import { NotifySocket } from '../support/notify-socket.js';
import { useTempDir } from '../support/temp-dir.js';

const isPing = (message: string) => message.includes('WATCHDOG=1');

describe('what systemd is told', () => {
  const dir = useTempDir();
  const lines: winston.LogEntry[] = [];
  const log = winston.createLogger({ transports: [new winston.transports.Console({ silent: true })] });
  log.on('data', (line) => lines.push(line));
  let nowMs = 0;
  const told: ServiceManager[] = [];
  const manager = (env: NodeJS.ProcessEnv) => {
    const one = new ServiceManager(
      { PATH: process.env.PATH, ...env },
      () => log,
      () => nowMs,
    );
    told.push(one);
    return one;
  };
  afterEach(() => {
    for (const one of told.splice(0)) one.close();
  });

  it('holds no ping while the daemon has not turned for two minutes, though the event loop does', async () => {
    const systemd = await NotifySocket.open(dir.file('systemd.socket'));
    const one = manager({ NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: '300000' });
    await systemd.next(isPing);
    nowMs += 120_000;
    await systemd.silence(1_000);
    const said = systemd.messages.length;
    one.beat();
    await systemd.next(isPing, said);
    one.close();
    await one.tell('STOPPING=1');
    await systemd.close();
  });

  it('comes in the order in which it was said', async () => {
    const systemd = await NotifySocket.open(dir.file('order.socket'));
    const one = manager({ NOTIFY_SOCKET: systemd.path });
    void one.tell('RELOADING=1');
    await one.tell('READY=1', 'STATUS=Started');
    await systemd.next((message) => message.includes('STATUS=Started'), 0);
    const said = systemd.messages.filter((message) => !/listening|BARRIER/.test(message));
    expect(said.map((message) => message.trim())).to.deep.equal(['RELOADING=1', 'READY=1 STATUS=Started']);
    await systemd.close();
  });

  it('is nothing where no systemd asks, and a line of the log where its program is missing', async () => {
    await manager({ WATCHDOG_USEC: '1000', PATH: dir.path }).tell('READY=1');
    expect(lines).to.deep.equal([]);
    const one = manager({ NOTIFY_SOCKET: dir.file('none'), PATH: dir.path });
    await one.tell('READY=1');
    await one.tell('STOPPING=1');
    expect(lines.map(({ level, error }) => [level, error])).to.deep.equal([['error', 'spawn systemd-notify ENOENT']]);
  });
});
