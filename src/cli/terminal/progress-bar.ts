import { Presets, SingleBar } from 'cli-progress';

/** A bar on stderr when somebody is watching; nothing in a pipe, a log or cron. */
export function progressBar(): { show(stage: string, done: number, total: number | null): void; stop(): void } {
  if (!process.stderr.isTTY) return { show: () => undefined, stop: () => undefined };
  let bar: SingleBar | null = null;
  let current = '';
  const stop = () => {
    bar?.stop();
    bar = null;
  };
  return {
    show: (stage, done, total) => {
      if (stage !== current) stop();
      current = stage;
      if (!bar) {
        bar = new SingleBar(
          {
            format: `${stage.padEnd(8)} {bar} {value}/{total} | {eta_formatted}`,
            stream: process.stderr,
            hideCursor: true,
          },
          Presets.shades_classic,
        );
        bar.start(Math.max(total ?? done, 1), done);
      }
      bar.setTotal(Math.max(total ?? 0, done, 1));
      bar.update(done);
    },
    stop,
  };
}
