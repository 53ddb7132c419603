/** What a contender is told: where the service is, and what it may use. */
export interface DrainTask {
  orders: number;
  /** How many wait, if more than are sent: Waybill alone has such a backlog. */
  waiting: number;
  /** Requests under way at once. */
  concurrency: number;
  serviceUrl: string;
  /** Where to draw what the main thread does; that takes time of its own. */
  flameGraph?: string;
  /** Of its own, and empty. */
  folder: string;
  /** An empty database on a server of the kind that the contender needs. */
  database?: { host: string; port: number; user: string; password: string; database: string };
}

/** Prepares what waits to be sent, and returns what sends all of it: only that is measured. */
export type Contender = (task: DrainTask) => Promise<{
  drain(): Promise<void>;
  close(): Promise<void>;
  /** What its store has done so far, where the store is in this process. */
  work?(): Promise<StoreWork>;
}>;

/** Counters of a store, from its start. */
export interface StoreWork {
  statements: number;
  commits: number;
  rowWrites: number;
}

export const workBetween = (before: StoreWork, after: StoreWork): StoreWork => ({
  statements: after.statements - before.statements,
  commits: after.commits - before.commits,
  rowWrites: after.rowWrites - before.rowWrites,
});

export interface DrainMeasure {
  seconds: number;
  /** Of the whole process, with all its threads. */
  cpuSeconds: number;
  peakRssMib: number;
  work: StoreWork | null;
}
