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
  // Own names only: a field called `constructor` or `__proto__` is a field like any other.
  const changed = Object.entries(wanted).filter(
    ([name, value]) => !Object.hasOwn(acknowledged, name) || !isDeepStrictEqual(acknowledged[name], value),
  );
  const gone = Object.keys(acknowledged).filter((name) => !Object.hasOwn(wanted, name) && acknowledged[name] !== null);
  const patch: Fields = Object.fromEntries([...changed, ...gone.map((name) => [name, null] as const)]);
  return Object.keys(patch).length > 0 ? patch : null;
}
