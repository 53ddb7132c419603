import type { Fact } from '../model/facts/fact.js';
import { isOutside } from '../model/outside.js';
import { withoutNumbers } from '../model/without-numbers.js';

/** Data that names columns, settings or the kind of a failure, and is the same for every record with the same cause. */
const common = new Set([
  ...['column', 'amountColumn', 'columns', 'field', 'name', 'of', 'setting', 'isZero', 'because'],
  ...['status', 'errorCode', 'message', 'errno', 'problem', 'problems', 'reason', 'place', 'before', 'what', 'lane'],
]);

/** A name for reasons that only differ in the values of their records. Pure. */
export function likeness({ code, ...data }: Fact): string {
  // A sentence of an earlier version has no data beside its text.
  if (code === 'legacy') return withoutNumbers(JSON.stringify({ code, ...data }));
  const isLine = 'line' in data && data.line !== undefined;
  return JSON.stringify([code, isLine, withoutValues(data)]);
}

function withoutValues(value: unknown): unknown {
  if (isOutside(value)) return withoutNumbers(JSON.stringify(value));
  if (Array.isArray(value)) return value.map(withoutValues);
  if (typeof value !== 'object' || value === null) return value;
  const { code = null, ...data } = value as { code?: string };
  const isKept = (name: string, one: unknown) => common.has(name) && (typeof one !== 'number' || name === 'status');
  return [code, Object.entries(data).flatMap(([name, one]) => (isKept(name, one) ? [[name, withoutValues(one)]] : []))];
}
