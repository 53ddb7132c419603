import { expect } from 'chai';
import { createSampleErp } from '../../src/lab/sample-erp/create-sample-erp.js';
import { type Sandbox, startSandbox } from '../../src/lab/sandbox/start-sandbox.js';
import { behaviour, eachStore, useStore } from '../store/stores.js';
import { WallClock } from '../torture/clock-steps.js';
import { canary, type Daemon, eventually, Installation } from './installation.js';

const dayMs = 86_400_000;
const history = ['audit_log', 'outbox_message', 'message_body', 'attempt', 'invoice_pull', 'figure'];

eachStore(behaviour(), (type, name) =>
  describe(`a daemon whose clock is 1200 days ahead for four seconds (${name})`, function () {
    this.timeout(120_000);
    const kit = useStore(type);
    const daemons: Daemon[] = [];
    let sandbox: Sandbox;

    afterEach(async () => {
      for (const daemon of daemons) daemon.kill('SIGKILL');
      await Promise.all(daemons.map(({ ended }) => ended));
      await sandbox.close();
    });

    it('loses nothing of its history, and says why nothing is pruned', async () => {
      const erp = { type: 'sqlite', file: `${kit.folder}/erp.sqlite` } as const;
      await createSampleErp({ target: erp, customers: 5, orders: 40 });
      sandbox = await startSandbox({ token: canary.token });
      const server =
        type === 'sqlite' ? null : { type, database: (type === 'mysql' ? kit.mariaDb : kit.postgres).database };
      const waybill = new Installation({
        folder: kit.folder,
        serviceUrl: sandbox.url,
        erp,
        store: server ?? { type: 'sqlite' },
        settings: {
          ...(type === 'sqlite' ? { store: kit.settings } : {}),
          schedule: { capture: '* * * * * *', pull: '*/2 * * * * *', prune: '*/2 * * * * *' },
          retention: { batchSize: 10 },
        },
      });
      const clock = await WallClock.start(kit.folder, 0);
      Object.assign(waybill.env, clock.environment);
      const start = () => {
        const daemon = waybill.daemon();
        daemons.push(daemon);
        return daemon;
      };
      const stop = async (daemon: Daemon) => {
        daemon.kill('SIGTERM');
        await daemon.ended;
      };
      const rows = async () => {
        const [found] = await kit.rows(`SELECT ${history.map((one) => `(SELECT COUNT(*) FROM ${one}) AS ${one}`)}`);
        return new Map(history.map((table) => [table, Number(found[table])]));
      };
      const pruned = ({ message }: Daemon['lines'][number]) => message === 'pruned';

      const right = start();
      await eventually('all orders are at the service', () => sandbox.counts().orders >= 40, 40_000);
      await right.line(pruned);
      await stop(right);
      const before = await rows();
      expect(before.get('audit_log')).to.be.greaterThan(80);

      await clock.set(1_200 * dayMs);
      const wrong = start();
      await wrong.line(pruned, 40_000);
      const status = await waybill.run('status', '--check');
      expect(status.stdout).to.match(/retention waits: the clock went ahead by 1200 d/);
      expect(status.code).to.equal(1);
      await eventually('a second prune', () => wrong.lines.filter(pruned).length > 2, 20_000);
      await clock.set(0);
      const seen = wrong.lines.length;
      await eventually('prunes by the right clock', () => wrong.lines.slice(seen).filter(pruned).length > 2, 20_000);
      await stop(wrong);

      const after = await rows();
      for (const table of history) expect(after.get(table), table).to.be.at.least(before.get(table) as number);
      const deferred = await kit.rows("SELECT id FROM audit_log WHERE event='prune' AND outcome='deferred'");
      expect(deferred).to.have.length(1);
    });
  }),
);
