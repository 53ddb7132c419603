import { setTimeout as sleep } from 'node:timers/promises';

/** How time passes for a process: leases, windows and waits are measured by it, never by the clock on the wall, which may be set. */
export interface Clock {
  /** Milliseconds since a moment of its own; never goes back. */
  monotonicMs(): number;
  /** Resolves after so many milliseconds, or as soon as the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs `work` after so many milliseconds, unless what it returns is called before. Does not keep the process alive. */
  after(ms: number, work: () => void): () => void;
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, signal ? { signal } : {}).catch(() => undefined),
  after: (ms, work) => {
    const timer = setTimeout(work, ms).unref();
    return () => clearTimeout(timer);
  },
};
