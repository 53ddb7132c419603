/**
 * Writes an amount in minor units as a decimal: -1999 with a scale of 2 is `-19.99`. Exact, whatever its size: nothing passes
 * through a float.
 */
export function decimalText(minor: string | number | bigint, scale: number): string {
  const text = String(minor);
  const sign = text.startsWith('-') ? '-' : '';
  const digits = text.slice(sign.length).padStart(scale + 1, '0');
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** The same for people, in groups of three digits: `12 345.90`. */
export function formatAmount(minor: string | number | bigint, scale: number): string {
  const [whole = '', ...rest] = decimalText(minor, scale).split('.');
  return [whole.replace(/\B(?=(\d{3})+$)/g, ' '), ...rest].join('.');
}
