export interface DeliverResult {
  attempts: number;
  delivered: { customers: number; orders: number };
  /** Customers that the service had already. `differing`: with other values, which wait for a person. */
  adopted: { customers: number; differing: number };
  parked: number;
  flagged: number;
  throttled: number;
  inDoubt: number;
  /** Why it ended before everything was delivered, or null. */
  stopped: string | null;
}

export function emptyDeliverResult(): DeliverResult {
  return {
    attempts: 0,
    delivered: { customers: 0, orders: 0 },
    adopted: { customers: 0, differing: 0 },
    parked: 0,
    flagged: 0,
    throttled: 0,
    inDoubt: 0,
    stopped: null,
  };
}
