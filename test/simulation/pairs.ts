import type { History, Pair } from './history.js';
import { realFs } from './machine/real.js';

/** Which pairs of operations stood next to one another in a run, and in the runs before it. */
export class Pairs {
  /** Those that earlier runs never had. */
  readonly before: readonly Pair[];
  readonly #met = new Set<string>();

  /** @param file holds the pairs that were never met, from one run to the next */
  constructor(
    private readonly names: readonly string[],
    private readonly file: string | undefined,
  ) {
    const kept =
      file !== undefined && realFs.existsSync(file) ? (JSON.parse(realFs.readFileSync(file, 'utf8')) as Pair[]) : [];
    // Operations that are gone since then are no pair.
    this.before = kept.filter((pair) => pair.every((name) => names.includes(name)));
  }

  met({ steps }: History): void {
    for (let at = 1; at < steps.length; at++) this.#met.add(JSON.stringify([steps[at - 1]?.name, steps[at]?.name]));
  }

  /** Writes down what is still to be met. @returns how much that is */
  close(): { operations: number; pairs: number; unmet: number; pairsInAll: number } {
    const { names } = this;
    const all = this.before.length > 0 ? this.before : names.flatMap((one) => names.map((next): Pair => [one, next]));
    const unmet = all.filter((pair) => !this.#met.has(JSON.stringify(pair)));
    if (this.file !== undefined)
      realFs.writeFileSync(this.file, `[\n${unmet.map((pair) => JSON.stringify(pair)).join(',\n')}\n]\n`);
    return { operations: names.length, pairs: this.#met.size, unmet: unmet.length, pairsInAll: names.length ** 2 };
  }
}
