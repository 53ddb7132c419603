/** Ids that are unique within a run and, by their random part, very likely among runs. */
export class IdSequence {
  readonly #prefix: string;
  #last = 0;

  constructor(name: string, random: () => number) {
    this.#prefix = `${name}_${Math.floor(random() * 36 ** 6)
      .toString(36)
      .padStart(6, '0')}_`;
  }

  next(): string {
    return this.#prefix + String(++this.#last);
  }
}
