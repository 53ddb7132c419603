import { Command, Option } from 'commander';
import { audit } from './audit.js';
import { type ClusterOptions, cluster } from './cluster/cluster.js';
import { type DeskOptions, desk } from './desk.js';
import { checkRatios } from './drain/check.js';
import { contenderNames } from './drain/contenders.js';
import { type DrainOptions, drain } from './drain/drain.js';
import { type KillOptions, kill } from './kill.js';
import { limitUse, standardDelaysMs, standardLimits, unknownLimitUse } from './limits.js';
import { type OutageOptions, outage } from './outage.js';
import { rate } from './rate.js';
import { compareUnderLoad, type ReconcileOptions } from './reconcile.js';
import { type SteadyOptions, steady } from './steady/steady.js';
import { type WebhooksOptions, webhooks } from './webhooks.js';

const program = new Command('bench').description('Measurements. They take their time and judge nothing.');
program
  .command('drain')
  .description(
    'deliver all that waits, beside a loop that stores nothing, BullMQ and pg-boss; servers are started for it',
  )
  .option('--orders <n>', 'orders that wait', Number, 20_000)
  .option('--waiting <n>', 'orders that wait in the outbox of Waybill, if more than are sent', Number)
  .option('--rounds <n>', 'how often each is measured, in turns', Number, 3)
  .option('--concurrency <n>', 'requests under way at once', Number, 16)
  .addOption(new Option('--contenders <names...>', 'only these').choices(contenderNames).default([], 'all'))
  .option(
    '--check',
    'only a short one, which fails where a ratio is a fifth below the one in bench/recorded-ratios.json',
  )
  .option('--flame-graph <file>', 'draw an SVG of what the main thread does; the one that is measured last')
  .option('--json', 'print JSON')
  .action(async (options: DrainOptions & { check?: boolean; json?: boolean }) => {
    if (options.check) {
      const { results, slower } = await checkRatios();
      console.table(results);
      for (const line of slower) console.error(line);
      process.exitCode = slower.length > 0 ? 1 : 0;
      return;
    }
    const results = await drain(options, (contender, { seconds, cpuSeconds }) =>
      console.error(`${contender}: ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of CPU`),
    );
    if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`);
    else console.table(results);
  });
program
  .command('steady')
  .description('a daemon with a schedule of a second, while orders are entered into the ERP: latency, CPU, event loop')
  .addOption(
    new Option('--store <kind>', 'where Waybill keeps its outbox')
      .choices(['sqlite', 'mariadb', 'postgres'])
      .default('sqlite'),
  )
  .addOption(
    new Option('--erp <kind>', 'where the ERP is; orders are entered into a file only')
      .choices(['sqlite', 'mariadb', 'postgres'])
      .default('sqlite'),
  )
  .option(
    '--per-second <n>',
    'orders entered each second; 0: none, and the schedule is that of the defaults',
    Number,
    50,
  )
  .option('--seconds <n>', 'how long is measured', Number, 60)
  .option('--before <n>', 'orders that the ERP holds before', Number, 1_000)
  .option('--delivered', 'these are on record as delivered: nothing of them is sent')
  .option('--sweep', 'measure while everything is read once more')
  .option('--first-capture', 'measure from the start on, while these are captured and delivered')
  .option('--json', 'print JSON')
  .action(async (options: SteadyOptions & { json?: boolean }) => {
    const result = await steady(options);
    if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
    else console.table([result]);
  });
program
  .command('cluster')
  .description('one, two and three nodes on one MariaDB, with Redis and without, beside one deliverer alone')
  .option('--orders <n>', 'orders that wait', Number, 6_000)
  .option('--rounds <n>', 'how often each is measured, in turns', Number, 3)
  .option('--limit <n>', 'requests a second that the service allows', Number, 10_000)
  .option('--json', 'print JSON')
  .action(async (options: ClusterOptions & { json?: boolean }) => {
    const results = await cluster(options);
    if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`);
    else console.table(results);
  });
program
  .command('audit')
  .description('write an audit and prove that it is whole, in a SQLite store')
  .option('--lines <n>', 'lines of the audit', Number, 1_000_000)
  .action(async ({ lines }: { lines: number }) => console.table([await audit(lines)]));
program
  .command('desk')
  .description('open each page of the desk over a store of years; its server is started for it')
  .addOption(
    new Option('--store <kind>', 'where Waybill keeps its outbox')
      .choices(['sqlite', 'mariadb', 'postgres'])
      .default('sqlite'),
  )
  .option('--messages <n>', 'messages in the store, a million at most', Number, 1_000_000)
  .option('--json', 'print JSON')
  .action(async (options: DeskOptions & { json?: boolean }) => {
    const times = await desk(options);
    if (options.json) process.stdout.write(`${JSON.stringify(times)}\n`);
    else console.table(times);
  });
program
  .command('rate')
  .description('deliver waiting orders under a sliding-window limit')
  .option('--orders <n>', 'orders that wait', Number, 2000)
  .option('--limit <n>', 'requests a second that the service allows', Number, 50)
  .option('--max-delay-ms <n>', 'random time of a request on its way', Number, 20)
  .option('--json', 'print JSON')
  .action(async (options: { orders: number; limit: number; maxDelayMs: number; json?: boolean }) => {
    const result = await rate({
      orders: options.orders,
      requestsPerSecond: options.limit,
      maxDelayMs: options.maxDelayMs,
    });
    if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
    else console.table([result]);
  });
program
  .command('limits')
  .description('how much of a sliding-window limit is used, and how often the service says 429; some 8 minutes')
  .option('--seconds <n>', 'how long each is measured at least, instead of 20 s, and 90 s for 600/min', Number)
  .option('--unknown', 'a limit of 30/s that is not configured, for three minutes, from the second one on')
  .option('--json', 'print JSON')
  .action(async (options: { seconds?: number; unknown?: boolean; json?: boolean }) => {
    const results = [];
    for (const delayMs of standardDelaysMs) {
      if (options.unknown)
        results.push(
          await unknownLimitUse({ requests: 30, perSeconds: 1 }, delayMs, Math.max(61, options.seconds ?? 180)),
        );
      else
        for (const { seconds, ...limit } of standardLimits)
          results.push(await limitUse(limit, delayMs, options.seconds ?? seconds));
    }
    if (options.json) process.stdout.write(`${JSON.stringify(results)}\n`);
    else console.table(results);
  });
program
  .command('outage')
  .description('take the service away for minutes, kill the daemon in between, and see what comes after its return')
  .addOption(
    new Option('--how <how>', 'nobody listens, or a gateway answers').choices(['refused', '502']).default('refused'),
  )
  .option('--seconds <n>', 'how long the service is down', Number, 300)
  .option('--orders <n>', 'orders to deliver', Number, 500)
  .option('--probe-seconds <n>', 'time between two probes', Number, 5)
  .option('--json', 'print JSON')
  .action(async (options: OutageOptions & { json?: boolean }) => {
    const result = await outage(options);
    if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
    else console.table([result]);
  });
program
  .command('kill')
  .description('kill a daemon again and again in a drain under a limit: what is in doubt, and how soon it goes on')
  .addOption(
    new Option('--store <type>', 'a server is started for it')
      .choices(['sqlite', 'mariadb', 'postgres'])
      .default('sqlite'),
  )
  .option('--kills <n>', 'how often', Number, 10)
  .option('--requests-per-second <n>', 'limit of the service', Number, 200)
  .option('--json', 'print JSON')
  .action(async (options: KillOptions & { json?: boolean }) => {
    const { kills, ...rest } = await kill(options);
    if (options.json) process.stdout.write(`${JSON.stringify({ kills, ...rest })}\n`);
    else {
      console.table(kills);
      console.table([rest]);
    }
  });
program
  .command('webhooks')
  .description('send webhooks over sockets, nearly all of them forged, while delivery uses a limit')
  .option('--per-second <n>', 'webhooks a second', Number, 1000)
  .option('--seconds <n>', 'how long delivery is measured', Number, 20)
  .option('--limit <n>', 'requests a second that the service allows', Number, 50)
  .option('--json', 'print JSON')
  .action(async (options: WebhooksOptions & { json?: boolean }) => {
    const result = await webhooks(options);
    if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`);
    else console.table([{ ...result, answers: JSON.stringify(result.answers) }]);
  });
program
  .command('reconcile')
  .description('compare both sides in a daemon that delivers meanwhile, and kill it again and again')
  .option('--orders <n>', 'orders that both sides have', Number, 100_000)
  .option('--differing <n>', 'of these, orders that differ', Number, 500)
  .option('--limit <n>', 'requests a second that the service allows', Number, 50)
  .option('--waiting <n>', 'orders that are delivered meanwhile', Number, 3_000)
  .option('--kills <n>', 'how often the daemon is killed, ten times at most', Number, 10)
  .option('--json', 'print JSON')
  .action(async ({ json, ...options }: Omit<ReconcileOptions, 'onStep'> & { json?: boolean }) => {
    const result = await compareUnderLoad({ ...options, onStep: (what) => console.error(what) });
    if (json) process.stdout.write(`${JSON.stringify(result)}\n`);
    else console.table([{ ...result, killedAt: result.killedAt.join(' '), unequal: result.unequal.length }]);
    process.exitCode = result.unequal.length > 0 ? 1 : 0;
  });
await program.parseAsync();
