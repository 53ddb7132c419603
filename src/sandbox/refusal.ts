import type { Answer } from './answer.js';

/** Thrown wherever a request is found wanting; becomes the answer `{error:{code,message}}`. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** What the error says besides. */
    readonly more: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.name = 'Refusal';
  }

  toAnswer(): Answer {
    return { status: this.status, body: { error: { code: this.code, message: this.message, ...this.more } } };
  }
}
