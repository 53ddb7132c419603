interface StopSignal {
  signal: AbortSignal;
  /** Gives the signals back to Node. */
  release(): void;
}

/**
 * SIGTERM and SIGINT ask for an orderly stop. A second one ends the process at once: that is safe, because what was under
 * way is on record as an attempt without an outcome.
 */
export function stopSignal(onStop: (name: string) => void = () => undefined): StopSignal {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(name === 'SIGINT' ? 130 : 143);
    onStop(name);
    controller.abort();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  return {
    signal: controller.signal,
    release: () => {
      process.off('SIGTERM', stop);
      process.off('SIGINT', stop);
    },
  };
}
