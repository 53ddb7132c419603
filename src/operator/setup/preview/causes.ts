import type { Fact } from '../../../model/facts/fact.js';
import type { Entity } from '../../../model/record.js';

/** Records that can't be sent as they are, for one reason. A record with several reasons counts under each. */
export interface Cause {
  entity: Entity;
  /** The reason of the first record. */
  cause: Fact;
  records: number;
  /** The first of them, by their keys. */
  keys: string[];
}

const maxCauses = 50;
const keysKept = 5;

/** Groups reasons by what they have in common, in memory that does not grow with the records. */
export class Causes {
  readonly #found = new Map<string, Cause>();
  /** Records whose reasons found no room. */
  others = 0;

  add({ entity, sourceKey }: { entity: Entity; sourceKey: string }, reasons: readonly Fact[]): void {
    const causes = new Map(reasons.map((reason) => [groupOf(reason), reason]));
    for (const [group, cause] of causes) {
      const found = this.#found.get(`${entity} ${group}`);
      if (found === undefined && this.#found.size >= maxCauses) {
        this.others++;
        continue;
      }
      const known = found ?? { entity, cause, records: 0, keys: [] };
      known.records++;
      if (known.keys.length < keysKept) known.keys.push(sourceKey);
      this.#found.set(`${entity} ${group}`, known);
    }
  }

  /** The most frequent first. */
  list(): Cause[] {
    return [...this.#found.values()].sort((a, b) => b.records - a.records);
  }
}

/** Data that names columns and settings, and is the same for every record with the same cause. */
const common = new Set(['column', 'amountColumn', 'columns', 'field', 'name', 'of', 'setting', 'isZero', 'because']);

/** A name for reasons that only differ in the values of their records. Pure. */
export function groupOf({ code, ...data }: Fact): string {
  // A sentence of an earlier version has nothing that could be left out.
  if (code === 'legacy') return JSON.stringify({ code, ...data });
  const isLine = 'line' in data && data.line !== undefined;
  return JSON.stringify([code, isLine, withoutValues(data)]);
}

function withoutValues(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutValues);
  if (typeof value !== 'object' || value === null) return value;
  const { code = null, ...data } = value as { code?: string };
  return [code, Object.entries(data).flatMap(([name, one]) => (common.has(name) ? [[name, withoutValues(one)]] : []))];
}
