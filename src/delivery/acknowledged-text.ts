import { z } from 'zod';

/** U+FFFD stands where bytes were no UTF-8, and half of a pair is no text: what came is not what the service meant. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
const unfit = /[\u0000-\u001f\u007f-\u009f\ufffd\p{Surrogate}]/u;

/** A text of the service that is kept as it is. */
export const acknowledgedText = z
  .string()
  .min(1)
  .max(255)
  .refine((value) => !unfit.test(value), 'holds what is no text');
