/**
 * unreachable: the database can't be asked now; try again later.
 * query: the database refused or broke off a statement.
 * mapping: the settings name something that isn't there, or leave out what is needed.
 * request: a key or a date was given in a form that no row can have.
 */
export type ErpErrorKind = 'unreachable' | 'query' | 'mapping' | 'request';

/** What went wrong with the ERP database: the message says what was being done, where, and what to do next. */
export class ErpError extends Error {
  override readonly name = 'ErpError';
  /** The database's own words, for a caller that puts them into a sentence of its own. */
  readonly detail: string;

  constructor(
    readonly kind: ErpErrorKind,
    message: string,
    options: { cause?: unknown; detail?: string } = {},
  ) {
    super(message, { cause: options.cause });
    this.detail = options.detail ?? message;
  }
}
