import { DateTime } from 'luxon';
import type { Tx } from '../../store/store.js';
import { addBuckets, type Bucket, emptyBucket, gather, quantileS } from './series.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The width of a bucket, and the time for which it is kept. */
export const bucketWidths = {
  minute: { ms: 60_000, keptMs: dayMs + hourMs },
  hour: { ms: hourMs, keptMs: 91 * dayMs },
} as const;
export type Width = keyof typeof bucketWidths;

/** The range of a chart: how far back it goes, and the width of each of its points. */
export const ranges = {
  hour: { words: 'the last hour', step: 'a minute', width: 'minute', backMs: hourMs, stepMs: 60_000 },
  day: { words: 'the last 24 hours', step: '15 minutes', width: 'minute', backMs: dayMs, stepMs: 900_000 },
  week: { words: 'the last 7 days', step: 'an hour', width: 'hour', backMs: 7 * dayMs, stepMs: hourMs },
  quarter: { words: 'the last 90 days', step: 'a day', width: 'hour', backMs: 90 * dayMs, stepMs: dayMs },
} as const;
export type Range = keyof typeof ranges;
export const rangeNames = Object.keys(ranges) as Range[];

/** One point of the charts. Minutes in which no process counted are null. */
export interface Point {
  at: number;
  delivered: number | null;
  notDelivered: number | null;
  requests: number | null;
  /** Within how many seconds of their capture half, and 95 %, of the messages were acknowledged. */
  halfS: number | null;
  mostS: number | null;
  waiting: number | null;
  oldestS: number | null;
}

export interface Series {
  range: Range;
  points: Point[];
  /** All of it as one point; null: there are no figures. */
  all: Point | null;
}

export async function readBuckets(tx: Tx, width: Width, from: number, to: number): Promise<Bucket[]> {
  const rows = await tx.rows<Omit<Bucket, 'spans'> & { spans: string }>(
    `SELECT at, delivered, not_delivered, requests, spans, waiting, oldest_s FROM figure
      WHERE width=? AND at>=? AND at<=? ORDER BY at`,
    [width, from, to],
  );
  return rows.map((row) => ({ ...row, spans: row.spans.split(',').map(Number) }));
}

/** The figures of a range, a point a step; days are those of the time zone. */
export async function readSeries(tx: Tx, range: Range, nowMs: number, timeZone: string): Promise<Series> {
  const { width, stepMs } = ranges[range];
  const slots = slotsOf(range, nowMs, timeZone);
  const [first = nowMs] = slots;
  const buckets = await readBuckets(tx, width, first, nowMs);
  const isDay = stepMs === dayMs;
  const slotOf = (at: number) => (isDay ? startOfDay(at, timeZone) : at - (at % stepMs));
  const found = new Map(gather(buckets, slotOf).map((one) => [one.at, one]));
  return {
    range,
    points: slots.map((at) => pointOf(at, found.get(at) ?? null)),
    all: buckets.length === 0 ? null : pointOf(first, buckets.reduce(addBuckets, emptyBucket(first))),
  };
}

/** When each point of a range begins, the oldest first. Pure. */
export function slotsOf(range: Range, nowMs: number, timeZone: string): number[] {
  const { backMs, stepMs } = ranges[range];
  if (stepMs === dayMs) {
    const today = DateTime.fromMillis(nowMs, { zone: timeZone }).startOf('day');
    return Array.from({ length: backMs / dayMs }, (_, nth) =>
      today.minus({ days: backMs / dayMs - 1 - nth }).toMillis(),
    );
  }
  const last = nowMs - (nowMs % stepMs);
  return Array.from({ length: backMs / stepMs }, (_, nth) => last - backMs + (nth + 1) * stepMs);
}

function startOfDay(at: number, zone: string): number {
  return DateTime.fromMillis(at, { zone }).startOf('day').toMillis();
}

function pointOf(at: number, bucket: Bucket | null): Point {
  if (bucket === null) {
    const none = { delivered: null, notDelivered: null, requests: null, halfS: null, mostS: null };
    return { at, ...none, waiting: null, oldestS: null };
  }
  const { delivered, notDelivered, requests, spans, waiting, oldestS } = bucket;
  const [halfS, mostS] = [quantileS(spans, 0.5), quantileS(spans, 0.95)];
  return { at, delivered, notDelivered, requests, halfS, mostS, waiting, oldestS };
}
