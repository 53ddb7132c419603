export interface OrderReadinessInput {
  /** Both in minor units as decimal text; null when the mapping names no total column. */
  totals: { lines: string; header: string } | null;
  /** Seconds since the row changed, by the ERP's clock; null when unknown. */
  ageSeconds: number | null;
  /** Seconds since we first saw it in this form; 0 when just now. */
  seenSeconds: number;
  settleSeconds: number;
}

export type OrderReadiness =
  | { ready: true }
  | { ready: false; wait: true; reason: string }
  | { ready: false; wait: false; reason: string };

/**
 * Whether an order's lines are all there. Some ERPs save header and lines apart, so that a reader sees two lines of five.
 * Lines that add up to the header's total are proof; without a total only time helps; and when time did not help, a person must.
 */
export function orderReadiness(input: OrderReadinessInput): OrderReadiness {
  const { totals, ageSeconds, seenSeconds, settleSeconds } = input;
  if (totals && totals.lines === totals.header) return { ready: true };
  const settled = seenSeconds >= settleSeconds || (ageSeconds !== null && ageSeconds >= settleSeconds);
  if (!totals) {
    if (settled) return { ready: true };
    return { ready: false, wait: true, reason: `changed just now; waits ${settleSeconds} s for its lines` };
  }
  const reason = `the lines add up to ${totals.lines}, the order says ${totals.header}`;
  return { ready: false, wait: !settled, reason };
}
