import { isDeepStrictEqual } from 'node:util';
import type { JsonValue } from '../model/record.js';

type Fields = { [name: string]: JsonValue };

/**
 * The body of an update: the fields that differ from what the service last acknowledged. A field that is gone becomes null.
 * A list such as `items` is sent whole, because a list has no names to address its parts by.
 * @param acknowledged null when it is not known (an adopted record): then every field is sent
 * @returns null when nothing differs
 */
export function composePatch(acknowledged: Fields | null, wanted: Fields): Fields | null {
  if (!acknowledged) return wanted;
  const patch: Fields = {};
  for (const [name, value] of Object.entries(wanted)) {
    if (!isDeepStrictEqual(acknowledged[name], value)) patch[name] = value;
  }
  for (const name of Object.keys(acknowledged)) {
    if (!(name in wanted)) patch[name] = null;
  }
  return Object.keys(patch).length > 0 ? patch : null;
}
