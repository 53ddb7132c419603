import { createRequire } from 'node:module';

/** The machine's own files. Loaded before anything is put in their place. */
export const realFs: typeof import('node:fs') = { ...createRequire(import.meta.url)('node:fs') };
