/** Exit codes of every command. */
export const exitCode = {
  done: 0,
  failed: 1,
  /** Wrong usage or wrong configuration. */
  usage: 2,
  /** Done, but something waits for a person. */
  waitsForPerson: 3,
} as const;

/** The command was called in a way that can't work; the message says which way does. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
