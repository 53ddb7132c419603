import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { openApp } from '../../src/app.js';
import { settingsFrom } from '../../src/config/load-settings.js';
import { runSchedule } from '../../src/daemon/schedule.js';

/** What the daemon needed since the last report. */
export interface OfficeReport {
  seconds: number;
  cpuSeconds: number;
  /** How late the event loop was: a request, a signal or a webhook waits as long. */
  loopDelayP99Ms: number;
  loopDelayMaxMs: number;
  rssMib: number;
  peakRssMib: number;
}

/** A process of its own: the daemon's jobs, as `waybill daemon` runs them, and figures of it whenever its parent asks. */
process.once('message', async (settings: object) => {
  const app = await openApp({ settings: settingsFrom(settings), role: 'bench', log: 'stderr' });
  const stop = new AbortController();
  const partners = { reader: await app.reader(), client: await app.client() };
  const loopDelay = monitorEventLoopDelay({ resolution: 1 });
  let cpu = process.cpuUsage();
  let at = performance.now();
  const report = (): OfficeReport => {
    const used = process.cpuUsage(cpu);
    const figures = {
      seconds: (performance.now() - at) / 1000,
      cpuSeconds: (used.user + used.system) / 1e6,
      loopDelayP99Ms: loopDelay.percentile(99) / 1e6,
      loopDelayMaxMs: loopDelay.max / 1e6,
      rssMib: process.memoryUsage.rss() / 2 ** 20,
      peakRssMib: process.resourceUsage().maxRSS / 1024,
    };
    loopDelay.reset();
    cpu = process.cpuUsage();
    at = performance.now();
    return figures;
  };
  process.on('message', (message) => {
    if (message === 'stop') stop.abort();
    else process.send?.(report());
  });
  loopDelay.enable();
  process.send?.('ready');
  await runSchedule(app.context, partners, stop.signal);
  await app.close();
  await sleep(0);
  process.exit();
});
