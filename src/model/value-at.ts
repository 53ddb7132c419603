/** What stands at a place of a JSON value, such as `error.code` or `errors.0`; undefined when nothing does. */
export function valueAt(value: unknown, place: string): unknown {
  let at = value;
  for (const name of place.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}
