/** What stands at a place of a JSON value, such as `error.code` or `errors.0`; undefined when nothing does. */
export function valueAt(value: unknown, place: string): unknown {
  let at = value;
  for (const name of place.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

/** Where a JSON body says what is wrong: places such as `error.code`, in the order in which they are looked at. */
export interface ErrorPlaces {
  readonly code: readonly string[];
  readonly message: readonly string[];
  /** Which fields are wrong. */
  readonly details: readonly string[];
}

/** Understands {error:{code,message}}, problem+json (RFC 9457), {message}, {errors:[{field,message}]} and OAuth (RFC 6749). */
export const usualErrorPlaces: ErrorPlaces = {
  code: ['error.code', 'code', 'type', 'errors.0.code', 'error'],
  message: ['error.message', 'error.detail', 'error.title', 'message', 'detail', 'title', 'error_description', 'error'],
  details: ['errors', 'error.errors', 'error.details', 'invalid-params'],
};
