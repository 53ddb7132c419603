import type { Fact } from '../../../model/facts/fact.js';
import type { Entity } from '../../../model/record.js';
import { likeness } from '../../likeness.js';

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
    const causes = new Map(reasons.map((reason) => [likeness(reason), reason]));
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
