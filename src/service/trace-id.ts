/** Hexadecimal digits from these dice. */
function digits(count: number, random: () => number): string {
  let text = '';
  while (text.length < count)
    text += Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0');
  return text;
}

/** A trace of its own for one attempt, as W3C Trace Context writes it. Nothing in it tells of the record. */
export function newTrace(random: () => number): { traceId: string; traceparent: string } {
  // All zeros are no valid id.
  const id = (count: number) => digits(count, random).replace(/^0+$/, (zeros) => `${zeros.slice(1)}1`);
  const traceId = id(32);
  return { traceId, traceparent: `00-${traceId}-${id(16)}-01` };
}
