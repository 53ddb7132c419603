import { Presets, SingleBar } from 'cli-progress';
import type { SyncProgress } from '../../operator/sync.js';
import { span } from './format.js';

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
  // A second Ctrl-C ends the process at once, and must leave the terminal its cursor.
  process.once('exit', stop);
  return {
    show: ({ stage, done, total }) => {
      if (stage !== current) stop();
      current = stage;
      if (!bar) {
        const format = `${stage.padEnd(8)} {bar} {value}/{total} | {eta_formatted}`;
        // The library says NULL where it can't tell yet.
        const formatTime = (seconds: number) => (Number.isFinite(seconds) ? span(seconds * 1000) : '?');
        const options = { format, formatTime, stream: process.stderr, hideCursor: true };
        bar = new SingleBar(options, Presets.shades_classic);
        bar.start(Math.max(total ?? done, 1), done);
      }
      bar.setTotal(Math.max(total ?? 0, done, 1));
      bar.update(done);
    },
    stop,
  };
}
