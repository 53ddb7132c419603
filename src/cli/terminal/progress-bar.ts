import { Presets, SingleBar } from 'cli-progress';
import { span } from '../../words/span.js';

interface ProgressBar {
  show(progress: { stage: string; done: number; total: number | null }): void;
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
        const { format, barsize } = barFor(stage, Math.max(total ?? done, 1), process.stderr.columns ?? 80);
        // The library says NULL where it can't tell yet.
        const formatTime = (seconds: number) => (Number.isFinite(seconds) ? span(seconds * 1000) : '?');
        const options = { format, barsize, formatTime, stream: process.stderr, hideCursor: true };
        bar = new SingleBar(options, Presets.shades_classic);
        bar.start(Math.max(total ?? done, 1), done);
      }
      bar.setTotal(Math.max(total ?? 0, done, 1));
      bar.update(done);
    },
    stop,
  };
}

const longestBar = 40;

/** Keeps the text to one line: the library cuts off the rest. Pure. */
function barFor(stage: string, total: number, columns: number): { format: string; barsize: number } {
  const counts = 2 * String(total).length + 1;
  // Beside the bar: the stage, the counts, and a time such as 12 min.
  const barsize = Math.min(longestBar, columns - 1 - (9 + 1 + counts + 3 + 7));
  if (barsize >= 3) return { format: `${stage.padEnd(8)} {bar} {value}/{total} | {eta_formatted}`, barsize };
  return { format: stage.length + 1 + counts < columns ? `${stage} {value}/{total}` : '{value}/{total}', barsize: 1 };
}
