import { createHash } from 'node:crypto';

/** Characters that the store has room for. */
const maxLength = 255;

/**
 * The primary key as one text. A key of one column stands as it is. Parts of a composite key are joined with `/`,
 * with `%` and `/` in a part percent-encoded, so that ('a/b', 'c') and ('a', 'b/c') stay two keys.
 */
export function formatSourceKey(parts: readonly string[]): string {
  const text =
    parts.length === 1
      ? (parts[0] ?? '')
      : parts.map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/');
  if (text.length <= maxLength) return text;
  // The store's columns end somewhere. A hash keeps two long keys apart, and one of them can't spoil its whole page.
  return `${text.slice(0, 150)}…${createHash('sha256').update(text).digest('hex')}`;
}

/** The parts of a key, or null when it doesn't have that many. */
export function parseSourceKey(sourceKey: string, parts: number): string[] | null {
  if (parts === 1) return [sourceKey];
  const found = sourceKey.split('/');
  if (found.length !== parts) return null;
  return found.map((part) => part.replaceAll(/%2F/gi, '/').replaceAll('%25', '%'));
}
