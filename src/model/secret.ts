import { inspect } from 'node:util';

const MASK = '[secret]';

/**
 * A value that no log line, error or table shows by accident: however it is printed, it reads `[secret]`.
 * `reveal()` is the only way to the value, so that a search for it lists every place that handles one.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    Object.freeze(this);
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [Symbol.toPrimitive](): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}
