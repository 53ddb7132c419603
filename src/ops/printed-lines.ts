import { format } from 'node:util';
import type { Logger } from 'winston';

const levels = { debug: 'debug', log: 'info', info: 'info', warn: 'warn', error: 'error', trace: 'debug' } as const;

/**
 * Turns everything that this process prints beside its log into lines of the log: warnings of Node, what libraries
 * print, errors that nothing caught, and the last words of a command that failed. Each line of a daemon is therefore a
 * JSON object, and redacted like the others.
 */
export function logWhatIsPrinted(log: () => Logger): void {
  for (const [name, level] of Object.entries(levels))
    console[name as keyof typeof levels] = (...args: unknown[]) => void log().log(level, format(...args));
  process.stderr.write = (text: string | Uint8Array, ...rest: unknown[]) => {
    const message = (typeof text === 'string' ? text : Buffer.from(text).toString()).trim();
    if (message !== '') log().error(message);
    const done = rest.at(-1);
    if (typeof done === 'function') process.nextTick(done as () => void);
    return true;
  };
  // Node's own listener prints to the file descriptor, past every stream.
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message, ...more }: Error & { code?: string }) =>
    log().warn(message, { warning: name, code: more.code }),
  );
  // A command's own listener prints lines for people.
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error: unknown) => {
    // The state of the program is unknown from here on. Work that was under way is on record.
    log().error('Ended by an error that nothing caught', {
      error: error instanceof Error ? error.stack : String(error),
    });
    process.exit(1);
  });
}
