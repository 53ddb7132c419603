import type { TellsFact } from '../model/facts/failure.js';
import type { ListFact } from '../model/facts/lists.js';
import type { WorkFact } from '../model/facts/work.js';
import { outside } from '../model/outside.js';

/**
 * unreachable: the database can't be asked now; try again later.
 * query: the database refused or broke off a statement.
 * mapping: the settings name something that isn't there, or leave out what is needed.
 * request: a key or a date was given in a form that no row can have.
 */
export type ErpErrorKind = 'unreachable' | 'query' | 'mapping' | 'request';

/** A failure of the ERP database: the message names the action, the place and the next step. */
export class ErpError extends Error implements TellsFact {
  override readonly name = 'ErpError';
  /** The database's own words, for a caller that puts them into a sentence of its own. */
  readonly detail: string;
  /** The lines of a message that has several. A line break within one of them came from the ERP. */
  readonly lines: readonly string[] | undefined;

  constructor(
    readonly kind: ErpErrorKind,
    message: string,
    options: { cause?: unknown; detail?: string; lines?: readonly string[] } = {},
  ) {
    super(message, { cause: options.cause });
    this.detail = options.detail ?? message;
    this.lines = options.lines;
  }

  get fact(): WorkFact {
    return { code: 'erp_failed', kind: this.kind, message: outside(this.message, 1_000) };
  }
}

/**
 * unreachable: the database can't be written now; try again later.
 * target: nothing of this kind can be written until a person acts, such as on a missing grant, table or column.
 * row: the database refuses one row; the others may go on.
 */
export type WriteBackErrorKind = 'unreachable' | 'target' | 'row';

/** Why something was not written back: what the database said, and what to do. Its transaction was rolled back. */
export class WriteBackError extends Error implements TellsFact {
  override readonly name = 'WriteBackError';

  constructor(
    readonly kind: WriteBackErrorKind,
    message: string,
    options: { cause?: unknown } = {},
  ) {
    super(message, options);
  }

  get fact(): ListFact {
    return { code: 'write_back_failed', kind: this.kind, message: outside(this.message, 1_000) };
  }
}
