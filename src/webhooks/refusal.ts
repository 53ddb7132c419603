/** Why a request was turned away, as it is counted, with the status of the answer. */
export const refusalStatus = {
  other_path: 404,
  other_method: 405,
  too_large: 413,
  compressed: 415,
  other_type: 415,
  forged: 401,
  stale: 401,
  no_event: 400,
  busy: 503,
  store_away: 503,
} as const;

export type Refusal = keyof typeof refusalStatus;
