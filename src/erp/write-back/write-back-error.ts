/**
 * unreachable: the database can't be written now; try again later.
 * target: nothing of this kind can be written before a person has done something, such as a missing grant, table or column.
 * row: the database refuses one row; the others may go on.
 */
export type WriteBackErrorKind = 'unreachable' | 'target' | 'row';

/** Why something was not written back: what the database said, and what to do. Nothing of its transaction was kept. */
export class WriteBackError extends Error {
  override readonly name = 'WriteBackError';

  constructor(
    readonly kind: WriteBackErrorKind,
    message: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }
}
