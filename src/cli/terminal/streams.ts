import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { harmless, harmlessLine, redact } from '../../model/redact.js';
import { notWritten } from '../../store/whole-file.js';

/*
 * The one writer of stdout and stderr. Texts of the ERP, the service or an operator may stand in whatever is printed, so no
 * character passes here that a terminal would obey. Line feeds do: callers take them out of texts that are not theirs.
 */

let secrets: readonly string[] = [];

/** From now on these stand in nothing that goes to stderr. The list may grow. */
export function hideFromErrors(all: readonly string[]): void {
  secrets = all;
}

let mayLoseLines = false;

/** A daemon goes on without the lines of its log for which there is no room. */
export function goOnWithoutRoom(): void {
  mayLoseLines = true;
}

// Into a file, Node writes without looking how much of it was taken: on a full disk the end would be missing, unseen.
for (const stream of [process.stdout, process.stderr] as (Writable & { fd: number })[])
  if (!(stream instanceof Socket))
    stream._write = (bytes: Buffer, _encoding, done) => {
      try {
        writeFileSync(stream.fd, bytes);
        done();
      } catch (cause) {
        // Notices on stderr stand beside the work, which must not end for them.
        if (mayLoseLines || stream.fd === 2) done();
        else done(notWritten(cause));
      }
    };

let readerHasLeft = false;
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The reader in `waybill audit | head` has seen enough, or the terminal was closed: no failure, and no end of a drain.
    if (error.code !== 'EPIPE' && error.code !== 'EIO') {
      // Somebody waits for this write, and is told.
      if (stream.listenerCount('error') > 1) return;
      throw error;
    }
    if (stream === process.stdout) readerHasLeft = true;
  });

/** @returns false while the reader is slow */
export function write(text: string): boolean {
  return readerHasLeft || process.stdout.write(harmless(text));
}

/** Writes to stdout and waits while the reader is slow, so that a long list does not pile up in memory. */
export async function writeOut(text: string): Promise<void> {
  if (write(text)) return;
  await once(process.stdout, 'drain').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** The reader of stdout has gone: a long list may end here. */
export function readerLeft(): boolean {
  return readerHasLeft;
}

/** Writes lines to stderr. A line break in one of them becomes a space. */
export function writeError(...lines: readonly string[]): void {
  process.stderr.write(lines.map((line) => `${harmlessLine(redact(line, secrets))}\n`).join(''));
}

/** Asks on the terminal, and waits for the answer. */
export async function ask(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(`${harmlessLine(redact(question, secrets))} `)).trim();
  } finally {
    terminal.close();
  }
}

/** Asks for a secret: what is typed is not shown. */
export async function askSecret(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Before it asks: until then the terminal itself shows what is typed.
  const terminal = createInterface({ input: process.stdin, output: silent, terminal: true });
  process.stderr.write(`${harmlessLine(question)} `);
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
