/** The ids that were stored last, so that a repetition is known without asking the store. Never more than `most`. */
export class RecentIds {
  readonly #most: number;
  readonly #ids = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size > this.#most) this.#ids.delete(this.#ids.values().next().value as string);
  }
}
