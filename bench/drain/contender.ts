import { contenders } from './contenders.js';
import { drawWhile } from './flame-graph.js';
import { type DrainMeasure, type DrainTask, workBetween } from './task.js';

/** A process of its own, for one contender: is told by its parent what to do, says that it is ready, starts when told, and reports. */
process.once('message', async ({ name, task }: { name: string; task: DrainTask }) => {
  const contender = await (await contenders[name]?.())?.(task);
  if (!contender) throw new Error(`There is no contender ${name}.`);
  process.send?.('ready');
  process.once('message', async () => {
    const before = await contender.work?.();
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    if (task.flameGraph) await drawWhile(task.flameGraph, contender.drain);
    else await contender.drain();
    const seconds = (performance.now() - startedAt) / 1000;
    const used = process.cpuUsage(cpu);
    const after = await contender.work?.();
    const measure: DrainMeasure = {
      seconds,
      cpuSeconds: (used.user + used.system) / 1e6,
      peakRssMib: process.resourceUsage().maxRSS / 1024,
      work: before && after ? workBetween(before, after) : null,
    };
    await contender.close();
    process.send?.(measure, () => process.exit());
  });
});
