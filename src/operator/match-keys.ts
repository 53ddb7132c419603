import { isSameValue } from '../outbound/capture/safety-limits.js';
import type { KnownKey } from '../outbound/recovery/rename-records.js';

export interface MatchedKeys {
  /** Old key → new key. */
  matches: Map<string, string>;
  /** Records and rows of which nothing tells which is which. */
  ambiguous: { from: string[]; to: string[] }[];
  /** Records of which the ERP has no row. */
  gone: KnownKey[];
}

/**
 * Finds the records that the store knows among the rows of the ERP, whose keys are others now: by the columns that never change,
 * or because a person named the id of the record at the service. Pure.
 */
export class KeyMatcher {
  readonly #byName = new Map<string, KnownKey[]>();
  readonly #rowsOf = new Map<string, string[]>();
  readonly #recordsOf = new Map<string, string[]>();
  readonly #named = new Map<string, string>();
  readonly #seen = new Set<string>();

  /** @param named new key → old key, as a person said */
  constructor(
    private readonly known: readonly KnownKey[],
    private readonly named: ReadonlyMap<string, string>,
  ) {
    const said = new Set(named.values());
    for (const one of known) {
      const name = nameOf(one.identity);
      if (name === null || said.has(one.sourceKey)) continue;
      this.#byName.set(name, [...(this.#byName.get(name) ?? []), one]);
    }
  }

  /** One row of the ERP, under its new key. */
  see(key: string, identity: string | null): void {
    this.#seen.add(key);
    const from = this.named.get(key);
    if (from !== undefined) {
      this.#named.set(from, key);
      return;
    }
    const name = nameOf(identity);
    const candidates = name === null ? [] : (this.#byName.get(name) ?? []);
    const records = candidates.filter((one) => isSameIdentity(one.identity, identity)).map((one) => one.sourceKey);
    if (records.length === 0) return;
    this.#recordsOf.set(key, records);
    for (const record of records) this.#rowsOf.set(record, [...(this.#rowsOf.get(record) ?? []), key]);
  }

  has(key: string): boolean {
    return this.#seen.has(key);
  }

  result(): MatchedKeys {
    const matches = new Map(this.#named);
    const ambiguous = new Map<string, { from: string[]; to: string[] }>();
    const gone: KnownKey[] = [];
    for (const one of this.known) {
      const { sourceKey: from } = one;
      if (matches.has(from)) continue;
      const rows = this.#rowsOf.get(from) ?? [];
      const [to] = rows;
      if (to === undefined) gone.push(one);
      else if (rows.length === 1 && this.#recordsOf.get(to)?.length === 1) matches.set(from, to);
      else ambiguous.set(to, { from: this.#recordsOf.get(to) ?? [], to: rows });
    }
    return { matches, ambiguous: [...ambiguous.values()], gone };
  }
}

/** The first column, by which candidates are found; it is the number or the code. */
function nameOf(identity: string | null): string | null {
  return identity === null ? null : (valuesOf(identity)[0] ?? null);
}

/** Column by column: they may have got other names, and times another precision. */
function isSameIdentity(before: string | null, now: string | null): boolean {
  if (before === null || now === null) return false;
  const [old, current] = [valuesOf(before), valuesOf(now)];
  return old.length === current.length && old.every((value, index) => isSameValue(value, current[index] ?? null));
}

function valuesOf(identity: string): (string | null)[] {
  return Object.values(JSON.parse(identity) as { [column: string]: string | null });
}
