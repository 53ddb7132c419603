import { once } from 'node:events';
import Table from 'cli-table3';
import { redact } from '../../model/redact.js';

/** Control characters (a terminal obeys them) and marks that turn the direction of writing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g;

/** A text of the ERP or the service as one line that no terminal obeys. */
export function oneLine(text: string): string {
  return text.replace(controls, ' ');
}

/**
 * What a command prints that came from elsewhere: the ERP, the service, an operator. Secrets are taken out once more (an
 * older token may have been on record before it was one), and nothing reaches the terminal that it would obey.
 */
export class Output {
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets;
  }

  /** One text on one line. */
  clean(text: string): string {
    return redact(text, this.#secrets).replace(controls, ' ');
  }

  async line(text = ''): Promise<void> {
    await writeOut(
      `${text
        .split('\n')
        .map((part) => this.clean(part))
        .join('\n')}\n`,
    );
  }

  async table(head: readonly string[], rows: readonly (readonly (string | number | null)[])[]): Promise<void> {
    const table = new Table({ head: [...head], style: { head: [], border: [] } });
    for (const row of rows) table.push(row.map((cell) => this.clean(String(cell ?? ''))));
    await writeOut(`${table.toString()}\n`);
  }

  /** JSON text in which no string holds a secret. */
  json(value: unknown): string {
    const text = JSON.stringify(value, (_name, part) =>
      typeof part === 'string' ? redact(part, this.#secrets) : part,
    );
    // JSON escapes the controls below a space itself; what it lets through means the same when escaped.
    return text.replace(controls, (marks) =>
      [...marks].map((mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
    );
  }

  async printJson(value: unknown): Promise<void> {
    await writeOut(`${this.json(value)}\n`);
  }
}

let readerHasLeft = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `waybill audit | head` has seen enough; that is no failure.
  if (error.code !== 'EPIPE') throw error;
  readerHasLeft = true;
});

/** Writes to stdout and waits while the reader is slow, so that a long list does not pile up in memory. */
export async function writeOut(text: string): Promise<void> {
  if (readerHasLeft || process.stdout.write(text)) return;
  await once(process.stdout, 'drain').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

/** Nobody reads any more: a long list may end here. */
export function readerLeft(): boolean {
  return readerHasLeft;
}

/** Longer text ends in `…`. */
export function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`;
}
