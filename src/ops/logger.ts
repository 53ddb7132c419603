import winston from 'winston';
import { harmless, quotedWhereSecret, redact } from '../model/redact.js';

interface LoggerOptions {
  level: 'error' | 'warn' | 'info' | 'debug';
  /** `stdout` for the daemon (journald reads it); `stderr` for commands, whose stdout belongs to their answer. */
  stream: 'stdout' | 'stderr';
  /** Values that must never be printed, wherever they stand in a line. The list may grow while the program runs. */
  secrets: readonly string[];
  /** Tells the facts of a line in words, beside their code and data. */
  inWords?: (line: object) => object;
}

/** JSON lines. Secrets are taken out here, in one format, and not by those who log. */
export function createLogger({ inWords = (line) => line, ...options }: LoggerOptions): winston.Logger {
  const levels = ['error', 'warn', 'info', 'debug'];
  const replacer = (_name: string, value: unknown) =>
    value instanceof Error ? value.message : quotedWhereSecret(value, options.secrets);
  return winston.createLogger({
    level: options.level,
    format: winston.format.combine(
      // The level and the like stand behind symbols, which have to stay.
      winston.format((line) => Object.assign(line, inWords(line)))(),
      winston.format.timestamp(),
      winston.format.json({ replacer: replacer as never }),
      redacted(options.secrets),
    ),
    transports: [new winston.transports.Console({ stderrLevels: options.stream === 'stderr' ? levels : [] })],
  });
}

const MESSAGE = Symbol.for('message');

const redacted = winston.format((info, secrets) => {
  info[MESSAGE] = harmless(redact(String(info[MESSAGE]), secrets as readonly string[]));
  return info;
}) as (secrets: readonly string[]) => winston.Logform.Format;
