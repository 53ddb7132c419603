import { run } from '../../src/cli/run.js';
import { real } from './machine/intercept.js';
import { interceptNetwork } from './world/network.js';
import { interceptStore } from './machine/intercept-store.js';
import { World } from './world/world.js';

const say = (...parts: unknown[]) => void real.write(`${parts.map((p) => (typeof p === 'string' ? p : JSON.stringify(p))).join(' ')}\n`);
export async function main(_argv: readonly string[]): Promise<number> {
  process.env.WAYBILL_SERVICE_TOKEN = 'a-simulated-token';
  interceptNetwork();
  interceptStore();
  for (let i = 0; i < 3; i++) {
    const t0 = real.performanceNow();
    const world = new World('/dev/shm/sim-try', { keyLifetimeMs: 3_600_000, comparesBodies: true, replayStatus: 'as first', stores: 'successes', customerIds: 'code', lookUp: 'none', lagMs: 0, updates: 'PATCH', limit: { requests: 10, perMs: 1000 }, flagsRefusals: false, keepsRemoved: false, shiftsLists: false, repeatsNumbers: false }, 1, run);
    world.erp.addCustomer();
    world.erp.addCustomer();
    for (let j = 0; j < 3; j++) world.erp.addOrder(world.dice);
    for (const argv of [['sync'], ['status', '--json'], ['outbox', '--json'], ['sync'], ['explain', 'order', '1', '--json'], ['audit', 'verify']]) {
      const t = real.performanceNow();
      const { process, hangs } = await world.command(argv);
      if (i === 0) say(argv, process.exitCode, process.state, hangs, process.out.slice(0, 1500), process.err);
      say(argv.join(' '), (real.performanceNow() - t).toFixed(1), 'ms', process.points, 'points', world.machine.elapsedMs);
    }
    const t = real.performanceNow();
    const d = world.spawn(['daemon']);
    await world.pass(600_000);
    say('daemon 10 min', (real.performanceNow() - t).toFixed(1), d.state, d.points, i ? '' : d.out.slice(0, 3000), d.err);
    d.signal('SIGTERM');
    await world.pass(10_000);
    say(d.state, d.exitCode, world.service.records.length, world.service.arrivals.length);
    world.close();
    say('history', (real.performanceNow() - t0).toFixed(0));
  }
  return 0;
}
