/** A value to the ids of the records that carry it, and how many values are carried by more than one. */
export class MultiIndex {
  readonly #ids = new Map<string, string[]>();
  #repeated = 0;

  add(value: string, id: string): void {
    const ids = this.#ids.get(value);
    if (!ids) {
      this.#ids.set(value, [id]);
      return;
    }
    ids.push(id);
    if (ids.length === 2) this.#repeated++;
  }

  remove(value: string, id: string): void {
    const ids = this.#ids.get(value);
    const at = ids?.indexOf(id) ?? -1;
    if (!ids || at < 0) return;
    ids.splice(at, 1);
    if (ids.length === 1) this.#repeated--;
    if (ids.length === 0) this.#ids.delete(value);
  }

  get(value: string): readonly string[] {
    return this.#ids.get(value) ?? [];
  }

  /** The number of values that more than one record carries. */
  get repeatedCount(): number {
    return this.#repeated;
  }

  *repeated(): Iterable<[value: string, ids: readonly string[]]> {
    if (this.#repeated === 0) return;
    for (const entry of this.#ids) if (entry[1].length > 1) yield entry;
  }
}
