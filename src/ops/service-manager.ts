import { execFile } from 'node:child_process';
import type { Logger } from 'winston';

/** A daemon whose scheduler has not turned for so long is taken for stuck. Longer than any wait for a store that is away. */
const stuckAfterMs = 120_000;
const notifyTimeoutMs = 10_000;

/**
 * Tells systemd how the daemon is, if systemd asks ($NOTIFY_SOCKET, `Type=notify`). Node has no Unix datagram sockets, so the
 * program `systemd-notify` carries each message. The watchdog is fed by a timer of the event loop: a loop that stands still
 * misses it, and so does a daemon whose scheduler has stopped turning.
 */
export class ServiceManager {
  readonly #env: NodeJS.ProcessEnv;
  readonly #log: () => Logger;
  readonly #nowMs: () => number;
  readonly #watchdog: NodeJS.Timeout | null = null;
  #said: Promise<void> = Promise.resolve();
  #hasFailed = false;
  #beatAtMs: number;

  /** @param nowMs a monotonic clock */
  constructor(env: NodeJS.ProcessEnv, log: () => Logger, nowMs = () => performance.now()) {
    this.#env = { PATH: env.PATH, NOTIFY_SOCKET: env.NOTIFY_SOCKET };
    this.#log = log;
    this.#nowMs = nowMs;
    this.#beatAtMs = nowMs();
    const watchdogMs = Number(env.WATCHDOG_USEC ?? 0) / 1000;
    if (!env.NOTIFY_SOCKET || !(watchdogMs > 0)) return;
    this.#watchdog = setInterval(() => void this.#feed(), watchdogMs / 3).unref();
  }

  /** The daemon's loop turns. */
  beat(): void {
    this.#beatAtMs = this.#nowMs();
  }

  /** Says it after what was said before, such as `READY=1`. It never fails: the log tells what went wrong. */
  tell(...states: string[]): Promise<void> {
    if (!this.#env.NOTIFY_SOCKET) return Promise.resolve();
    this.#said = this.#said.then(() => this.#notify(states));
    return this.#said;
  }

  close(): void {
    if (this.#watchdog) clearInterval(this.#watchdog);
  }

  async #feed(): Promise<void> {
    if (this.#nowMs() - this.#beatAtMs < stuckAfterMs) await this.tell('WATCHDOG=1');
  }

  #notify(states: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      execFile('systemd-notify', states, { env: this.#env, timeout: notifyTimeoutMs }, (error) => {
        if (error && !this.#hasFailed)
          this.#log().error('systemd could not be told how the daemon is', { error: error.message });
        this.#hasFailed = error !== null;
        resolve();
      });
    });
  }
}
