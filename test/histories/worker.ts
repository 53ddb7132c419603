import { type AxiosAdapter, AxiosError } from 'axios';
import winston from 'winston';
import type { Settings } from '../../src/config/settings.js';
import type { JobContext } from '../../src/ops/job-context.js';
import { ServiceClient } from '../../src/service/service-client.js';
import { LeaseLost } from '../../src/store/lease.js';
import type { Store, Tx } from '../../src/store/store.js';
import { sharedThread } from '../../src/v8.js';
import type { ModelService, Reply } from './model-service.js';
import type { Sleeper, VirtualTime } from './virtual-time.js';

/** Places at which a process may be struck: around everything that is durable, and around the wire. */
export const points = [
  'before-read',
  'after-read',
  'before-begin',
  'before-commit',
  'after-commit',
  'before-send',
  'after-effect',
] as const;
export type Point = (typeof points)[number];

/** The strike on a process when it comes to a point for the nth time. */
export interface Strike {
  point: Point;
  nth: number;
  /** `crash`: it is gone. `freeze`: it stands still until it is woken. A function: this happens meanwhile. */
  what: 'crash' | 'freeze' | (() => Promise<unknown>);
}

export interface Surroundings {
  store: Store;
  settings: Settings;
  time: VirtualTime;
  service: ModelService;
  random: () => number;
  /** Called with what reaches the wire, before the service sees it. */
  onSend: (worker: Worker, method: string, path: string, body: string) => void;
}

type Told = Extract<Reply, { status: number }>;

class PowerCut extends Error {}

const silent = winston.createLogger({ silent: true, transports: [new winston.transports.Console()] });

/** One process of Waybill: its own handle of the store, its own clock, its own way to the wire. It may die at any point. */
export class Worker implements Sleeper {
  state: Sleeper['state'] = 'alive';
  readonly context: JobContext;
  readonly client: ServiceClient;
  #job: Promise<unknown> | null = null;
  #isBusy = false;
  #strike: Strike | null = null;
  #wake: () => void = () => undefined;
  #woken: Promise<void> = Promise.resolve();
  readonly #around: Surroundings;

  constructor(actor: string, around: Surroundings) {
    this.#around = around;
    const { settings, time, random } = around;
    const nowMs = () => time.nowMs;
    const clock = time.clockOf(this);
    this.context = {
      store: this.#storeHandle(),
      settings,
      actor,
      log: silent,
      nowMs,
      clock,
      random,
      thread: sharedThread,
    };
    const adapter = this.#adapter();
    this.client = new ServiceClient({ service: settings.service, quickResends: 0, nowMs, clock, adapter });
  }

  /** True if it can take up a job. */
  get isFree(): boolean {
    return this.state === 'alive' && !this.#isBusy;
  }

  /** Runs a job until it has ended, or until the strike has ended or frozen the process. */
  async run<T>(strike: Strike | null, work: () => Promise<T>): Promise<T | null> {
    this.#strike = strike && { ...strike };
    this.#isBusy = true;
    return this.#follow(work().catch(giveWay));
  }

  /** Lets a frozen process go on where it stood. */
  async thaw(): Promise<void> {
    this.state = 'alive';
    this.#wake();
    await this.#follow(this.#job as Promise<unknown>);
  }

  async #follow<T>(job: Promise<T>): Promise<T | null> {
    let ended = false;
    const end = () => {
      ended = true;
    };
    this.#job = job;
    job.then(end, end);
    await this.#around.time.runUntil(() => ended || this.state !== 'alive');
    this.#strike = null;
    if (!ended) return null;
    this.#isBusy = false;
    return job;
  }

  async #pass(point: Point): Promise<void> {
    this.#around.time.touch();
    if (this.#strikesAt(point)) {
      const { what } = this.#strike as Strike;
      this.#strike = null;
      if (what === 'crash') this.state = 'dead';
      else if (what !== 'freeze') await what();
      else {
        this.state = 'frozen';
        this.#woken = new Promise((resolve) => {
          this.#wake = resolve;
        });
      }
    }
    if (this.state === 'frozen') await this.#woken;
    if (this.state === 'dead') await never();
  }

  #strikesAt(point: Point): boolean {
    return this.state === 'alive' && this.#strike?.point === point && --this.#strike.nth === 0;
  }

  #storeHandle(): Store {
    const { store } = this.#around;
    const call =
      (how: 'transaction' | 'statement' | 'read') =>
      async (action: string, work: (tx: Tx) => Promise<unknown>): Promise<unknown> => {
        await this.#pass(how === 'read' ? 'before-read' : 'before-begin');
        try {
          const result = await store[how](action, async (tx) => {
            const done = await work(tx);
            if (how === 'transaction' && this.#strikesAt('before-commit')) {
              // Only the power can go here: whoever stood still would hold everybody else's lock.
              this.#strike = null;
              this.state = 'dead';
              throw new PowerCut();
            }
            return done;
          });
          await this.#pass(how === 'read' ? 'after-read' : 'after-commit');
          return result;
        } catch (error) {
          return (this.state as string) === 'dead' ? never() : Promise.reject(error);
        }
      };
    const calls = { transaction: call('transaction'), statement: call('statement'), read: call('read') };
    const handle = { dialect: store.dialect, ...calls };
    return handle as unknown as Store;
  }

  /**
   * Between the transport and the service. Nobody can freeze it where undici would ask once more for permission to send
   * the bytes.
   */
  #adapter(): AxiosAdapter {
    const { service, time, random, onSend, settings } = this.#around;
    const clock = time.clockOf(this);
    return async (config) => {
      await this.#pass('before-send');
      const method = (config.method ?? '').toUpperCase();
      const path = config.url ?? '';
      const body = (config.data as string | undefined) ?? '';
      const key = config.headers.get('Idempotency-Key');
      onSend(this, method, path, body);
      const query = (config.params ?? {}) as { [name: string]: unknown };
      const reply = service.receive(this.context.actor, { method, path, query, key: key ? String(key) : null, body });
      await clock.sleep(
        reply.kind === 'timeout' ? settings.service.deadlineSeconds * 1000 : Math.floor(random() * 200),
      );
      await this.#pass('after-effect');
      if (reply.kind === 'timeout') throw new AxiosError('canceled', 'ERR_CANCELED', config);
      if (reply.kind === 'reset') throw new AxiosError('socket hang up', 'ECONNRESET', config);
      if (reply.kind === 'unreachable') throw new AxiosError('connect ECONNREFUSED', 'ECONNREFUSED', config);
      const { kind, status, headers, body: data } = reply as Told;
      const response = { data, status, statusText: '', headers, config, request: {} };
      if (kind === 'cut-off') throw new AxiosError('aborted', 'ECONNRESET', config, null, response);
      return response;
    };
  }
}

/** Whoever has lost its lease ends, and that is well. */
function giveWay(error: unknown): null {
  if (!(error instanceof LeaseLost)) throw error;
  return null;
}

/** The promise that a dead process waits for. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
