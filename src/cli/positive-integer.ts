import { InvalidArgumentError } from 'commander';

/** Reads the value of an option such as --limit. */
export function positiveInteger(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give a whole number from 1.');
  return Number(text);
}
