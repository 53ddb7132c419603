import { createHash } from 'node:crypto';
import stringify from 'safe-stable-stringify';
import type { JsonValue } from '../../model/record.js';

/**
 * JSON with sorted names: the same record gives the same bytes, whatever the order of the mapping. The bytes of a create
 * must be reproducible after the store was lost, or the service would answer "key reused with another body".
 */
export function canonicalJson(value: JsonValue): string {
  const text = stringify(value);
  if (text === undefined) throw new Error('Only JSON values have a canonical form.');
  return text;
}

/** SHA-256 of a text as lower-case hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
