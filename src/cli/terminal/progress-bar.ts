import { Presets, SingleBar } from 'cli-progress';
import type { SyncProgress } from '../../operator/sync.js';

interface ProgressBar {
  show(progress: SyncProgress): void;
  stop(): void;
}

/** A bar on stderr. The library draws it on a terminal alone, not in a pipe, a log or cron. */
export function progressBar(): ProgressBar {
  let bar: SingleBar | null = null;
  let current = '';
  const stop = () => {
    bar?.stop();
    bar = null;
  };
  return {
    show: ({ stage, done, total }) => {
      if (stage !== current) stop();
      current = stage;
      if (!bar) {
        const format = `${stage.padEnd(8)} {bar} {value}/{total} | {eta_formatted}`;
        bar = new SingleBar({ format, stream: process.stderr, hideCursor: true }, Presets.shades_classic);
        bar.start(Math.max(total ?? done, 1), done);
      }
      bar.setTotal(Math.max(total ?? 0, done, 1));
      bar.update(done);
    },
    stop,
  };
}
