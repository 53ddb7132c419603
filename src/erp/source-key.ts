import { createHash } from 'node:crypto';

/** Characters that the store has room for. */
const maxLength = 255;
/** Characters that stay of a longer key, before its hash. */
const keptLength = 150;

/**
 * The primary key as one text. A key of one column stands as it is. Parts of a composite key are joined with `/`,
 * with `%` and `/` in a part percent-encoded, so that ('a/b', 'c') and ('a', 'b/c') stay two keys.
 */
export function formatSourceKey(parts: readonly string[]): string {
  const text =
    parts.length === 1
      ? (parts[0] ?? '')
      : parts.map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/');
  // No column of PostgreSQL takes it.
  const storable = text.replaceAll('\0', '');
  if (text.length <= maxLength && storable === text) return text;
  // The store's columns end somewhere. A hash keeps two long keys apart, and one of them can't spoil its whole page.
  return `${storable.slice(0, keptLength)}…${createHash('sha256').update(text).digest('hex')}`;
}

/**
 * A key of the store that names no row of the ERP any more begins with it, so that no other row gets the key and nothing follows
 * from its absence.
 */
export const leftBehindMark = '…';

/** The parts of a key, or null when it doesn't have that many, was shortened or left behind: then nothing can be asked by it. */
export function parseSourceKey(sourceKey: string, parts: number): string[] | null {
  if (isShortened(sourceKey) || sourceKey.startsWith(leftBehindMark)) return null;
  if (parts === 1) return [sourceKey];
  const found = sourceKey.split('/');
  if (found.length !== parts) return null;
  return found.map((part) => part.replaceAll(/%2F/gi, '/').replaceAll('%25', '%'));
}

/** Whether the key was too long for the store, or held U+0000: no statement can ask for its record by what is left of it. */
export function isShortened(sourceKey: string): boolean {
  return sourceKey.length <= keptLength + 65 && /…[0-9a-f]{64}$/.test(sourceKey);
}
