import { spawn } from 'node:child_process';
import { harmless, quotedWhereSecret, redact } from '../model/redact.js';

interface AlertCommandOptions {
  /** The program and its arguments; no shell reads them. */
  command: readonly string[];
  timeoutMs: number;
  /** Values that must never be handed over, wherever they stand in a message. */
  secrets?: readonly string[];
}

const maxComplaint = 300;
/** A program that ignores SIGTERM gets this long. */
const killAfterMs = 2_000;
/** All that the program learns of our environment: no token, no password, no setting. */
const handedDown = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR'];

/**
 * Runs the program with one JSON object on its stdin, and waits until it ends.
 * @throws Error when it can't be started, takes too long, is stopped, or does not exit with 0; with the end of its stderr
 */
export function runAlertCommand(options: AlertCommandOptions, notice: object, signal?: AbortSignal): Promise<void> {
  const [program = '', ...args] = options.command;
  const env = Object.fromEntries(handedDown.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  return new Promise((resolve, reject) => {
    // A group of its own, so that what the program started ends with it.
    const child = spawn(program, args, { env, stdio: ['pipe', 'ignore', 'pipe'], detached: true, cwd: '/' });
    let complaint = '';
    let ended: string | null = null;
    let killer: NodeJS.Timeout | null = null;
    const kill = (name: NodeJS.Signals) => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, name);
      } catch {
        // It has ended by itself.
      }
    };
    const end = (why: string) => {
      if (ended !== null) return;
      ended = why;
      kill('SIGTERM');
      killer = setTimeout(() => kill('SIGKILL'), killAfterMs);
    };
    const timer = setTimeout(() => end(`did not end within ${options.timeoutMs / 1000} s`), options.timeoutMs);
    const stop = () => end('was stopped, because Waybill stops');
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted) stop();
    const settle = (failure: string | null) => {
      clearTimeout(timer);
      if (killer) clearTimeout(killer);
      signal?.removeEventListener('abort', stop);
      if (failure === null) resolve();
      else reject(new Error(`The alert command ${program} ${failure}`));
    };
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-maxComplaint);
    });
    // A program that does not read its input is no failure by itself.
    child.stdin.on('error', () => undefined);
    child.on('error', (error) => settle(`can not be started: ${error.message}`));
    child.on('exit', (code, name) => {
      // Children that live on must not hold us up; their output is ignored.
      child.stderr.destroy();
      const said = complaint.trim() ? `: ${complaint.trim().replace(/\s+/g, ' ')}` : '';
      if (ended !== null) settle(ended);
      else if (code === 0) settle(null);
      else settle(`ended with ${code === null ? name : `exit code ${code}`}${said}`);
    });
    const { secrets = [] } = options;
    const json = JSON.stringify(notice, (_name, part) => quotedWhereSecret(part, secrets));
    child.stdin.end(`${harmless(redact(json, secrets))}\n`);
  });
}
