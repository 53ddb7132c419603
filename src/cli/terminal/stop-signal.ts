interface StopSignal {
  signal: AbortSignal;
  /** Gives the signals back to Node. */
  release(): void;
}

const exitCodeOf: Partial<Record<NodeJS.Signals, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/**
 * SIGTERM, SIGINT and SIGHUP (the terminal was closed) ask for an orderly stop. A second one ends the process at once: that is safe, because what was under
 * way is on record as an attempt without an outcome.
 */
export function stopSignal(
  onStop: (name: string) => void = () => undefined,
  names: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT', 'SIGHUP'],
): StopSignal {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(exitCodeOf[name]);
    onStop(name);
    controller.abort();
  };
  for (const name of names) process.on(name, stop);
  return {
    signal: controller.signal,
    release: () => {
      for (const name of names) process.off(name, stop);
    },
  };
}
