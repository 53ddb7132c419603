import type { Logger } from 'winston';
import type { Settings } from '../config/settings.js';
import type { MachineClock } from '../store/clock.js';
import type { Store } from '../store/store.js';

/** The context of every job: a job reads no clock, rolls no dice and opens no store of its own. */
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
}
