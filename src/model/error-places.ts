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
