import { Command, Option } from 'commander';
import { type OutageOptions, outage } from './outage.js';
import { rate } from './rate.js';

const program = new Command('bench').description('Measurements. They take their time and judge nothing.');
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
await program.parseAsync();
