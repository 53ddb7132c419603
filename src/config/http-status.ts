import { z } from 'zod';

/** A status of an answer within these bounds. */
export function httpStatus(least: number, most: number) {
  return z.number().int().min(least).max(most);
}
