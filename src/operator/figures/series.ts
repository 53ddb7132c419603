/** Upper ends of the spans from capture to acknowledgement, in seconds. Longer times are counted behind the last. */
export const spanEndsS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400] as const;

/** The work from `at` on, in milliseconds since 1970, for the width of its bucket. */
export interface Bucket {
  at: number;
  /** Messages that the service acknowledged. */
  delivered: number;
  /** Sendings without an acknowledgement. */
  notDelivered: number;
  /** Physical requests, whatever they were for. */
  requests: number;
  /** The number of acknowledged messages by the time since their capture: by `spanEndsS`, and one more. */
  spans: number[];
  /** The most that waited, and the greatest age of the oldest; null: nothing looked. */
  waiting: number | null;
  oldestS: number | null;
}

export function emptyBucket(at: number): Bucket {
  const spans = Array.from({ length: spanEndsS.length + 1 }, () => 0);
  return { at, delivered: 0, notDelivered: 0, requests: 0, spans, waiting: null, oldestS: null };
}

/** Both in one, which begins where the first does. Pure. */
export function addBuckets(one: Bucket, other: Bucket): Bucket {
  return {
    at: one.at,
    delivered: one.delivered + other.delivered,
    notDelivered: one.notDelivered + other.notDelivered,
    requests: one.requests + other.requests,
    spans: one.spans.map((count, nth) => count + (other.spans[nth] ?? 0)),
    waiting: most(one.waiting, other.waiting),
    oldestS: most(one.oldestS, other.oldestS),
  };
}

function most(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.max(one, other);
}

/** Buckets that begin in the same slot made one, which begins with it; in order of time. Pure. */
export function gather(buckets: readonly Bucket[], slotOf: (at: number) => number): Bucket[] {
  const slots = new Map<number, Bucket>();
  for (const bucket of buckets) {
    const at = slotOf(bucket.at);
    slots.set(at, addBuckets(slots.get(at) ?? emptyBucket(at), bucket));
  }
  return [...slots.values()].sort((a, b) => a.at - b.at);
}

/**
 * Within how many seconds this share of the messages was acknowledged, supposing that those of a span are spread evenly
 * over it; null: there are none. A time beyond the last end counts as that. Pure.
 */
export function quantileS(spans: readonly number[], share: number): number | null {
  const count = spans.reduce((sum, one) => sum + one, 0);
  if (count === 0) return null;
  let before = 0;
  for (const [nth, end] of spanEndsS.entries()) {
    const here = spans[nth] ?? 0;
    const start = spanEndsS[nth - 1] ?? 0;
    if (here > 0 && before + here >= share * count) return start + (end - start) * ((share * count - before) / here);
    before += here;
  }
  return spanEndsS.at(-1) ?? null;
}
