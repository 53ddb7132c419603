/** The task of a contender: the service's address, and what it may use. */
export interface DrainTask {
  orders: number;
  /** Messages that wait, if more than are sent: Waybill alone has such a backlog. */
  waiting: number;
  /** Requests under way at once. */
  concurrency: number;
  serviceUrl: string;
  /** The file for the main thread's flame graph; drawing it takes time. */
  flameGraph?: string;
  /** A database of its own, and empty. */
  folder: string;
  /** An empty database on a server of the kind that the contender needs. */
  database?: { host: string; port: number; user: string; password: string; database: string };
}

/** Prepares what waits to be sent, and returns what sends all of it: only that is measured. */
export type Contender = (task: DrainTask) => Promise<{
  drain(): Promise<void>;
  close(): Promise<void>;
  /** The work of its store so far, if the store is in this process. */
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
  /** CPU time of the whole process, with all its threads. */
  cpuSeconds: number;
  peakRssMib: number;
  work: StoreWork | null;
}
