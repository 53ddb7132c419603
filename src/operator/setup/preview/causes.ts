import { literalPattern } from '../../../model/literal-pattern.js';
import type { Entity } from '../../../model/record.js';

/** Records that can't be sent as they are, for one reason. A record with several reasons counts under each. */
export interface Cause {
  entity: Entity;
  /** The reason, with `…` for what differs from record to record. */
  cause: string;
  records: number;
  /** The first of them, by their keys. */
  keys: string[];
  /** The reason of the first one as it stands. */
  example: string;
}

interface Named {
  entity: Entity;
  sourceKey: string;
  /** Other texts that name this record alone: its number, its customer. */
  names: readonly (string | null)[];
}

const maxCauses = 50;
const keysKept = 5;

/** Groups reasons by what they have in common, in memory that does not grow with the records. */
export class Causes {
  readonly #found = new Map<string, Cause>();
  /** Records whose reasons found no room. */
  others = 0;

  add({ entity, sourceKey, names }: Named, problems: readonly string[]): void {
    const causes = new Map(problems.map((problem) => [commonPart(problem, [sourceKey, ...names]), problem]));
    for (const [cause, example] of causes) {
      const found = this.#found.get(`${entity} ${cause}`);
      if (found === undefined && this.#found.size >= maxCauses) {
        this.others++;
        continue;
      }
      const known = found ?? { entity, cause, records: 0, keys: [], example };
      known.records++;
      if (known.keys.length < keysKept) known.keys.push(sourceKey);
      this.#found.set(`${entity} ${cause}`, known);
    }
  }

  /** The most frequent first. */
  list(): Cause[] {
    return [...this.#found.values()].sort((a, b) => b.records - a.records);
  }
}

/** A reason without the values of its record. Pure. @param names what names the record */
export function commonPart(problem: string, names: readonly (string | null)[]): string {
  const own = names.filter((name): name is string => name !== null && name !== '').sort((a, b) => b.length - a.length);
  const quoted = problem.replace(/"(?:[^"\\]|\\.)*"/g, '"…"');
  const unnamed = own.reduce((text, name) => text.replaceAll(new RegExp(wholeWord(name), 'gu'), '…'), quoted);
  return unnamed
    .replace(/(?<![\p{L}\p{N}_-])[+-]?\d[\d.,:-]*(?<![.,:-])(?![\p{L}\p{N}_])/gu, '…')
    .replace(/…( …)+/g, '…')
    .slice(0, 300);
}

/** The name where it is no part of a longer word or number: the key 1 is not in SKU-1, and 29 is not in 10.29. */
function wholeWord(name: string): string {
  return `(?<![\\p{L}\\p{N}_-])(?<!\\d[.,:])${literalPattern(name)}(?![\\p{L}\\p{N}_-])(?![.,:]\\d)`;
}
