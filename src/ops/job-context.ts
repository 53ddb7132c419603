import type { Logger } from 'winston';
import type { Settings } from '../config/settings.js';
import type { MachineClock } from '../store/clock.js';
import type { Store } from '../store/store.js';

/** The parts of V8 that all jobs of a process share: its one thread, and its memory. */
interface SharedThread {
  /**
   * Resolves in a turn of the event loop that no other caller gets. With store and ERP in files nothing ever waits by itself:
   * timers, sockets and signals have their turn between two steps of a job.
   */
  turn(): Promise<void>;
  /** Told again and again by a drain, which saves CPU time with more memory, and once when it has ended. */
  inDrain(isUnderWay: boolean): void;
  /** Runs work that takes long and has time, with less memory and more CPU time. */
  unhurried<T>(work: () => Promise<T>): Promise<T>;
}

/** The context of every job: a job reads no clock, rolls no dice, tunes no V8 and opens no store of its own. */
export interface JobContext {
  store: Store;
  settings: Settings;
  /** The actor, for the audit: `daemon@host:123` or an operator's name. */
  actor: string;
  log: Logger;
  nowMs: () => number;
  /** The clock of deadlines and waits. */
  clock: MachineClock;
  /** In [0, 1). */
  random: () => number;
  thread: SharedThread;
}
