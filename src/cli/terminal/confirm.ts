import { createInterface } from 'node:readline/promises';
import { UsageError } from '../command.js';

/** Asks on the terminal; without one only --yes will do, so that no script says yes by accident. */
export async function confirm(question: string, yes: boolean | undefined): Promise<boolean> {
  if (yes) return true;
  if (!process.stdin.isTTY) throw new UsageError(`${question} Say --yes to confirm without a terminal.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
