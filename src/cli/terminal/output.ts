import Table from 'cli-table3';
import type { Fact } from '../../model/facts/fact.js';
import { harmlessLine, redact } from '../../model/redact.js';
import { timeFormatter, withIsoTimes } from '../../operator/format.js';
import { factsInWords, tell } from '../../words/words.js';
import { write } from './streams.js';

/** A text, or that there is none to print. */
export type MaybeText = string | null | false;

interface OutputOptions {
  /** Prints JSON values alone; without it, lines and tables alone. */
  json?: boolean | undefined;
  secrets?: readonly string[];
  /** In which times are written. */
  timeZone?: string;
}

/**
 * The output of a command, for people or as JSON: a command says both, and the form that was not asked for is dropped.
 * Texts of the ERP, the service or an operator may stand in it, so secrets are taken out once more (an older token may
 * have been on record before it was one), and no character reaches the terminal that it would obey.
 */
export class Output {
  readonly isJson: boolean;
  /** Writes an instant in milliseconds since 1970 for people. */
  readonly time: (ms: number) => string;
  readonly #secrets: readonly string[];
  readonly #timeZone: string;

  constructor({ json = false, secrets = [], timeZone = 'UTC' }: OutputOptions = {}) {
    this.isJson = json;
    this.time = timeFormatter(timeZone);
    this.#secrets = secrets;
    this.#timeZone = timeZone;
  }

  /** The sentence for a fact. */
  tell(fact: Fact): string {
    return tell(fact, this);
  }

  /** A line for people. A line break in the text becomes a space. */
  line(text = ''): void {
    if (!this.isJson) write(`${this.clean(text)}\n`);
  }

  /** A line for each text that there is. */
  lines(...texts: readonly MaybeText[]): void {
    for (const text of texts) if (text !== null && text !== false) this.line(text);
  }

  /** Names, padded to `width` or longer, each with its texts below one another. A name without any text is left out. */
  rows(width: number, rows: readonly (readonly [name: string, ...texts: MaybeText[]])[]): void {
    for (const [name, ...texts] of rows)
      for (const [i, text] of texts.filter((one) => one !== null && one !== false).entries())
        this.line(`${(i === 0 ? name : '').padEnd(width - 1)} ${text}`);
  }

  /**
   * A table for people.
   * @param options.total how many rows there are in all; a line below the table says how many are not in it
   */
  table(
    head: readonly string[],
    rows: readonly (readonly (string | number | null)[])[],
    { rightColumn, total = 0 }: { rightColumn?: number; total?: number } = {},
  ): void {
    if (this.isJson) return;
    const colAligns = head.map((_, column) => (column === rightColumn ? 'right' : 'left'));
    const table = new Table({ head: [...head], colAligns, style: { head: [], border: [] } });
    for (const row of rows) table.push(row.map((cell) => this.clean(String(cell ?? ''))));
    write(`${table.toString()}\n`);
    if (total > rows.length) this.line(`… and ${total - rows.length} more.`);
  }

  /** The command's answer for programs. */
  json(value: unknown): void {
    if (this.isJson) write(`${this.jsonText(factsInWords(value, this))}\n`);
  }

  /** As `json`, with every time (a number named `…At`) in ISO 8601. */
  jsonWithTimes(value: unknown): void {
    if (this.isJson) this.json(withIsoTimes(factsInWords(value, this), this.#timeZone));
  }

  /** A text on one line, safe to print. */
  clean(text: string): string {
    return harmlessLine(redact(text, this.#secrets));
  }

  /** JSON in which no string holds a secret. */
  jsonText(value: unknown): string {
    return JSON.stringify(value, (_name, part) => (typeof part === 'string' ? redact(part, this.#secrets) : part));
  }
}
