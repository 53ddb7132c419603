/** What the shell is told. */
export const exitCode = {
  done: 0,
  failed: 1,
  /** Wrong usage or wrong configuration. */
  usage: 2,
  /** Done, but something waits for a person. */
  waitsForPerson: 3,
} as const;
